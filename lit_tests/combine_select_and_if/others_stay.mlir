// RUN: triton-opt %s -tritongpu-combine-tensor-select-and-if | FileCheck %s

// A choice by another condition stays, and so does one between scalars.

// CHECK-LABEL: tt.func public @another_condition(
// CHECK: arith.select %{{.*}} : tensor<64xf32>
// CHECK: scf.if %{{[a-z0-9]+}} {

// CHECK-LABEL: tt.func public @scalars(
// CHECK: arith.select %{{.*}} : i32
// CHECK: scf.if %{{[a-z0-9]+}} {

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @another_condition(%c: i1, %e: i1, %a: tensor<64xf32>, %b: tensor<64xf32>, %p: !tt.ptr<f32>, %v: f32) -> tensor<64xf32> {
    %s = arith.select %e, %a, %b : tensor<64xf32>
    scf.if %c {
      tt.store %p, %v : !tt.ptr<f32>
    }
    tt.return %s : tensor<64xf32>
  }
  tt.func public @scalars(%c: i1, %a: i32, %b: i32, %p: !tt.ptr<f32>, %v: f32) -> i32 {
    %s = arith.select %c, %a, %b : i32
    scf.if %c {
      tt.store %p, %v : !tt.ptr<f32>
    }
    tt.return %s : i32
  }
}
