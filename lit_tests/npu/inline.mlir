// RUN: harness-opt %s --npu-inline -split-input-file | FileCheck %s

// A function that Triton was told not to inline is inlined, in a loop too.

// CHECK-LABEL: tt.func public @calls(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tt.ptr<f32>
// CHECK-NOT: tt.call
// CHECK: %[[P:.+]] = tt.addptr %[[X]],
// CHECK: scf.for %[[I:.+]] =
// CHECK: %[[Q:.+]] = tt.addptr %[[X]], %[[I]]
// CHECK: tt.load %[[Q]]
// CHECK: tt.store %[[P]],
// CHECK-NOT: tt.func
tt.func public @calls(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %p = tt.call @at(%x, %n) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %q = tt.call @at(%x, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %v = tt.load %q : !tt.ptr<f32>
    tt.store %p, %v : !tt.ptr<f32>
  }
  tt.return
}
tt.func private @at(%x: !tt.ptr<f32>, %i: i32) -> !tt.ptr<f32> attributes {noinline = true} {
  %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
  tt.return %p : !tt.ptr<f32>
}

// -----

// An early return is a branch around the rest, of the kernel and of what it calls.

// CHECK-LABEL: tt.func public @early(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tt.ptr<f32>, %[[N:[a-z0-9]+]]: i32
// CHECK: %[[DONE:.+]] = arith.cmpi
// CHECK: scf.if %[[DONE]] {
// CHECK-NEXT: } else {
// CHECK: %[[SMALL:.+]] = arith.cmpi
// CHECK-NEXT: %[[V:.+]] = scf.if %[[SMALL]] -> (f32) {
// CHECK: scf.yield
// CHECK: } else {
// CHECK: scf.yield
// CHECK: }
// CHECK: tt.store %[[X]], %[[V]]
// CHECK-NOT: cf.
tt.func public @early(%x: !tt.ptr<f32>, %n: i32) {
  %c9 = arith.constant 9 : i32
  %done = arith.cmpi sgt, %n, %c9 : i32
  cf.cond_br %done, ^bb1, ^bb2(%n : i32)
^bb1:
  tt.return
^bb2(%m: i32):
  %v = tt.call @value(%m) : (i32) -> f32
  tt.store %x, %v : !tt.ptr<f32>
  tt.return
}
tt.func private @value(%n: i32) -> f32 {
  %c3 = arith.constant 3 : i32
  %one = arith.constant 1.000000e+00 : f32
  %small = arith.cmpi slt, %n, %c3 : i32
  cf.cond_br %small, ^bb1, ^bb2
^bb1:
  tt.return %one : f32
^bb2:
  %f = arith.sitofp %n : i32 to f32
  tt.return %f : f32
}
