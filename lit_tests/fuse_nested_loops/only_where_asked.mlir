// RUN: triton-opt %s -tritongpu-fuse-nested-loops -canonicalize | FileCheck %s

// A nest without tt.flatten stays a nest.

// CHECK-LABEL: tt.func public @unmarked(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tt.return

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @unmarked(%out: !tt.ptr<i32>, %n: i32, %m: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      scf.for %j = %c0 to %m step %c1 : i32 {
        %x = arith.addi %i, %j : i32
        tt.store %out, %x : !tt.ptr<i32>
      }
    }
    tt.return
  }
}
