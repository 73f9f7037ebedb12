// RUN: harness-opt %s --npu-schedule | FileCheck %s

// Both loads are under way before either is waited for; the store is waited for at the end.

// CHECK-LABEL: tt.func public @add(
// CHECK: %[[A:.+]]:2 = npu.start_load %x
// CHECK-NEXT: %[[B:.+]]:2 = npu.start_load %y
// CHECK-NEXT: math.exp
// CHECK-NEXT: %[[X:.+]] = npu.wait %[[A]]#1, %[[A]]#0
// CHECK-NEXT: %[[Y:.+]] = npu.wait %[[B]]#1, %[[B]]#0
// CHECK-NEXT: %[[S:.+]] = arith.addf %[[X]], %[[Y]]
// CHECK-NEXT: %[[T:.+]] = npu.start_store %[[S]]
// CHECK-NEXT: npu.wait %[[T]]
// CHECK-NEXT: tt.return
tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: tensor<8xf32>, %one: i64) {
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
  %b = npu.load %y[%one] : !tt.ptr<f32> -> tensor<8xf32>
  %e = math.exp %z : tensor<8xf32>
  %s = arith.addf %a, %b : tensor<8xf32>
  npu.store %s to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}

// What may be the same memory stays in order: a store waits for the load before it, and a load for the store.

// CHECK-LABEL: tt.func public @in_order(
// CHECK: %[[A:.+]]:2 = npu.start_load %x
// CHECK-NEXT: %[[X:.+]] = npu.wait %[[A]]#1, %[[A]]#0
// CHECK-NEXT: %[[T:.+]] = npu.start_store %z
// CHECK-NEXT: npu.wait %[[T]]
// CHECK-NEXT: %[[B:.+]]:2 = npu.start_load %y
// CHECK-NEXT: %[[Y:.+]] = npu.wait %[[B]]#1, %[[B]]#0
// CHECK-NEXT: arith.addf %[[X]], %[[Y]]
tt.func public @in_order(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: tensor<8xf32>, %one: i64) {
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
  npu.store %z to %y[%one] : tensor<8xf32> -> !tt.ptr<f32>
  %b = npu.load %y[%one] : !tt.ptr<f32> -> tensor<8xf32>
  %s = arith.addf %a, %b : tensor<8xf32>
  tt.return
}

// A loop that uses a tile, or writes memory, waits for what was started before it; an atomic waits for stores.

// CHECK-LABEL: tt.func public @around_a_loop(
// CHECK: %[[A:.+]]:2 = npu.start_load %x
// CHECK-NEXT: npu.wait %[[A]]#1, %[[A]]#0
// CHECK-NEXT: scf.for
// CHECK: %[[T:.+]] = npu.start_store
// CHECK-NEXT: npu.wait %[[T]]
// CHECK-NEXT: }
// CHECK: %[[U:.+]] = npu.start_store
// CHECK-NEXT: npu.wait %[[U]]
// CHECK-NEXT: tt.atomic_rmw
tt.func public @around_a_loop(%x: !tt.ptr<f32>, %z: tensor<8xf32>, %one: i64, %n: i32, %v: f32, %c: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    npu.store %z to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  npu.store %a to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  %old = tt.atomic_rmw fadd, acq_rel, gpu, %x, %v, %c : (!tt.ptr<f32>, f32, i1) -> f32
  tt.return
}
