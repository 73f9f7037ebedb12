// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s

// A pointer that a loop with a condition carries: the scalar that it moves by goes round in its place.

// CHECK-LABEL: tt.func public @walk(
// CHECK: %{{.+}}, %[[R:.+]] = scf.while ({{.*}}%[[P:[a-z0-9_]+]] = %x)
// CHECK-SAME: : (i32, tensor<8xf32>, !tt.ptr<f32>) -> (i32, tensor<8xf32>, !tt.ptr<f32>)
// CHECK: scf.condition(%{{.+}}) {{.*}}, %[[P]] :
// CHECK: ^bb0({{.*}}%[[Q:[a-z0-9_]+]]: !tt.ptr<f32>):
// CHECK: npu.load %[[Q]][%{{.+}}] : !tt.ptr<f32> -> tensor<8xf32>
// CHECK-NOT: tt.load
// CHECK: %[[NEXT:.+]] = tt.addptr %[[Q]], %
// CHECK: scf.yield {{.*}}%[[NEXT]] :
// CHECK: npu.store %{{.+}} to %[[R]][%
tt.func public @walk(%x: !tt.ptr<f32>, %n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %first = tt.addptr %xs, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %steps = tt.splat %step : i32 -> tensor<8xi32>
  %r:3 = scf.while (%i = %c0, %sum = %zeros, %p = %first) : (i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>) -> (i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %sum, %p : i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>
  } do {
  ^bb0(%i: i32, %sum: tensor<8xf32>, %p: tensor<8x!tt.ptr<f32>>):
    %a = tt.load %p : tensor<8x!tt.ptr<f32>>
    %t = arith.addf %sum, %a : tensor<8xf32>
    %q = tt.addptr %p, %steps : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %j = arith.addi %i, %c1 : i32
    scf.yield %j, %t, %q : i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>
  }
  tt.store %r#2, %r#1 : tensor<8x!tt.ptr<f32>>
  tt.return
}

// What the condition changes before it hands it on is a list of addresses.

// CHECK-LABEL: tt.func public @changed(
// CHECK-NOT: npu.load
// CHECK: tt.load
// CHECK: tt.return
tt.func public @changed(%x: !tt.ptr<f32>, %n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %first = tt.addptr %xs, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %steps = tt.splat %step : i32 -> tensor<8xi32>
  %r:2 = scf.while (%i = %c0, %p = %first) : (i32, tensor<8x!tt.ptr<f32>>) -> (i32, tensor<8x!tt.ptr<f32>>) {
    %more = arith.cmpi slt, %i, %n : i32
    %q = tt.addptr %p, %steps : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    scf.condition(%more) %i, %q : i32, tensor<8x!tt.ptr<f32>>
  } do {
  ^bb0(%i: i32, %p: tensor<8x!tt.ptr<f32>>):
    %a = tt.load %p : tensor<8x!tt.ptr<f32>>
    tt.print "a: " {hex = false, isSigned = array<i32: 0>} : %a : tensor<8xf32>
    %j = arith.addi %i, %c1 : i32
    scf.yield %j, %p : i32, tensor<8x!tt.ptr<f32>>
  }
  tt.return
}
