// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s

// Nothing is known of the alignment of a pointer without tt.divisibility: each thread loads one element.

// CHECK: #[[NARROW:.+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-NOT: #ttg.blocked
// CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[NARROW]]>

#narrow = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @load(%p: !tt.ptr<f32>) -> tensor<1024xf32, #narrow> {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #narrow>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #narrow>
    %pa = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f32>, #narrow>, tensor<1024xi32, #narrow>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #narrow>
    tt.return %x : tensor<1024xf32, #narrow>
  }
}
