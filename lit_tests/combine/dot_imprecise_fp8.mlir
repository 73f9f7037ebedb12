// RUN: triton-opt %s -triton-combine | FileCheck %s

// An fp8 product that may round its partial sums must not take a full-precision start: the sum stays outside.

// CHECK-LABEL: tt.func @rounds_partial_sums(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<32x64xf32>)
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00>
// CHECK: %[[D:.+]] = tt.dot {{.*}}, %[[ZERO]] {maxNumImpreciseAcc = 32 : i32}
// CHECK: arith.addf %[[D]], %[[BIAS]]
tt.func @rounds_partial_sums(%a: tensor<32x16xf8E5M2>, %b: tensor<16x64xf8E5M2>, %bias: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
  %product = tt.dot %a, %b, %zero {maxNumImpreciseAcc = 32 : i32} : tensor<32x16xf8E5M2> * tensor<16x64xf8E5M2> -> tensor<32x64xf32>
  %sum = arith.addf %product, %bias : tensor<32x64xf32>
  tt.return %sum : tensor<32x64xf32>
}
