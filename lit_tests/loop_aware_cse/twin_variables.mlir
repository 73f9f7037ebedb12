// RUN: triton-opt %s -triton-loop-aware-cse | FileCheck %s

// Two variables of a loop that start equal and are changed alike are one.

// CHECK-LABEL: tt.func @twins(
// CHECK-SAME: %[[INIT:[a-z0-9]+]]: i32
// CHECK: %[[R:.+]] = scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %[[INIT]]) -> (i32)
// CHECK: tt.return %[[R]], %[[R]]
tt.func @twins(%init: i32, %lo: i32, %hi: i32, %step: i32) -> (i32, i32) {
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%a = %init, %b = %init) -> (i32, i32) : i32 {
    %x = arith.addi %a, %i : i32
    %y = arith.addi %b, %i : i32
    scf.yield %x, %y : i32, i32
  }
  tt.return %r#0, %r#1 : i32, i32
}
