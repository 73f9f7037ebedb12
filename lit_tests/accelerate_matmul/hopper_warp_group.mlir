// RUN: triton-opt %s -tritongpu-accelerate-matmul | FileCheck %s

// On sm_90 one warp group multiplies out of shared memory: both operands are put there, swizzled as wide as a row of
// 64 bytes, and the product is a ttng.warp_group_dot.

// CHECK-DAG: #[[MMA:.+]] = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK-DAG: #[[RIGHT:.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>
// CHECK-DAG: #[[LEFT:.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
// CHECK-DAG: %[[A:.+]] = ttg.local_alloc %{{.*}} -> !ttg.memdesc<64x32xf16, #[[LEFT]], #{{.*}}>
// CHECK-DAG: %[[B:.+]] = ttg.local_alloc %{{.*}} -> !ttg.memdesc<32x64xf16, #[[RIGHT]], #{{.*}}>
// CHECK: %[[D:.+]] = ttng.warp_group_dot %[[A]], %[[B]], %{{.*}} -> tensor<64x64xf32, #[[MMA]]>
// CHECK: ttg.convert_layout %[[D]]

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#right = #ttg.dot_op<{opIdx = 1, parent = #blocked}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
  tt.func public @f16(%x: tensor<64x32xf16, #left>, %y: tensor<32x64xf16, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z : tensor<64x32xf16, #left> * tensor<32x64xf16, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
}
