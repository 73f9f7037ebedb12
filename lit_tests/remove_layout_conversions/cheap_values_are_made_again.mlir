// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// A range, a splat and the sum of them cost less than moving them between threads: they are made in the layout
// that is wanted.

// CHECK: #[[DST:.+]] = #ttg.blocked<{sizePerThread = [4],
// CHECK-LABEL: tt.func public @range_plus_scalar(
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[R:.+]] = tt.make_range {{.*}} : tensor<1024xi32, #[[DST]]>
// CHECK: %[[S:.+]] = tt.splat %{{.*}} : i32 -> tensor<1024xi32, #[[DST]]>
// CHECK: %[[A:.+]] = arith.addi %[[R]], %[[S]]
// CHECK: tt.store %{{.*}}, %[[A]]
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @range_plus_scalar(%p: !tt.ptr<i32>, %n: i32) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #src>
    %s = tt.splat %n : i32 -> tensor<1024xi32, #src>
    %a = arith.addi %r, %s : tensor<1024xi32, #src>
    %c = ttg.convert_layout %a : tensor<1024xi32, #src> -> tensor<1024xi32, #dst>
    %ps = tt.splat %p : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>, #dst>
    %pa = tt.addptr %ps, %c : tensor<1024x!tt.ptr<i32>, #dst>, tensor<1024xi32, #dst>
    tt.store %pa, %c : tensor<1024x!tt.ptr<i32>, #dst>
    tt.return
  }
}
