// RUN: triton-opt %s -triton-reorder-broadcast | FileCheck %s

// A row and a column broadcast to one shape have no smaller shape in common: the product is made in the large one.

// CHECK-LABEL: tt.func @outer_product(
// CHECK: %[[X:.+]] = tt.broadcast %{{.*}} : tensor<128x1xf32> -> tensor<128x32xf32>
// CHECK: %[[Y:.+]] = tt.broadcast %{{.*}} : tensor<1x32xf32> -> tensor<128x32xf32>
// CHECK: arith.mulf %[[X]], %[[Y]] : tensor<128x32xf32>
tt.func @outer_product(%column: tensor<128x1xf32>, %row: tensor<1x32xf32>) -> tensor<128x32xf32> {
  %x = tt.broadcast %column : tensor<128x1xf32> -> tensor<128x32xf32>
  %y = tt.broadcast %row : tensor<1x32xf32> -> tensor<128x32xf32>
  %product = arith.mulf %x, %y : tensor<128x32xf32>
  tt.return %product : tensor<128x32xf32>
}
