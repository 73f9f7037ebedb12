// RUN: triton-opt %s -tritongpu-fuse-nested-loops -canonicalize | FileCheck %s
// XFAIL: triton-before-3.9

// An inner loop whose bounds are reversed runs no iteration, just as one whose bounds are equal: the flattened loop
// must be skipped for both. Before 3.9 it is skipped for equal bounds only, and otherwise runs once for each outer
// iteration, with a wrong result and no message.

// CHECK-LABEL: tt.func public @reversed_inner_bounds(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: !tt.ptr<i32>, %[[UB:[a-z0-9]+]]: i32
// CHECK-DAG: %[[FIVE:.+]] = arith.constant 5 : i32
// CHECK: %[[EMPTY:.+]] = arith.cmpi sle, %[[UB]], %[[FIVE]]
// CHECK: scf.if %[[EMPTY]]
// CHECK: else
// CHECK: scf.for

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @reversed_inner_bounds(%out: !tt.ptr<i32>, %ub: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %trips = scf.for %i = %c0 to %c4 step %c1 iter_args(%outer = %c0) -> (i32) : i32 {
      %sum = scf.for %j = %c5 to %ub step %c1 iter_args(%inner = %outer) -> (i32) : i32 {
        %next = arith.addi %inner, %c1 : i32
        scf.yield %next : i32
      }
      scf.yield %sum : i32
    } {tt.flatten}
    tt.store %out, %trips : !tt.ptr<i32>
    tt.return
  }
}
