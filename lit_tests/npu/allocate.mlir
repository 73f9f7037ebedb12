// RUN: harness-opt %s --npu-place-lanes --npu-allocate | FileCheck %s

// An elementwise result takes the bytes of an operand that ends with it; what is still wanted keeps its own.

// CHECK-LABEL: tt.func public @row(
// CHECK: %[[A:.+]] = npu.load {{.*}} {npu.addresses = array<i64: 0>}
// CHECK: %[[B:.+]] = npu.load {{.*}} {npu.addresses = array<i64: 8>}
// CHECK: %[[C:.+]] = arith.addf %[[A]], %[[B]] {{.*}}npu.addresses = array<i64: 8>
// CHECK: arith.mulf %[[A]], %[[C]] {{.*}}npu.addresses = array<i64: 0>
tt.func public @row(%x: !tt.ptr<f32>, %one: i64) {
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<256xf32>
  %b = npu.load %x[%one] : !tt.ptr<f32> -> tensor<256xf32>
  %c = arith.addf %a, %b : tensor<256xf32>
  %d = arith.mulf %a, %c : tensor<256xf32>
  npu.store %d to %x[%one] : tensor<256xf32> -> !tt.ptr<f32>
  tt.return
}

// What a loop carries is where it is computed: the accumulator is one tile, which the loop starts with a copy of zeros.

// CHECK-LABEL: tt.func public @sum(
// CHECK: %[[A:.+]] = npu.load {{.*}} {npu.addresses = array<i64: [[AT:[0-9]+]]>}
// CHECK: scf.for
// CHECK: tt.dot {{.*}} {npu.addresses = array<i64: [[ACC:[0-9]+]]>}
// CHECK: } {npu.addresses = array<i64: [[ACC]], -1, [[ACC]]>, npu.registers = array<i64: -1, {{[0-9]+}}, -1>}
tt.func public @sum(%x: !tt.ptr<f32>, %s: i64, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = npu.load %x[%s, %one] : !tt.ptr<f32> -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zeros) -> (tensor<16x16xf32>) : i32 {
    %d = tt.dot %a, %a, %acc : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  npu.store %r to %x[%s, %one] : tensor<16x16xf32> -> !tt.ptr<f32>
  tt.return
}

// Two values that change places need room for one of them.

// CHECK-LABEL: tt.func public @swap(
// CHECK: scf.yield {npu.saves = array<i64: 8>}
// CHECK: } {npu.addresses = array<i64: 0, 4, -1, 0, 4>
tt.func public @swap(%x: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<128xf32>
  %b = npu.load %x[%one] : !tt.ptr<f32> -> tensor<128xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<128xf32>, tensor<128xf32>) : i32 {
    scf.yield %q, %p : tensor<128xf32>, tensor<128xf32>
  }
  npu.store %r#0 to %x[%one] : tensor<128xf32> -> !tt.ptr<f32>
  npu.store %r#1 to %x[%one] : tensor<128xf32> -> !tt.ptr<f32>
  tt.return
}

// A transfer that was started reads its tile until the wait: nothing is put there before.

// CHECK-LABEL: tt.func public @underway(
// CHECK: %[[A:.+]] = npu.load {{.*}} {npu.addresses = array<i64: 0>}
// CHECK: %[[B:.+]] = npu.load {{.*}} {npu.addresses = array<i64: 4>}
// CHECK: npu.wait
// CHECK: npu.load {{.*}} {npu.addresses = array<i64: 0>}
tt.func public @underway(%x: !tt.ptr<f32>, %one: i64) {
  %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<128xf32>
  %t = npu.start_store %a to %x[%one] : tensor<128xf32> -> !tt.ptr<f32>
  %b = npu.load %x[%one] : !tt.ptr<f32> -> tensor<128xf32>
  npu.wait %t
  %c = npu.load %x[%one] : !tt.ptr<f32> -> tensor<128xf32>
  %d = arith.addf %b, %c : tensor<128xf32>
  npu.store %d to %x[%one] : tensor<128xf32> -> !tt.ptr<f32>
  tt.return
}
