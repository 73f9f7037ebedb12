// RUN: triton-opt %s -triton-licm | FileCheck %s

// An atomic happens as often as the loop runs; what it adds is computed once.

// CHECK-LABEL: tt.func @counts(
// CHECK: %[[V:.+]] = arith.muli
// CHECK-NOT: tt.atomic_rmw
// CHECK: scf.for
// CHECK: tt.atomic_rmw add, acq_rel, gpu, %{{.*}}, %[[V]],
tt.func @counts(%p: !tt.ptr<i32>, %a: i32, %lo: i32, %hi: i32, %step: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %true = arith.constant true
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (i32) : i32 {
    %v = arith.muli %a, %a : i32
    %x = tt.atomic_rmw add, acq_rel, gpu, %p, %v, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %next = arith.addi %acc, %x : i32
    scf.yield %next : i32
  }
  tt.return %sum : i32
}
