// RUN: triton-opt %s -tritongpu-assign-latencies="num-stages=2" | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: triton-opt %s -tritongpu-assign-latencies="num-stages=3" | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: triton-opt %s -tritongpu-assign-latencies="num-stages=1" | FileCheck %s --check-prefix=ONE

// Loads that feed a product are issued one stage less ahead than there are stages; with one stage nothing is.

// CHECK: scf.for
// TWO-COUNT-2: tt.load %{{.*}} {tt.latency = 1 : i32}
// THREE-COUNT-2: tt.load %{{.*}} {tt.latency = 2 : i32}
// CHECK: tt.dot
// CHECK-NOT: tt.latency
// CHECK: tt.return

// ONE: scf.for
// ONE-NOT: tt.latency
// ONE: tt.return

#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#left = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#right = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @matmul(%lo: i32, %hi: i32, %step: i32, %pa: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %pb: !tt.ptr<f16> {tt.divisibility = 16 : i32}) -> tensor<64x64xf32, #mma> {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %da = arith.constant dense<32> : tensor<64x32xi32, #rows>
    %db = arith.constant dense<2048> : tensor<32x64xi32, #columns>
    %ra = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #rows}>>
    %ra2 = tt.expand_dims %ra {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #rows}>> -> tensor<1x32xi32, #rows>
    %oa = tt.broadcast %ra2 : tensor<1x32xi32, #rows> -> tensor<64x32xi32, #rows>
    %sa = tt.splat %pa : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>, #rows>
    %ia = tt.addptr %sa, %oa : tensor<64x32x!tt.ptr<f16>, #rows>, tensor<64x32xi32, #rows>
    %rb = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #columns}>>
    %rb2 = tt.expand_dims %rb {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #columns}>> -> tensor<1x64xi32, #columns>
    %ob = tt.broadcast %rb2 : tensor<1x64xi32, #columns> -> tensor<32x64xi32, #columns>
    %sb = tt.splat %pb : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>, #columns>
    %ib = tt.addptr %sb, %ob : tensor<32x64x!tt.ptr<f16>, #columns>, tensor<32x64xi32, #columns>
    %r:3 = scf.for %i = %lo to %hi step %step iter_args(%qa = %ia, %qb = %ib, %acc = %zero) -> (tensor<64x32x!tt.ptr<f16>, #rows>, tensor<32x64x!tt.ptr<f16>, #columns>, tensor<64x64xf32, #mma>) : i32 {
      %x = tt.load %qa : tensor<64x32x!tt.ptr<f16>, #rows>
      %y = tt.load %qb : tensor<32x64x!tt.ptr<f16>, #columns>
      %cx = ttg.convert_layout %x : tensor<64x32xf16, #rows> -> tensor<64x32xf16, #left>
      %cy = ttg.convert_layout %y : tensor<32x64xf16, #columns> -> tensor<32x64xf16, #right>
      %d = tt.dot %cx, %cy, %acc : tensor<64x32xf16, #left> * tensor<32x64xf16, #right> -> tensor<64x64xf32, #mma>
      %na = tt.addptr %qa, %da : tensor<64x32x!tt.ptr<f16>, #rows>, tensor<64x32xi32, #rows>
      %nb = tt.addptr %qb, %db : tensor<32x64x!tt.ptr<f16>, #columns>, tensor<32x64xi32, #columns>
      scf.yield %na, %nb, %d : tensor<64x32x!tt.ptr<f16>, #rows>, tensor<32x64x!tt.ptr<f16>, #columns>, tensor<64x64xf32, #mma>
    }
    tt.return %r#2 : tensor<64x64xf32, #mma>
  }
}
