// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// A conversion and the one back cancel.

// CHECK-LABEL: tt.func public @there_and_back(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NEXT: tt.return %[[X]]

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @there_and_back(%x: tensor<1024xf32, #src>) -> tensor<1024xf32, #src> {
    %0 = ttg.convert_layout %x : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
    %1 = ttg.convert_layout %0 : tensor<1024xf32, #dst> -> tensor<1024xf32, #src>
    tt.return %1 : tensor<1024xf32, #src>
  }
}
