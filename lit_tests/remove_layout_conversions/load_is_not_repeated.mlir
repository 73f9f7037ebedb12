// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s

// A load is dear: it is done in the layout it was given, and its result is moved.

// CHECK-DAG: #[[SRC:.+]] = #ttg.blocked<{sizePerThread = [1],
// CHECK-DAG: #[[DST:.+]] = #ttg.blocked<{sizePerThread = [4],
// CHECK-LABEL: tt.func public @copy(
// CHECK: %[[X:.+]] = tt.load %{{.*}} : tensor<1024x!tt.ptr<f32>, #[[SRC]]>
// CHECK-NOT: tt.load
// CHECK: %[[Y:.+]] = ttg.convert_layout %[[X]] : tensor<1024xf32, #[[SRC]]> -> tensor<1024xf32, #[[DST]]>
// CHECK: tt.store %{{.*}}, %[[Y]]

#src = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#dst = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @copy(%p: tensor<1024x!tt.ptr<f32>, #src>, %q: tensor<1024x!tt.ptr<f32>, #dst>) {
    %x = tt.load %p : tensor<1024x!tt.ptr<f32>, #src>
    %c = ttg.convert_layout %x : tensor<1024xf32, #src> -> tensor<1024xf32, #dst>
    tt.store %q, %c : tensor<1024x!tt.ptr<f32>, #dst>
    tt.return
  }
}
