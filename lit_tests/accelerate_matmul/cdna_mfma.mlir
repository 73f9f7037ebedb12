// RUN: triton-opt %s \
// RUN:   -tritonamdgpu-accelerate-matmul="%if triton-before-3.8 %{arch-generation-name%} %else %{gfx-arch%}=gfx942 matrix-instruction-size=16 kPack=1" \
// RUN:   | FileCheck %s

// On gfx942 products use the matrix cores, 16x16 at a time, with results transposed; f32 too, which they multiply
// with full precision.

// CHECK-DAG: #[[F16:.+]] = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], isTransposed = true}>
// CHECK-DAG: #[[F32:.+]] = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 4], isTransposed = true}>

// CHECK-LABEL: tt.func public @f16(
// CHECK: tt.dot %{{.*}} : tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[F16]], kWidth = 4}>> * {{.*}} -> tensor<64x64xf32, #[[F16]]>

// CHECK-LABEL: tt.func public @ieee(
// CHECK: tt.dot %{{.*}} : tensor<64x32xf32, #ttg.dot_op<{opIdx = 0, parent = #[[F32]], kWidth = 1}>> * {{.*}} -> tensor<64x64xf32, #[[F32]]>

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 64], warpsPerCTA = [4, 1], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#right = #ttg.dot_op<{opIdx = 1, parent = #blocked}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @f16(%x: tensor<64x32xf16, #left>, %y: tensor<32x64xf16, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z : tensor<64x32xf16, #left> * tensor<32x64xf16, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
  tt.func public @ieee(%x: tensor<64x32xf32, #left>, %y: tensor<32x64xf32, #right>, %z: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
    %d = tt.dot %x, %y, %z, inputPrecision = ieee : tensor<64x32xf32, #left> * tensor<32x64xf32, #right> -> tensor<64x64xf32, #blocked>
    tt.return %d : tensor<64x64xf32, #blocked>
  }
}
