// RUN: not harness-opt %s --npu-inline 2>&1 | FileCheck %s

// CHECK: Refusal: {{.*}}inline_recursion.mlir:6:{{.*}} down calls itself, and the machine has no stack

module {
  tt.func public @down(%n: i32) {
    %c1 = arith.constant 1 : i32
    %m = arith.subi %n, %c1 : i32
    tt.call @down(%m) : (i32) -> ()
    tt.return
  }
}
