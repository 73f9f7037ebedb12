// RUN: triton-opt %s -triton-combine | FileCheck %s

// A product added to a tensor is a product that starts from that tensor, whichever side of the sum it is on,
// for floats and integers.

// CHECK-LABEL: tt.func @product_first(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<32x16xf16>, %[[B:[a-z0-9]+]]: {{.*}}, %[[BIAS:[a-z0-9]+]]: tensor<32x64xf32>
// CHECK-NOT: arith.addf
// CHECK: %[[D:.+]] = tt.dot %[[A]], %[[B]], %[[BIAS]] :
// CHECK-NOT: arith.addf
// CHECK: tt.return %[[D]]
tt.func @product_first(%a: tensor<32x16xf16>, %b: tensor<16x64xf16>, %bias: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
  %product = tt.dot %a, %b, %zero : tensor<32x16xf16> * tensor<16x64xf16> -> tensor<32x64xf32>
  %sum = arith.addf %product, %bias : tensor<32x64xf32>
  tt.return %sum : tensor<32x64xf32>
}

// CHECK-LABEL: tt.func @product_second_integers(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<32x16xi8>, %[[B:[a-z0-9]+]]: {{.*}}, %[[BIAS:[a-z0-9]+]]: tensor<32x64xi32>
// CHECK-NOT: arith.addi
// CHECK: %[[D:.+]] = tt.dot %[[A]], %[[B]], %[[BIAS]] :
// CHECK-NOT: arith.addi
// CHECK: tt.return %[[D]]
tt.func @product_second_integers(%a: tensor<32x16xi8>, %b: tensor<16x64xi8>, %bias: tensor<32x64xi32>) -> tensor<32x64xi32> {
  %zero = arith.constant dense<0> : tensor<32x64xi32>
  %product = tt.dot %a, %b, %zero : tensor<32x16xi8> * tensor<16x64xi8> -> tensor<32x64xi32>
  %sum = arith.addi %bias, %product : tensor<32x64xi32>
  tt.return %sum : tensor<32x64xi32>
}
