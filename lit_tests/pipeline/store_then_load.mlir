// RUN: triton-opt %s -tritongpu-assign-latencies="num-stages=3" -tritongpu-schedule-loops -tritongpu-pipeline="num-stages=3 dump-intermediate-steps=false" -canonicalize | FileCheck %s
// XFAIL: *

// A loop that stores a tile and reads it back must read after the store: the load stays a load, behind the store.
// Every release so far copies the tile iterations ahead of the store that fills it, and says nothing.

// CHECK: scf.for
// CHECK: tt.store %[[PLACE:.+]], %{{.*}} :
// CHECK: tt.load %[[PLACE]] :
// CHECK: scf.yield

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @doubled_and_read_back(%n: i32, %x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c512 = arith.constant 512 : i32
    %one = arith.constant dense<1.000000e+00> : tensor<512xf32, #blocked>
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #blocked>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %s = arith.muli %i, %c512 : i32
      %ss = tt.splat %s : i32 -> tensor<512xi32, #blocked>
      %off = arith.addi %ss, %r : tensor<512xi32, #blocked>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
      %xa = tt.addptr %xs, %off : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
      %os = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
      %oa = tt.addptr %os, %off : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
      %ys = tt.splat %y : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
      %ya = tt.addptr %ys, %off : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
      %v = tt.load %xa : tensor<512x!tt.ptr<f32>, #blocked>
      %w = arith.addf %v, %v : tensor<512xf32, #blocked>
      tt.store %oa, %w : tensor<512x!tt.ptr<f32>, #blocked>
      %back = tt.load %oa : tensor<512x!tt.ptr<f32>, #blocked>
      %z = arith.addf %back, %one : tensor<512xf32, #blocked>
      tt.store %ya, %z : tensor<512x!tt.ptr<f32>, #blocked>
    } {tt.num_stages = 3 : i32}
    tt.return
  }
}
