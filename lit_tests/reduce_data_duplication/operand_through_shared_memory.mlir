// RUN: triton-opt %s -tritongpu-reduce-data-duplication | FileCheck %s

// The layout of a product's operand holds each element in several threads: it is loaded from shared memory, where
// an element is once, swizzled in vectors of 8 f16.

// CHECK: #[[SHARED:.+]] = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
// CHECK-LABEL: tt.func public @operand(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[S:.+]] = ttg.local_alloc %[[X]] : {{.*}} -> !ttg.memdesc<64x32xf16, #[[SHARED]], #{{.*}}>
// CHECK: ttg.local_load %[[S]] : {{.*}} -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 0,
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @operand(%x: tensor<64x32xf16, #blocked>) -> tensor<64x32xf16, #left> {
    %c = ttg.convert_layout %x : tensor<64x32xf16, #blocked> -> tensor<64x32xf16, #left>
    tt.return %c : tensor<64x32xf16, #left>
  }
}
