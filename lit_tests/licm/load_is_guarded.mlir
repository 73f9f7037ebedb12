// RUN: triton-opt %s -triton-licm | FileCheck %s

// A load that the loop does not change is done once, before the loop, and only if the loop runs at all: its mask
// becomes, or gains, "the lower bound is below the upper one".

// CHECK-LABEL: tt.func @without_mask(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<128x!tt.ptr<f32>>, %[[LO:[a-z0-9]+]]: i32, %[[HI:[a-z0-9]+]]: i32
// CHECK: %[[RUNS:.+]] = arith.cmpi slt, %[[LO]], %[[HI]] : i32
// CHECK: %[[MASK:.+]] = tt.splat %[[RUNS]]
// CHECK: %[[X:.+]] = tt.load %[[P]], %[[MASK]] :
// CHECK: scf.for
// CHECK-NOT: tt.load
// CHECK: arith.addf %{{.*}}, %[[X]]
tt.func @without_mask(%p: tensor<128x!tt.ptr<f32>>, %lo: i32, %hi: i32, %step: i32) -> tensor<128xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<128xf32>) : i32 {
    %x = tt.load %p : tensor<128x!tt.ptr<f32>>
    %next = arith.addf %acc, %x : tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tt.return %sum : tensor<128xf32>
}

// CHECK-LABEL: tt.func @with_mask(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<128x!tt.ptr<f32>>, %[[M:[a-z0-9]+]]: tensor<128xi1>
// CHECK: %[[RUNS:.+]] = arith.cmpi slt
// CHECK: %[[ALL:.+]] = tt.splat %[[RUNS]]
// CHECK: %[[BOTH:.+]] = arith.andi %[[ALL]], %[[M]]
// CHECK: tt.load %[[P]], %[[BOTH]], %{{.*}} :
// CHECK: scf.for
// CHECK-NOT: tt.load
// CHECK: tt.return
tt.func @with_mask(%p: tensor<128x!tt.ptr<f32>>, %mask: tensor<128xi1>, %lo: i32, %hi: i32, %step: i32) -> tensor<128xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<128xf32>) : i32 {
    %x = tt.load %p, %mask, %zero : tensor<128x!tt.ptr<f32>>
    %next = arith.addf %acc, %x : tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tt.return %sum : tensor<128xf32>
}

// CHECK-LABEL: tt.func @of_one_element(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<i32>, %[[LO:[a-z0-9]+]]: i32, %[[HI:[a-z0-9]+]]: i32
// CHECK: %[[RUNS:.+]] = arith.cmpi slt, %[[LO]], %[[HI]] : i32
// CHECK: tt.load %[[P]], %[[RUNS]] : !tt.ptr<i32>
// CHECK: scf.for
tt.func @of_one_element(%p: !tt.ptr<i32>, %lo: i32, %hi: i32, %step: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (i32) : i32 {
    %x = tt.load %p : !tt.ptr<i32>
    %next = arith.addi %acc, %x : i32
    scf.yield %next : i32
  }
  tt.return %sum : i32
}
