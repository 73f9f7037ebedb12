// RUN: triton-opt %s -triton-loop-aware-cse | FileCheck %s

// Two pointers that walk in step load the same element: one pointer and one load are left.

// CHECK-LABEL: tt.func @sum_of_squares(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32>
// CHECK: iter_args(%[[Q:[a-z0-9]+]] = %[[P]], %{{[a-z0-9]+}} = %{{.*}}) -> (!tt.ptr<f32>, f32)
// CHECK: %[[X:.+]] = tt.load %[[Q]]
// CHECK-NOT: tt.load
// CHECK: arith.mulf %[[X]], %[[X]]
tt.func @sum_of_squares(%p: !tt.ptr<f32>, %stride: i32, %lo: i32, %hi: i32, %step: i32) -> f32 {
  %zero = arith.constant 0.000000e+00 : f32
  %r:3 = scf.for %i = %lo to %hi step %step iter_args(%a = %p, %b = %p, %acc = %zero) -> (!tt.ptr<f32>, !tt.ptr<f32>, f32) : i32 {
    %x = tt.load %a : !tt.ptr<f32>
    %y = tt.load %b : !tt.ptr<f32>
    %square = arith.mulf %x, %y : f32
    %next = arith.addf %acc, %square : f32
    %a_next = tt.addptr %a, %stride : !tt.ptr<f32>, i32
    %b_next = tt.addptr %b, %stride : !tt.ptr<f32>, i32
    scf.yield %a_next, %b_next, %next : !tt.ptr<f32>, !tt.ptr<f32>, f32
  }
  tt.return %r#2 : f32
}
