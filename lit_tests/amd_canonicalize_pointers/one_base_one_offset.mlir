// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers -canonicalize | FileCheck %s
// XFAIL: triton-before-3.7

// Pointers that moved twice are one base, the same for all threads, and one tensor of offsets. 3.6 stops at an
// assertion.

// CHECK-LABEL: tt.func public @moved_twice(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32>
// CHECK: %[[OFFSET:.+]] = arith.addi %{{.*}} : tensor<1024xi32,
// CHECK: %[[BASE:.+]] = tt.splat %[[P]] :
// CHECK: %[[AT:.+]] = tt.addptr %[[BASE]], %[[OFFSET]]
// CHECK-NOT: tt.addptr
// CHECK: tt.load %[[AT]]

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @moved_twice(%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %n: i32) -> tensor<1024xf32, #blocked> {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
    %q = tt.addptr %ps, %s : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %q2 = tt.addptr %q, %r : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %q2 : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return %x : tensor<1024xf32, #blocked>
  }
}
