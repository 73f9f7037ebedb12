// RUN: triton-opt %s -triton-licm | FileCheck %s

// A volatile load waits for somebody else's store: each iteration must look again.

// CHECK-LABEL: tt.func @spins(
// CHECK-NOT: tt.load
// CHECK: scf.for
// CHECK: tt.load %{{.*}} {isVolatile = true}
tt.func @spins(%p: tensor<128x!tt.ptr<f32>>, %lo: i32, %hi: i32, %step: i32) -> tensor<128xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<128xf32>) : i32 {
    %x = tt.load %p {isVolatile = true} : tensor<128x!tt.ptr<f32>>
    %next = arith.addf %acc, %x : tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tt.return %sum : tensor<128xf32>
}
