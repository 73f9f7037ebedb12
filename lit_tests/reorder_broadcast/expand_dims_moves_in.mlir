// RUN: triton-opt %s -triton-reorder-broadcast | FileCheck %s

// A new axis is given to what is repeated, not to the repetition: before a broadcast, and into a splat.

// CHECK-LABEL: tt.func @of_a_splat(
// CHECK-SAME: %[[A:[a-z0-9]+]]: f32
// CHECK-NOT: tt.expand_dims
// CHECK: tt.splat %[[A]] : f32 -> tensor<1x32xf32>
// CHECK-NOT: tt.expand_dims
// CHECK: tt.return
tt.func @of_a_splat(%a: f32) -> tensor<1x32xf32> {
  %x = tt.splat %a : f32 -> tensor<32xf32>
  %y = tt.expand_dims %x {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
  tt.return %y : tensor<1x32xf32>
}

// CHECK-LABEL: tt.func @of_a_broadcast(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<16x1xf32>
// CHECK: %[[E:.+]] = tt.expand_dims %[[A]] {axis = 0 : i32} : tensor<16x1xf32> -> tensor<1x16x1xf32>
// CHECK: tt.broadcast %[[E]] : tensor<1x16x1xf32> -> tensor<1x16x32xf32>
tt.func @of_a_broadcast(%a: tensor<16x1xf32>) -> tensor<1x16x32xf32> {
  %x = tt.broadcast %a : tensor<16x1xf32> -> tensor<16x32xf32>
  %y = tt.expand_dims %x {axis = 0 : i32} : tensor<16x32xf32> -> tensor<1x16x32xf32>
  tt.return %y : tensor<1x16x32xf32>
}
