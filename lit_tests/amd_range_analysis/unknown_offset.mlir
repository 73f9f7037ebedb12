// RUN: triton-opt %s -tritonamdgpu-convert-buffer-ops="%if triton-before-3.8 %{arch-generation-name%} %else %{gfx-arch%}=gfx942 allow-buffer-atomics=false analyze-small-tensor-ofst=false" | FileCheck %s

// An offset that may be negative, or of which only one end is known, is no offset into a buffer.

// CHECK-NOT: amdg.buffer_load
// CHECK-LABEL: tt.func public @any_number(
// CHECK: tt.load
// CHECK-LABEL: tt.func public @not_negative(
// CHECK: tt.load
// CHECK-NOT: amdg.buffer_load

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @any_number(%p: !tt.ptr<f32>, %n: i32) -> tensor<1024xf32, #blocked> {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %o = arith.addi %r, %s : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %pa = tt.addptr %ps, %o : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return %x : tensor<1024xf32, #blocked>
  }
  tt.func public @not_negative(%p: !tt.ptr<f32>, %n: i32) -> tensor<1024xf32, #blocked> {
    %c0 = arith.constant 0 : i32
    %ge = arith.cmpi sge, %n, %c0 : i32
    llvm.intr.assume %ge : i1
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %o = arith.addi %r, %s : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %pa = tt.addptr %ps, %o : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return %x : tensor<1024xf32, #blocked>
  }
}
