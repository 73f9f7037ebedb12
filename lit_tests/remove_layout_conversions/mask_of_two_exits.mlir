// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s
// XFAIL: triton-before-3.7

// One mask, made before an early return, guards the store of that return, the loads of a loop after it and the store at
// the end. Made again for another layout in one of these places, it must not be used in a place that does not follow:
// before 3.7 the loop is given a mask from elsewhere, "operand #0 does not dominate this use".

// CHECK-LABEL: tt.func public @tokens_of_an_expert(
// CHECK: cf.cond_br
// CHECK: ^bb1:
// CHECK: %[[EARLY:.+]] = arith.andi %{{.*}} : tensor<256x64xi1
// CHECK: tt.store %{{.*}}, %{{.*}}, %[[EARLY]]
// CHECK: ^bb2:
// CHECK: scf.for
// CHECK: %[[K:.+]] = arith.andi %{{.*}} : tensor<256x64xi1
// CHECK: tt.load %{{.*}}, %[[K]],
// CHECK: %[[FINAL:.+]] = arith.andi %{{.*}} : tensor<256x64xi1
// CHECK: tt.store %{{.*}}, %{{.*}}, %[[FINAL]]

#wide = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#ids = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#ids_loaded = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#tall = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#tall_rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
#cores = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @tokens_of_an_expert(%final: tensor<256x64x!tt.ptr<bf16>, #wide>,
      %columns_final: tensor<256x64xi1, #wide>,
      %b_next: tensor<64x64x!tt.ptr<bf16>, #wide>,
      %a_next: tensor<256x64x!tt.ptr<bf16>, #wide>,
      %zero_acc: tensor<256x64xf32, #cores>,
      %b_tile: tensor<64x64xbf16, #ttg.dot_op<{opIdx = 1, parent = #cores}>>,
      %columns_k: tensor<256x64xi1, #wide>,
      %trips: i32,
      %b_first: tensor<64x64x!tt.ptr<bf16>, #wide>,
      %a_first: tensor<256x64x!tt.ptr<bf16>, #wide>,
      %early: tensor<256x64x!tt.ptr<bf16>, #wide>,
      %columns_early: tensor<256x64xi1, #wide>,
      %no_expert: i1,
      %count: tensor<256xi64, #ids>,
      %ids_at: tensor<256x!tt.ptr<i32>, #ids_loaded>,
      %c0: i32,
      %c1: i32,
      %zeros: tensor<256x64xbf16, #wide>,
      %acc_first: tensor<256x64xf32, #wide>) {
    %ids = tt.load %ids_at : tensor<256x!tt.ptr<i32>, #ids_loaded>
    %ids_moved = ttg.convert_layout %ids : tensor<256xi32, #ids_loaded> -> tensor<256xi32, #ids>
    %ids_wide = arith.extsi %ids_moved : tensor<256xi32, #ids> to tensor<256xi64, #ids>
    %token_mask = arith.cmpi slt, %ids_wide, %count : tensor<256xi64, #ids>
    cf.cond_br %no_expert, ^bb1, ^bb2
  ^bb1:
    %e0 = ttg.convert_layout %token_mask : tensor<256xi1, #ids> -> tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>>
    %e1 = tt.expand_dims %e0 {axis = 1 : i32} : tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>> -> tensor<256x1xi1, #tall>
    %e2 = ttg.convert_layout %e1 : tensor<256x1xi1, #tall> -> tensor<256x1xi1, #tall_rows>
    %e3 = tt.broadcast %e2 : tensor<256x1xi1, #tall_rows> -> tensor<256x64xi1, #tall_rows>
    %e4 = ttg.convert_layout %e3 : tensor<256x64xi1, #tall_rows> -> tensor<256x64xi1, #wide>
    %early_mask = arith.andi %e4, %columns_early : tensor<256x64xi1, #wide>
    tt.store %early, %zeros, %early_mask : tensor<256x64x!tt.ptr<bf16>, #wide>
    tt.return
  ^bb2:
    %loop:3 = scf.for %k = %c0 to %trips step %c1 iter_args(%a_at = %a_first, %b_at = %b_first, %acc = %acc_first) -> (tensor<256x64x!tt.ptr<bf16>, #wide>, tensor<64x64x!tt.ptr<bf16>, #wide>, tensor<256x64xf32, #wide>)  : i32 {
      %k0 = ttg.convert_layout %token_mask : tensor<256xi1, #ids> -> tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>>
      %k1 = tt.expand_dims %k0 {axis = 1 : i32} : tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>> -> tensor<256x1xi1, #tall>
      %k2 = ttg.convert_layout %k1 : tensor<256x1xi1, #tall> -> tensor<256x1xi1, #tall_rows>
      %k3 = tt.broadcast %k2 : tensor<256x1xi1, #tall_rows> -> tensor<256x64xi1, #tall_rows>
      %k4 = ttg.convert_layout %k3 : tensor<256x64xi1, #tall_rows> -> tensor<256x64xi1, #wide>
      %k_mask = arith.andi %k4, %columns_k : tensor<256x64xi1, #wide>
      %a_tile = tt.load %a_at, %k_mask, %zeros : tensor<256x64x!tt.ptr<bf16>, #wide>
      %a_operand = ttg.convert_layout %a_tile : tensor<256x64xbf16, #wide> -> tensor<256x64xbf16, #ttg.dot_op<{opIdx = 0, parent = #cores}>>
      %product = tt.dot %a_operand, %b_tile, %zero_acc, inputPrecision = tf32 : tensor<256x64xbf16, #ttg.dot_op<{opIdx = 0, parent = #cores}>> * tensor<64x64xbf16, #ttg.dot_op<{opIdx = 1, parent = #cores}>> -> tensor<256x64xf32, #cores>
      %product_moved = ttg.convert_layout %product : tensor<256x64xf32, #cores> -> tensor<256x64xf32, #wide>
      scf.yield %a_next, %b_next, %product_moved : tensor<256x64x!tt.ptr<bf16>, #wide>, tensor<64x64x!tt.ptr<bf16>, #wide>, tensor<256x64xf32, #wide>
    }
    %f0 = ttg.convert_layout %token_mask : tensor<256xi1, #ids> -> tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>>
    %f1 = tt.expand_dims %f0 {axis = 1 : i32} : tensor<256xi1, #ttg.slice<{dim = 1, parent = #tall}>> -> tensor<256x1xi1, #tall>
    %f2 = ttg.convert_layout %f1 : tensor<256x1xi1, #tall> -> tensor<256x1xi1, #tall_rows>
    %f3 = tt.broadcast %f2 : tensor<256x1xi1, #tall_rows> -> tensor<256x64xi1, #tall_rows>
    %f4 = ttg.convert_layout %f3 : tensor<256x64xi1, #tall_rows> -> tensor<256x64xi1, #wide>
    %final_mask = arith.andi %f4, %columns_final : tensor<256x64xi1, #wide>
    %narrowed = arith.truncf %loop#2 : tensor<256x64xf32, #wide> to tensor<256x64xbf16, #wide>
    tt.store %final, %narrowed, %final_mask : tensor<256x64x!tt.ptr<bf16>, #wide>
    tt.return
  }
}
