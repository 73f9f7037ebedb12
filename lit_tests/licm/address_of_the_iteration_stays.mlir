// RUN: triton-opt %s -triton-licm | FileCheck %s

// A load from an address that the induction variable moves stays where it is, with its mask as it was.

// CHECK-LABEL: tt.func @strided(
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[O:.+]] = tt.splat %[[I]]
// CHECK: %[[Q:.+]] = tt.addptr %{{.*}}, %[[O]]
// CHECK: tt.load %[[Q]] :
tt.func @strided(%p: tensor<128x!tt.ptr<f32>>, %lo: i32, %hi: i32, %step: i32) -> tensor<128xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<128xf32>
  %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %zero) -> (tensor<128xf32>) : i32 {
    %offset = tt.splat %i : i32 -> tensor<128xi32>
    %q = tt.addptr %p, %offset : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %x = tt.load %q : tensor<128x!tt.ptr<f32>>
    %next = arith.addf %acc, %x : tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tt.return %sum : tensor<128xf32>
}
