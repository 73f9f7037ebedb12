// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// The result of an scf.if takes the layout that its reader wants, in both branches.

// CHECK: #[[DST:.+]] = #ttg.blocked<{sizePerThread = [4],
// CHECK-LABEL: tt.func public @load_or_zero(
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[R:.+]] = scf.if %{{.*}} -> (tensor<1024xf32, #[[DST]]>)
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store %{{.*}}, %[[R]]

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @load_or_zero(%p: tensor<1024x!tt.ptr<f32>, #dst>, %q: tensor<1024x!tt.ptr<f32>, #dst>, %c: i1) {
    %zero = arith.constant dense<0.000000e+00> : tensor<1024xf32, #src>
    %r = scf.if %c -> (tensor<1024xf32, #src>) {
      %x = tt.load %p : tensor<1024x!tt.ptr<f32>, #dst>
      %b = ttg.convert_layout %x : tensor<1024xf32, #dst> -> tensor<1024xf32, #src>
      scf.yield %b : tensor<1024xf32, #src>
    } else {
      scf.yield %zero : tensor<1024xf32, #src>
    }
    %d = ttg.convert_layout %r : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
    tt.store %q, %d : tensor<1024x!tt.ptr<f32>, #dst>
    tt.return
  }
}
