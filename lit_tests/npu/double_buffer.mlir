// RUN: harness-opt %s --npu-schedule --npu-double-buffer | FileCheck %s

// The loop carries the tile: each trip starts the load of the next one, unless there is none, and waits at its end.

// CHECK-LABEL: tt.func public @ahead(
// CHECK: %[[SOME:.+]] = arith.cmpi slt, %c0, %n
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK-DAG: %[[EIGHT:.+]] = arith.constant 8 : i64
// CHECK: %[[U:.+]] = arith.select %[[SOME]], %[[EIGHT]], %[[ZERO]]
// CHECK: %[[F:.+]]:2 = npu.start_load %x[%one] upper [0: %[[U]]]
// CHECK: %[[FIRST:.+]] = npu.wait %[[F]]#1, %[[F]]#0
// CHECK: scf.for %[[I:.+]] = %c0 to %n step %c1 iter_args(%[[SUM:.+]] = %{{.*}}, %[[P:.+]] = %x, %[[TILE:.+]] = %[[FIRST]])
// CHECK: %[[Q:.+]] = tt.addptr %[[P]], %one
// CHECK: %[[LEFT:.+]] = arith.subi %n, %[[I]]
// CHECK: %[[MORE:.+]] = arith.cmpi ugt, %[[LEFT]], %c1
// CHECK: %[[V:.+]] = arith.select %[[MORE]], %[[EIGHT]], %[[ZERO]]
// CHECK: %[[S:.+]]:2 = npu.start_load %[[Q]][%one] upper [0: %[[V]]]
// CHECK: %[[T:.+]] = arith.addf %[[SUM]], %[[TILE]]
// CHECK: %[[NEXT:.+]] = npu.wait %[[S]]#1, %[[S]]#0
// CHECK: scf.yield %[[T]], %[[Q]], %[[NEXT]]
tt.func public @ahead(%x: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros, %p = %x) -> (tensor<8xf32>, !tt.ptr<f32>) : i32 {
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %s = arith.addf %sum, %a : tensor<8xf32>
    %q = tt.addptr %p, %one : !tt.ptr<f32>, i64
    scf.yield %s, %q : tensor<8xf32>, !tt.ptr<f32>
  }
  npu.store %r#0 to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}

// Not where the loop writes memory, which may be what the next trip reads.

// CHECK-LABEL: tt.func public @writes(
// CHECK: scf.for
// CHECK-SAME: : i32 {
// CHECK-NEXT: npu.start_load
// CHECK-NEXT: npu.wait
tt.func public @writes(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %y[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// Nor where the address has to be loaded first: of the two loads only that of the address itself is ahead.

// CHECK-LABEL: tt.func public @indirect(
// CHECK: scf.for
// CHECK: %[[AT:.+]] = tt.load
// CHECK: %[[P:.+]] = tt.addptr %x, %[[AT]]
// CHECK: npu.start_load %[[P]]
// CHECK-NEXT: npu.wait
tt.func public @indirect(%x: !tt.ptr<f32>, %table: !tt.ptr<i32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (tensor<8xf32>) : i32 {
    %entry = tt.addptr %table, %i : !tt.ptr<i32>, i32
    %at = tt.load %entry : !tt.ptr<i32>
    %p = tt.addptr %x, %at : !tt.ptr<f32>, i32
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %s = arith.addf %sum, %a : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  npu.store %r to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}
