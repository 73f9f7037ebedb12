// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers -canonicalize | FileCheck %s

// Of two pointers one is chosen as a whole: the choice is between bases, and stays one.

// CHECK-LABEL: tt.func public @one_of_two(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32> {{.*}}, %[[Q:[a-z0-9]+]]: !tt.ptr<f32> {{.*}}, %[[C:[a-z0-9]+]]: i1
// CHECK: %[[BASE:.+]] = arith.select %[[C]], %[[P]], %[[Q]] : !tt.ptr<f32>
// CHECK: %[[ALL:.+]] = tt.splat %[[BASE]]
// CHECK: tt.addptr %[[ALL]],

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @one_of_two(%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %q: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %c: i1) -> tensor<1024xf32, #blocked> {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
    %k = arith.select %c, %p, %q : !tt.ptr<f32>
    %ps = tt.splat %k : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %qq = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f32>, #blocked>, tensor<1024xi32, #blocked>
    %x = tt.load %qq : tensor<1024x!tt.ptr<f32>, #blocked>
    tt.return %x : tensor<1024xf32, #blocked>
  }
}
