// RUN: triton-opt %s -tritongpu-reduce-data-duplication | FileCheck %s

// Conversions between layouts that hold each element once stay, and so does the one from a result of the matrix
// units to an operand of the same, for which registers are enough.

// CHECK-NOT: ttg.local_alloc
// CHECK-LABEL: tt.func public @blocked(
// CHECK: ttg.convert_layout
// CHECK-LABEL: tt.func public @from_mma(
// CHECK: ttg.convert_layout
// CHECK-NOT: ttg.local_alloc

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @blocked(%x: tensor<64x32xf16, #blocked>) -> tensor<64x32xf16, #turned> {
    %c = ttg.convert_layout %x : tensor<64x32xf16, #blocked> -> tensor<64x32xf16, #turned>
    tt.return %c : tensor<64x32xf16, #turned>
  }
  tt.func public @from_mma(%x: tensor<64x32xf16, #mma>) -> tensor<64x32xf16, #left> {
    %c = ttg.convert_layout %x : tensor<64x32xf16, #mma> -> tensor<64x32xf16, #left>
    tt.return %c : tensor<64x32xf16, #left>
  }
}
