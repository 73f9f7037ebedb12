// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// A variable that is converted on its way into every iteration and out of it takes the layout of the loop's body.

// CHECK-DAG: #[[DST:.+]] = #ttg.blocked<{sizePerThread = [4],
// CHECK-LABEL: tt.func public @accumulate(
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<1024xf32, #[[DST]]>
// CHECK: scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %[[ZERO]]) -> (tensor<1024xf32, #[[DST]]>)
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @accumulate(%p: tensor<1024x!tt.ptr<f32>, #dst>, %q: tensor<1024x!tt.ptr<f32>, #dst>, %lo: i32, %hi: i32, %step: i32) {
    %zero = arith.constant dense<0.000000e+00> : tensor<1024xf32, #src>
    %r = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<1024xf32, #src>) : i32 {
      %x = tt.load %p : tensor<1024x!tt.ptr<f32>, #dst>
      %c = ttg.convert_layout %acc : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
      %s = arith.addf %c, %x : tensor<1024xf32, #dst>
      %b = ttg.convert_layout %s : tensor<1024xf32, #dst> -> tensor<1024xf32, #src>
      scf.yield %b : tensor<1024xf32, #src>
    }
    %c = ttg.convert_layout %r : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
    tt.store %q, %c : tensor<1024x!tt.ptr<f32>, #dst>
    tt.return
  }
}
