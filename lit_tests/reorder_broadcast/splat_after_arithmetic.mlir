// RUN: triton-opt %s -triton-reorder-broadcast | FileCheck %s

// Arithmetic on splats, and on a splat and a constant of one value, is done once on scalars.

// CHECK-LABEL: tt.func @two_splats(
// CHECK-SAME: %[[A:[a-z0-9]+]]: f32, %[[B:[a-z0-9]+]]: f32
// CHECK: %[[S:.+]] = arith.addf %[[A]], %[[B]] : f32
// CHECK: tt.splat %[[S]] : f32 -> tensor<128xf32>
tt.func @two_splats(%a: f32, %b: f32) -> tensor<128xf32> {
  %x = tt.splat %a : f32 -> tensor<128xf32>
  %y = tt.splat %b : f32 -> tensor<128xf32>
  %sum = arith.addf %x, %y : tensor<128xf32>
  tt.return %sum : tensor<128xf32>
}

// CHECK-LABEL: tt.func @splat_and_constant(
// CHECK-SAME: %[[A:[a-z0-9]+]]: i32
// CHECK: %[[THREE:.+]] = arith.constant 3 : i32
// CHECK: %[[P:.+]] = arith.muli %[[A]], %[[THREE]] : i32
// CHECK: tt.splat %[[P]] : i32 -> tensor<128xi32>
tt.func @splat_and_constant(%a: i32) -> tensor<128xi32> {
  %three = arith.constant dense<3> : tensor<128xi32>
  %x = tt.splat %a : i32 -> tensor<128xi32>
  %product = arith.muli %x, %three : tensor<128xi32>
  tt.return %product : tensor<128xi32>
}
