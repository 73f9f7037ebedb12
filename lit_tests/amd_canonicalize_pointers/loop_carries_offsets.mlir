// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers -canonicalize | FileCheck %s

// A loop that walks a pointer carries the offsets alone; the base is added where memory is touched.

// CHECK-LABEL: tt.func public @walk(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32>
// CHECK: scf.for {{.*}} iter_args(%[[OFFSET:[a-z0-9]+]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<1024xi32, #{{.*}}>, tensor<1024xf32, #{{.*}}>)
// CHECK: %[[BASE:.+]] = tt.splat %[[P]] :
// CHECK: %[[AT:.+]] = tt.addptr %[[BASE]], %[[OFFSET]]
// CHECK: tt.load %[[AT]]
// CHECK: %[[NEXT:.+]] = arith.addi %[[OFFSET]],
// CHECK: scf.yield %[[NEXT]],

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @walk(%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %n: i32, %lo: i32, %hi: i32, %step: i32) -> tensor<1024xf32, #blocked> {
    %zero = arith.constant dense<0.000000e+00> : tensor<1024xf32, #blocked>
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %q = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %o:2 = scf.for %i = %lo to %hi step %step iter_args(%a = %q, %acc = %zero) -> (tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xf32, #blocked>) : i32 {
      %x = tt.load %a : tensor<1024x!tt.ptr<f32>, #blocked>
      %t = arith.addf %acc, %x : tensor<1024xf32, #blocked>
      %m = tt.addptr %a, %s : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
      scf.yield %m, %t : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xf32, #blocked>
    }
    tt.return %o#1 : tensor<1024xf32, #blocked>
  }
}
