// RUN: triton-opt %s -triton-reorder-broadcast | FileCheck %s

// Arithmetic on a broadcast column is done on the column; a splat beside it shrinks to the column's shape.

// CHECK-LABEL: tt.func @one_operand(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<128x1xf32>
// CHECK: %[[E:.+]] = math.exp %[[A]] : tensor<128x1xf32>
// CHECK: tt.broadcast %[[E]] : tensor<128x1xf32> -> tensor<128x32xf32>
tt.func @one_operand(%a: tensor<128x1xf32>) -> tensor<128x32xf32> {
  %x = tt.broadcast %a : tensor<128x1xf32> -> tensor<128x32xf32>
  %e = math.exp %x : tensor<128x32xf32>
  tt.return %e : tensor<128x32xf32>
}

// CHECK-LABEL: tt.func @beside_a_splat(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<128x1xf32>, %[[F:[a-z0-9]+]]: f32
// CHECK: %[[S:.+]] = tt.splat %[[F]] : f32 -> tensor<128x1xf32>
// CHECK: %[[P:.+]] = arith.mulf %[[A]], %[[S]] : tensor<128x1xf32>
// CHECK: tt.broadcast %[[P]] : tensor<128x1xf32> -> tensor<128x32xf32>
tt.func @beside_a_splat(%a: tensor<128x1xf32>, %f: f32) -> tensor<128x32xf32> {
  %x = tt.broadcast %a : tensor<128x1xf32> -> tensor<128x32xf32>
  %y = tt.splat %f : f32 -> tensor<128x32xf32>
  %product = arith.mulf %x, %y : tensor<128x32xf32>
  tt.return %product : tensor<128x32xf32>
}
