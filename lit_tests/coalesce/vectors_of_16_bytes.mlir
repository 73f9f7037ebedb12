// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s

// Neighbouring elements at an aligned address are loaded 16 bytes a thread: 4 of f32, 8 of f16. The store that
// follows gets the layout its own pointer asks for.

// CHECK-DAG: #[[NARROW:.+]] = #ttg.blocked<{sizePerThread = [1],
// CHECK-DAG: #[[FOUR:.+]] = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-DAG: #[[EIGHT:.+]] = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

// CHECK-LABEL: tt.func public @copy_f32(
// CHECK: %[[X:.+]] = tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[FOUR]]>
// CHECK: ttg.convert_layout %[[X]] : tensor<1024xf32, #[[FOUR]]> -> tensor<1024xf32, #[[NARROW]]>
// CHECK: tt.store %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[FOUR]]>

// CHECK-LABEL: tt.func public @load_f16(
// CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f16>, #[[EIGHT]]>

#narrow = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @copy_f32(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #narrow>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #narrow>
    %pa = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f32>, #narrow>, tensor<1024xi32, #narrow>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f32>, #narrow>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #narrow>
    %qa = tt.addptr %qs, %r : tensor<1024x!tt.ptr<f32>, #narrow>, tensor<1024xi32, #narrow>
    tt.store %qa, %x : tensor<1024x!tt.ptr<f32>, #narrow>
    tt.return
  }
  tt.func public @load_f16(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}) -> tensor<1024xf16, #narrow> {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #narrow>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #narrow>
    %pa = tt.addptr %ps, %r : tensor<1024x!tt.ptr<f16>, #narrow>, tensor<1024xi32, #narrow>
    %x = tt.load %pa : tensor<1024x!tt.ptr<f16>, #narrow>
    tt.return %x : tensor<1024xf16, #narrow>
  }
}
