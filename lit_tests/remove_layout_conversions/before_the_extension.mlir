// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// A conversion moves in front of an extension to a wider type: half as many bytes change threads.

// CHECK-DAG: #[[SRC:.+]] = #ttg.blocked<{sizePerThread = [1],
// CHECK-DAG: #[[DST:.+]] = #ttg.blocked<{sizePerThread = [4],
// CHECK-LABEL: tt.func public @widen(
// CHECK: %[[X:.+]] = tt.load
// CHECK: %[[C:.+]] = ttg.convert_layout %[[X]] : tensor<1024xf16, #[[SRC]]> -> tensor<1024xf16, #[[DST]]>
// CHECK: arith.extf %[[C]] : tensor<1024xf16, #[[DST]]> to tensor<1024xf32, #[[DST]]>
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @widen(%p: tensor<1024x!tt.ptr<f16>, #src>, %q: tensor<1024x!tt.ptr<f32>, #dst>) {
    %x = tt.load %p : tensor<1024x!tt.ptr<f16>, #src>
    %e = arith.extf %x : tensor<1024xf16, #src> to tensor<1024xf32, #src>
    %c = ttg.convert_layout %e : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
    tt.store %q, %c : tensor<1024x!tt.ptr<f32>, #dst>
    tt.return
  }
}
