// RUN: triton-opt %s -tritongpu-accelerate-matmul | FileCheck %s

// sm_80 multiplies no fp8: both operands are widened to f16, in the layout of the operands.

// CHECK: #[[MMA:.+]] = #ttg.nvidia_mma<{versionMajor = 2
// CHECK-DAG: %[[A:.+]] = tt.fp_to_fp %{{.*}} : tensor<64x32xf8E5M2, {{.*}}> -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[MMA]], kWidth = 4}>>
// CHECK-DAG: %[[B:.+]] = tt.fp_to_fp %{{.*}} : tensor<32x64xf8E5M2, {{.*}}> -> tensor<32x64xf16, #ttg.dot_op<{opIdx = 1, parent = #[[MMA]], kWidth = 4}>>
// CHECK: tt.dot %[[A]], %[[B]],

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#right = #ttg.dot_op<{opIdx = 1, parent = #blocked}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @fp8(%x: tensor<64x32xf8E5M2, #left>, %y: tensor<32x64xf8E5M2, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z : tensor<64x32xf8E5M2, #left> * tensor<32x64xf8E5M2, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
}
