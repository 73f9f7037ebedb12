// RUN: triton-opt %s -tritonamdgpu-fold-true-cmpi -canonicalize | FileCheck %s
// XFAIL: triton-before-3.8

// A range of 64 is below 64 in every element, which 3.8 learnt to see.

// CHECK: %[[T:.+]] = arith.constant dense<true> : tensor<64xi1>
// CHECK: tt.return %[[T]]

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func public @below_64() -> tensor<64xi1> {
    %c = arith.constant dense<64> : tensor<64xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %t = arith.cmpi slt, %r, %c : tensor<64xi32>
    tt.return %t : tensor<64xi1>
  }
}
