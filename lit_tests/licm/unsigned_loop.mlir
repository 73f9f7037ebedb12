// RUN: triton-opt %s -triton-licm -o %t.mlir
// RUN: harness-exec %s %t.mlir --arguments=4,4,0,10,1 --arguments=4,4,5,3,1 --arguments=4,4,0,-268435456,268435456
// RUN: FileCheck %s < %t.mlir
// XFAIL: triton-before-3.10

// A load that moves in front of a loop of unsigned bounds is done if the lower bound is below the upper one as unsigned
// numbers: the last execution goes round 15 times. All releases up to 3.9 compare them as signed numbers, so that the
// load is masked off. Triton's own front end makes no such loop.

// CHECK-LABEL: tt.func public @sum(
// CHECK: arith.cmpi ult
// CHECK: tt.load
// CHECK: scf.for unsigned

tt.func public @sum(%in: !tt.ptr<i32>, %out: !tt.ptr<i32>, %lo: i32, %hi: i32, %step: i32) {
  %zero = arith.constant dense<0> : tensor<4xi32>
  %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %ins = tt.splat %in : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  %from = tt.addptr %ins, %lanes : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  %total = scf.for unsigned %i = %lo to %hi step %step iter_args(%sum = %zero) -> (tensor<4xi32>) : i32 {
    %x = tt.load %from : tensor<4x!tt.ptr<i32>>
    %next = arith.addi %sum, %x : tensor<4xi32>
    scf.yield %next : tensor<4xi32>
  }
  %outs = tt.splat %out : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  %to = tt.addptr %outs, %lanes : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  tt.store %to, %total : tensor<4x!tt.ptr<i32>>
  tt.return
}
