// RUN: triton-opt %s -tritongpu-fuse-nested-loops -canonicalize | FileCheck %s
// XFAIL: triton-before-3.9

// What is computed after the inner loop may be yielded for two variables of the outer one. Before 3.9 one of the two
// results is lost in the conditional that the epilogue becomes, which then does not verify.

// CHECK-LABEL: tt.func public @two_variables_one_value(
// CHECK: scf.for
// CHECK: %[[LAST:.+]] = arith.cmpi eq
// CHECK: scf.if %[[LAST]] -> ({{.*}}) {
// CHECK: scf.yield
// CHECK: } else {
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: tt.store

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @two_variables_one_value(%out: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c1, %b = %c2) -> (i32, i32) : i32 {
      %sum = scf.for %j = %c0 to %c2 step %c1 iter_args(%inner = %a) -> (i32) : i32 {
        %next = arith.addi %inner, %j : i32
        scf.yield %next : i32
      }
      %both = arith.addi %sum, %b : i32
      scf.yield %both, %both : i32, i32
    } {tt.flatten}
    tt.store %out, %r#0 : !tt.ptr<i32>
    tt.return
  }
}
