// RUN: triton-opt %s -tritongpu-fuse-nested-loops -canonicalize | FileCheck %s

// A nest that is to be flattened, whose inner loop has 4 iterations, is one loop of 4 n; the outer variable goes on
// when the inner one begins again.

// CHECK-LABEL: tt.func public @four_columns(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: !tt.ptr<i32>, %[[N:[a-z0-9]+]]: i32
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK: %[[TRIPS:.+]] = arith.muli %[[N]], %[[FOUR]]
// CHECK: scf.for %{{[a-z0-9]+}} = %[[ZERO]] to %[[TRIPS]]
// CHECK-NOT: scf.for
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %{{.*}}, %[[ZERO]]
// CHECK: %[[J:.+]] = arith.select %[[FIRST]], %[[ZERO]],
// CHECK: %[[I:.+]] = scf.if %[[FIRST]]
// CHECK: %[[X:.+]] = arith.addi %[[I]], %[[J]]
// CHECK: tt.store %[[OUT]], %[[X]]
// CHECK-NOT: scf.for
// CHECK: tt.return

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @four_columns(%out: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      scf.for %j = %c0 to %c4 step %c1 : i32 {
        %x = arith.addi %i, %j : i32
        tt.store %out, %x : !tt.ptr<i32>
      }
    } {tt.flatten}
    tt.return
  }
}
