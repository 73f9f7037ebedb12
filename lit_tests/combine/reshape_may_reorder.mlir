// RUN: triton-opt %s -triton-combine | FileCheck %s

// A reshape whose elements are all summed may put them in any order; one that is stored may not.

// CHECK-LABEL: tt.func @summed(
// CHECK: tt.reshape %{{.*}} allow_reorder : tensor<64x8xf32> -> tensor<512xf32>
tt.func @summed(%x: tensor<64x8xf32>) -> f32 {
  %flat = tt.reshape %x : tensor<64x8xf32> -> tensor<512xf32>
  %sum = "tt.reduce"(%flat) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<512xf32>) -> f32
  tt.return %sum : f32
}

// CHECK-LABEL: tt.func @stored(
// CHECK: tt.reshape
// CHECK-NOT: allow_reorder
// CHECK: tt.store
tt.func @stored(%x: tensor<64x8xf32>, %p: tensor<512x!tt.ptr<f32>>) {
  %flat = tt.reshape %x : tensor<64x8xf32> -> tensor<512xf32>
  tt.store %p, %flat : tensor<512x!tt.ptr<f32>>
  tt.return
}
