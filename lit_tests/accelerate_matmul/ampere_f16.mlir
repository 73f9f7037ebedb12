// RUN: triton-opt %s -tritongpu-accelerate-matmul | FileCheck %s

// On sm_80 an f16 product uses mma.sync: the result and the accumulator take the version 2 layout, the operands
// the layout of its operands, two f16 a register.

// CHECK: #[[MMA:.+]] = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
// CHECK: %[[D:.+]] = tt.dot %{{.*}} : tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[MMA]], kWidth = 2}>> * tensor<32x64xf16, #ttg.dot_op<{opIdx = 1, parent = #[[MMA]], kWidth = 2}>> -> tensor<64x64xf32, #[[MMA]]>
// CHECK: ttg.convert_layout %[[D]] : tensor<64x64xf32, #[[MMA]]> -> tensor<64x64xf32, #{{.*}}>

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#right = #ttg.dot_op<{opIdx = 1, parent = #blocked}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @f16(%x: tensor<64x32xf16, #left>, %y: tensor<32x64xf16, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z : tensor<64x32xf16, #left> * tensor<32x64xf16, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
}
