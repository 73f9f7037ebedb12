// RUN: triton-opt %s -tritongpu-accelerate-matmul | FileCheck %s

// A product that allows tf32 uses the matrix units, one f32 a register.

// CHECK: #[[MMA:.+]] = #ttg.nvidia_mma<{versionMajor = 2
// CHECK: tt.dot %{{.*}}, inputPrecision = tf32 : tensor<64x32xf32, #ttg.dot_op<{opIdx = 0, parent = #[[MMA]], kWidth = 1}>>

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#right = #ttg.dot_op<{opIdx = 1, parent = #blocked}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @tf32(%x: tensor<64x32xf32, #left>, %y: tensor<32x64xf32, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z, inputPrecision = tf32 : tensor<64x32xf32, #left> * tensor<32x64xf32, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
}
