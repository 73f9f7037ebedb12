// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s

// A block of a described tensor: bounded on every axis, filled with what the descriptor says.

// CHECK-LABEL: tt.func public @device(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tt.ptr<f32>, %[[H:[a-z0-9]+]]: i32, %[[W:[a-z0-9]+]]: i32, %[[S:[a-z0-9]+]]: i64, %[[I:[a-z0-9]+]]: i32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-DAG: %[[NAN:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-DAG: %[[ROWS:.+]] = arith.extsi %[[H]]
// CHECK-DAG: %[[COLUMNS:.+]] = arith.extsi %[[W]]
// CHECK-DAG: %[[ROW:.+]] = arith.extsi %[[I]]
// CHECK-DAG: %[[BEFORE:.+]] = arith.subi %[[ZERO]], %[[ROW]]
// CHECK-DAG: %[[AFTER:.+]] = arith.subi %[[ROWS]], %[[ROW]]
// CHECK: npu.load %{{.*}}[%[[S]], %[[ONE]]] lower [0: %[[BEFORE]]] upper [0: %[[AFTER]], 1: %[[COLUMNS]]] other %[[NAN]] : f32 : !tt.ptr<f32> -> tensor<8x16xf32>
// CHECK-NOT: tt.make_tensor_descriptor
tt.func public @device(%x: !tt.ptr<f32>, %h: i32, %w: i32, %s: i64, %i: i32) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %d = tt.make_tensor_descriptor %x, [%h, %w], [%s, %one] {padding = 2 : i32} : !tt.ptr<f32>, !tt.tensordesc<tensor<8x16xf32>>
  %v = tt.descriptor_load %d[%i, %c0] : !tt.tensordesc<tensor<8x16xf32>> -> tensor<8x16xf32>
  tt.descriptor_store %d[%i, %c0], %v : !tt.tensordesc<tensor<8x16xf32>>, tensor<8x16xf32>
  tt.return
}

// One that the host made has its extents and strides in the parameters that follow it.

// CHECK-LABEL: tt.func public @host(
// CHECK-SAME: %[[D:[a-z0-9]+]]: !tt.tensordesc<tensor<8x16xf32>>, %[[H:[a-z0-9]+]]: i32, %[[W:[a-z0-9]+]]: i32, %[[S:[a-z0-9]+]]: i64
// CHECK-DAG: %[[P:.+]] = npu.descriptor_base %[[D]]
// CHECK-DAG: %[[F:.+]] = npu.descriptor_fill %[[D]]
// CHECK: npu.load %[[P]][%[[S]], %{{.*}}] upper [0: %{{.*}}, 1: %{{.*}}] other %[[F]] : f32
tt.func public @host(%d: !tt.tensordesc<tensor<8x16xf32>>, %h: i32, %w: i32, %s: i64, %one: i64) {
  %c0 = arith.constant 0 : i32
  %v = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<tensor<8x16xf32>> -> tensor<8x16xf32>
  tt.descriptor_store %d[%c0, %c0], %v : !tt.tensordesc<tensor<8x16xf32>>, tensor<8x16xf32>
  tt.return
}
