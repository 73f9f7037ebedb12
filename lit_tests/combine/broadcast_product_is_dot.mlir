// RUN: triton-opt %s -triton-combine | FileCheck %s

// A product of two broadcasts summed over their common axis is a matrix product.

// CHECK-LABEL: tt.func @outer_product_summed(
// CHECK-NOT: tt.reduce
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
// CHECK: tt.dot %{{.*}}, %{{.*}}, %[[ZERO]]{{.*}} : tensor<32x16xf32> * tensor<16x32xf32> -> tensor<32x32xf32>
// CHECK-NOT: tt.reduce
// CHECK: tt.return
tt.func @outer_product_summed(%a: tensor<32x16xf32>, %b: tensor<16x32xf32>) -> tensor<32x32xf32> {
  %a3 = tt.expand_dims %a {axis = 2 : i32} : tensor<32x16xf32> -> tensor<32x16x1xf32>
  %b3 = tt.expand_dims %b {axis = 0 : i32} : tensor<16x32xf32> -> tensor<1x16x32xf32>
  %x = tt.broadcast %a3 : tensor<32x16x1xf32> -> tensor<32x16x32xf32>
  %y = tt.broadcast %b3 : tensor<1x16x32xf32> -> tensor<32x16x32xf32>
  %product = arith.mulf %x, %y : tensor<32x16x32xf32>
  %sum = "tt.reduce"(%product) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<32x16x32xf32>) -> tensor<32x32xf32>
  tt.return %sum : tensor<32x32xf32>
}
