// RUN: triton-opt %s -tritongpu-combine-tensor-select-and-if | FileCheck %s

// A choice between tensors by the condition of an scf.if that follows becomes a result of it: added to those it has,
// and used in its body.

// CHECK-LABEL: tt.func public @no_result_yet(
// CHECK-SAME: %[[C:[a-z0-9]+]]: i1, %[[A:[a-z0-9]+]]: tensor<64xf32>, %[[B:[a-z0-9]+]]: tensor<64xf32>
// CHECK-NOT: arith.select
// CHECK: %[[R:.+]] = scf.if %[[C]] -> (tensor<64xf32>)
// CHECK: tt.store
// CHECK: scf.yield %[[A]]
// CHECK: else
// CHECK: scf.yield %[[B]]
// CHECK: tt.return %[[R]]

// CHECK-LABEL: tt.func public @beside_a_result(
// CHECK-SAME: %[[C:[a-z0-9]+]]: i1, %[[A:[a-z0-9]+]]: tensor<64xf32>, %[[B:[a-z0-9]+]]: tensor<64xf32>
// CHECK-NOT: arith.select
// CHECK: %[[R:.+]]:2 = scf.if %[[C]] -> (f32, tensor<64xf32>)
// CHECK: scf.yield %{{.*}}, %[[A]]
// CHECK: scf.yield %{{.*}}, %[[B]]
// CHECK: tt.return %[[R]]#1, %[[R]]#0

// CHECK-LABEL: tt.func public @used_in_the_body(
// CHECK-SAME: %[[C:[a-z0-9]+]]: i1, %[[A:[a-z0-9]+]]: tensor<64xf32>
// CHECK-NOT: arith.select
// CHECK: scf.if %[[C]]
// CHECK: tt.store %{{.*}}, %[[A]]

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @no_result_yet(%c: i1, %a: tensor<64xf32>, %b: tensor<64xf32>, %p: !tt.ptr<f32>, %v: f32) -> tensor<64xf32> {
    %s = arith.select %c, %a, %b : tensor<64xf32>
    scf.if %c {
      tt.store %p, %v : !tt.ptr<f32>
    }
    tt.return %s : tensor<64xf32>
  }
  tt.func public @beside_a_result(%c: i1, %a: tensor<64xf32>, %b: tensor<64xf32>, %p: !tt.ptr<f32>, %v: f32) -> (tensor<64xf32>, f32) {
    %s = arith.select %c, %a, %b : tensor<64xf32>
    %r = scf.if %c -> f32 {
      tt.store %p, %v : !tt.ptr<f32>
      %w = arith.addf %v, %v : f32
      scf.yield %w : f32
    } else {
      scf.yield %v : f32
    }
    tt.return %s, %r : tensor<64xf32>, f32
  }
  tt.func public @used_in_the_body(%c: i1, %a: tensor<64xf32>, %b: tensor<64xf32>, %p: tensor<64x!tt.ptr<f32>>) -> tensor<64xf32> {
    %s = arith.select %c, %a, %b : tensor<64xf32>
    scf.if %c {
      tt.store %p, %s : tensor<64x!tt.ptr<f32>>
    }
    tt.return %s : tensor<64xf32>
  }
}
