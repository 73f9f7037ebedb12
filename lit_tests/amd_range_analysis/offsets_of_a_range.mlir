// RUN: triton-opt %s -tritonamdgpu-convert-buffer-ops="%if triton-before-3.8 %{arch-generation-name%} %else %{gfx-arch%}=gfx942 allow-buffer-atomics=false analyze-small-tensor-ofst=false" | FileCheck %s

// Offsets from 0 to 1023 times 4 bytes cannot be negative nor pass 2 GiB: the load and the store use buffers.

// CHECK-LABEL: tt.func public @copy(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32>, %[[Q:[a-z0-9]+]]: !tt.ptr<f32>
// CHECK: %[[R:.+]] = tt.make_range
// CHECK: %[[X:.+]] = amdg.buffer_load %[[P]][%[[R]]]
// CHECK: amdg.buffer_store %[[X]], %[[Q]][%[[R]]]
// CHECK-NOT: tt.addptr

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @copy(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %pa = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #blocked>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %qa = tt.addptr %qs, %r : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    tt.store %qa, %x : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
