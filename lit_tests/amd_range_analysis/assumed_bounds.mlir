// RUN: triton-opt %s -tritonamdgpu-convert-buffer-ops="%if triton-before-3.8 %{arch-generation-name%} %else %{gfx-arch%}=gfx942 allow-buffer-atomics=false analyze-small-tensor-ofst=false" | FileCheck %s

// tl.assume on both ends of an offset is as good as a range.

// CHECK-LABEL: tt.func public @zero_to_4095(
// CHECK: %[[O:.+]] = arith.addi
// CHECK: amdg.buffer_load %{{.*}}[%[[O]]]
// CHECK-NOT: tt.load

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @zero_to_4095(%p: !tt.ptr<f32>, %n: i32) -> tensor<1024xf32, #blocked> {
    %c0 = arith.constant 0 : i32
    %big = arith.constant 4096 : i32
    %ge = arith.cmpi sge, %n, %c0 : i32
    llvm.intr.assume %ge : i1
    %le = arith.cmpi slt, %n, %big : i32
    llvm.intr.assume %le : i1
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %o = arith.addi %r, %s : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %pa = tt.addptr %ps, %o : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return %x : tensor<1024xf32, #blocked>
  }
}
