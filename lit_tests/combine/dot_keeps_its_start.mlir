// RUN: triton-opt %s -triton-combine | FileCheck %s

// A product that starts from something other than zero, or that somebody else reads, keeps its own start.

// CHECK-LABEL: tt.func @starts_from_one(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<32x64xf32>)
// CHECK: %[[ONE:.+]] = arith.constant dense<1.000000e+00>
// CHECK: %[[D:.+]] = tt.dot {{.*}}, %[[ONE]] :
// CHECK: arith.addf %[[D]], %[[BIAS]]
tt.func @starts_from_one(%a: tensor<32x16xf16>, %b: tensor<16x64xf16>, %bias: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %one = arith.constant dense<1.000000e+00> : tensor<32x64xf32>
  %product = tt.dot %a, %b, %one : tensor<32x16xf16> * tensor<16x64xf16> -> tensor<32x64xf32>
  %sum = arith.addf %product, %bias : tensor<32x64xf32>
  tt.return %sum : tensor<32x64xf32>
}

// CHECK-LABEL: tt.func @read_twice(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<32x64xf32>)
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00>
// CHECK: %[[D:.+]] = tt.dot {{.*}}, %[[ZERO]] :
// CHECK: %[[S:.+]] = arith.addf %[[D]], %[[BIAS]]
// CHECK: tt.return %[[S]], %[[D]]
tt.func @read_twice(%a: tensor<32x16xf16>, %b: tensor<16x64xf16>, %bias: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %zero = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
  %product = tt.dot %a, %b, %zero : tensor<32x16xf16> * tensor<16x64xf16> -> tensor<32x64xf32>
  %sum = arith.addf %product, %bias : tensor<32x64xf32>
  tt.return %sum, %product : tensor<32x64xf32>, tensor<32x64xf32>
}
