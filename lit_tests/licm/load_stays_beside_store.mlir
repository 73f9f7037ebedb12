// RUN: triton-opt %s -triton-licm | FileCheck %s

// A loop that writes memory may change what a load in it sees, whatever the pointers are: the load stays.

// CHECK-LABEL: tt.func @store_in_loop(
// CHECK-NOT: tt.load
// CHECK: scf.for
// CHECK: tt.load
// CHECK: tt.store
tt.func @store_in_loop(%p: tensor<128x!tt.ptr<f32>>, %q: tensor<128x!tt.ptr<f32>>, %lo: i32, %hi: i32, %step: i32) -> tensor<128xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<128xf32>) : i32 {
    %x = tt.load %p : tensor<128x!tt.ptr<f32>>
    %next = arith.addf %acc, %x : tensor<128xf32>
    tt.store %q, %next : tensor<128x!tt.ptr<f32>>
    scf.yield %next : tensor<128xf32>
  }
  tt.return %sum : tensor<128xf32>
}
