// RUN: triton-opt %s -triton-loop-aware-cse | FileCheck %s

// Variables that start apart, or part on the way, are two.

// CHECK-LABEL: tt.func @start_apart(
// CHECK-SAME: %[[INIT:[a-z0-9]+]]: i32, %[[OTHER:[a-z0-9]+]]: i32
// CHECK: iter_args(%{{[a-z0-9]+}} = %[[INIT]], %{{[a-z0-9]+}} = %[[OTHER]]) -> (i32, i32)
tt.func @start_apart(%init: i32, %other: i32, %lo: i32, %hi: i32, %step: i32) -> (i32, i32) {
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%a = %init, %b = %other) -> (i32, i32) : i32 {
    %x = arith.addi %a, %i : i32
    %y = arith.addi %b, %i : i32
    scf.yield %x, %y : i32, i32
  }
  tt.return %r#0, %r#1 : i32, i32
}

// CHECK-LABEL: tt.func @part_on_the_way(
// CHECK-SAME: %[[INIT:[a-z0-9]+]]: i32
// CHECK: iter_args(%[[A:[a-z0-9]+]] = %[[INIT]], %[[B:[a-z0-9]+]] = %[[INIT]]) -> (i32, i32)
// CHECK: %[[X:.+]] = arith.addi %[[A]]
// CHECK: %[[Y:.+]] = arith.muli %[[B]]
// CHECK: scf.yield %[[X]], %[[Y]]
tt.func @part_on_the_way(%init: i32, %lo: i32, %hi: i32, %step: i32) -> (i32, i32) {
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%a = %init, %b = %init) -> (i32, i32) : i32 {
    %x = arith.addi %a, %i : i32
    %y = arith.muli %b, %i : i32
    scf.yield %x, %y : i32, i32
  }
  tt.return %r#0, %r#1 : i32, i32
}
