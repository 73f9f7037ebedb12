// RUN: triton-opt %s -triton-combine | FileCheck %s

// Choosing between a load and a default by the very condition that masks the load is what the load does itself.
// Only for a condition that is one for all elements; a vector of conditions is left alone.

// CHECK-LABEL: tt.func @one_condition(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<64x!tt.ptr<f32>>, %[[C:[a-z0-9]+]]: i1, %[[INNER:[a-z0-9]+]]: tensor<64xf32>, %[[OUTER:[a-z0-9]+]]: tensor<64xf32>
// CHECK: %[[MASK:.+]] = tt.splat %[[C]]
// CHECK: %[[L:.+]] = tt.load %[[P]], %[[MASK]], %[[OUTER]] :
// CHECK-NOT: arith.select
// CHECK: tt.return %[[L]]
tt.func @one_condition(%p: tensor<64x!tt.ptr<f32>>, %c: i1, %inner: tensor<64xf32>, %outer: tensor<64xf32>) -> tensor<64xf32> {
  %mask = tt.splat %c : i1 -> tensor<64xi1>
  %x = tt.load %p, %mask, %inner : tensor<64x!tt.ptr<f32>>
  %chosen = arith.select %c, %x, %outer : tensor<64xf32>
  tt.return %chosen : tensor<64xf32>
}

// CHECK-LABEL: tt.func @vector_of_conditions(
// CHECK: %[[L:.+]] = tt.load
// CHECK: arith.select %{{.*}}, %[[L]],
tt.func @vector_of_conditions(%p: tensor<64x!tt.ptr<f32>>, %mask: tensor<64xi1>, %inner: tensor<64xf32>, %outer: tensor<64xf32>) -> tensor<64xf32> {
  %x = tt.load %p, %mask, %inner : tensor<64x!tt.ptr<f32>>
  %chosen = arith.select %mask, %x, %outer : tensor<64xi1>, tensor<64xf32>
  tt.return %chosen : tensor<64xf32>
}
