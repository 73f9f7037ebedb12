// RUN: harness-opt %s --npu-expand-descriptors | FileCheck %s

// Rows that are picked one by one, a run of columns of each: pointers, and the mask of what is inside.

// CHECK-LABEL: tt.func public @gather(
// CHECK-NOT: tt.descriptor_gather
// CHECK: %[[F:.+]] = tt.splat %{{.*}} : f32 -> tensor<8x32xf32>
// CHECK: %[[L:.+]] = tt.load %[[P:.+]], %[[M:.+]], %[[F]] : tensor<8x32x!tt.ptr<f32>>
// CHECK: tt.store %{{.*}}, %[[L]], %{{.*}} : tensor<8x32x!tt.ptr<f32>>
tt.func public @gather(%x: !tt.ptr<f32>, %h: i32, %w: i32, %s: i64, %rows: tensor<8xi32>, %column: i32) {
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %x, [%h, %w], [%s, %one] {padding = 2 : i32} : !tt.ptr<f32>, !tt.tensordesc<tensor<1x32xf32>>
  %v = tt.descriptor_gather %d[%rows, %column] : (!tt.tensordesc<tensor<1x32xf32>>, tensor<8xi32>, i32) -> tensor<8x32xf32>
  tt.descriptor_scatter %d[%rows, %column], %v : !tt.tensordesc<tensor<1x32xf32>>, tensor<8xi32>, i32, tensor<8x32xf32>
  tt.return
}

// A reduction is an atomic on every element, relaxed.

// CHECK-LABEL: tt.func public @reduce(
// CHECK: npu.descriptor_base
// CHECK: tt.atomic_rmw fadd, relaxed, gpu, %{{.*}}, %v, %{{.*}} : (tensor<8x32x!tt.ptr<f32>>, tensor<8x32xf32>, tensor<8x32xi1>) -> tensor<8x32xf32>
tt.func public @reduce(%d: !tt.tensordesc<tensor<8x32xf32>>, %h: i32, %w: i32, %s: i64, %t: i64, %v: tensor<8x32xf32>) {
  %c0 = arith.constant 0 : i32
  tt.descriptor_reduce add, %d[%c0, %c0], %v : !tt.tensordesc<tensor<8x32xf32>>, tensor<8x32xf32>
  tt.return
}
