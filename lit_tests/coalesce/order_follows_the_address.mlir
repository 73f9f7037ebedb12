// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s

// Where the first axis is the one without a stride, threads are laid out along it, whatever the layout was before.

// CHECK-DAG: #[[ALONG:.+]] = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
// CHECK: tt.load %{{.*}} : tensor<64x64x!tt.ptr<f32>, #[[ALONG]]>

#rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @column_major(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %s: i32 {tt.divisibility = 16 : i32}) -> tensor<64x64xf32, #rows> {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #rows}>>
    %c = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #rows}>>
    %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #rows}>> -> tensor<64x1xi32, #rows>
    %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #rows}>> -> tensor<1x64xi32, #rows>
    %ss = tt.splat %s : i32 -> tensor<1x64xi32, #rows>
    %cs = arith.muli %c2, %ss : tensor<1x64xi32, #rows>
    %rb = tt.broadcast %r2 : tensor<64x1xi32, #rows> -> tensor<64x64xi32, #rows>
    %cb = tt.broadcast %cs : tensor<1x64xi32, #rows> -> tensor<64x64xi32, #rows>
    %o = arith.addi %rb, %cb : tensor<64x64xi32, #rows>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #rows>
    %pa = tt.addptr %ps, %o : tensor<64x64x!tt.ptr<f32>, #rows>, tensor<64x64xi32, #rows>
    %x = tt.load %pa : tensor<64x64x!tt.ptr<f32>, #rows>
    tt.return %x : tensor<64x64xf32, #rows>
  }
}
