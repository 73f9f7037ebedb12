// RUN: triton-opt %s -triton-licm | FileCheck %s

// Out of a while loop, whose condition nobody can test beforehand, arithmetic moves and loads do not.

// CHECK-LABEL: tt.func @until(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<i32>, %[[A:[a-z0-9]+]]: i32
// CHECK-NOT: tt.load
// CHECK: %[[SQUARE:.+]] = arith.muli %[[A]], %[[A]]
// CHECK-NOT: tt.load
// CHECK: scf.while
// CHECK: } do {
// CHECK-NOT: arith.muli
// CHECK: tt.load %[[P]]
// CHECK: arith.addi %{{.*}}, %[[SQUARE]]
tt.func @until(%p: !tt.ptr<i32>, %a: i32, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %last = scf.while (%i = %zero) : (i32) -> i32 {
    %goes_on = arith.cmpi slt, %i, %n : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    %square = arith.muli %a, %a : i32
    %x = tt.load %p : !tt.ptr<i32>
    %y = arith.addi %i, %square : i32
    %next = arith.addi %y, %x : i32
    scf.yield %next : i32
  }
  tt.return %last : i32
}
