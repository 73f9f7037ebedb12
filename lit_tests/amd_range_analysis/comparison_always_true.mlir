// RUN: triton-opt %s -tritonamdgpu-fold-true-cmpi -canonicalize | FileCheck %s

// A program id is never negative, and a number assumed below 8 is below 16; of any other number nothing is known.

// CHECK-LABEL: tt.func public @program_id(
// CHECK: %[[T:.+]] = arith.constant true
// CHECK: tt.return %[[T]]

// CHECK-LABEL: tt.func public @any_number(
// CHECK: %[[C:.+]] = arith.cmpi sge
// CHECK: tt.return %[[C]]

// CHECK-LABEL: tt.func public @below_8(
// CHECK: %[[T:.+]] = arith.constant true
// CHECK: tt.return %[[T]]

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @program_id() -> i1 {
    %c0 = arith.constant 0 : i32
    %pid = tt.get_program_id x : i32
    %t = arith.cmpi sge, %pid, %c0 : i32
    tt.return %t : i1
  }
  tt.func public @any_number(%n: i32) -> i1 {
    %c0 = arith.constant 0 : i32
    %t = arith.cmpi sge, %n, %c0 : i32
    tt.return %t : i1
  }
  tt.func public @below_8(%n: i32) -> i1 {
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %c = arith.cmpi slt, %n, %c8 : i32
    llvm.intr.assume %c : i1
    %t = arith.cmpi slt, %n, %c16 : i32
    tt.return %t : i1
  }
}
