// RUN: harness-opt %s --npu-place-lanes | FileCheck %s

// A fold wants its axis inside a lane: rows are spread over the lanes, and so is everything that goes with them.

// CHECK-LABEL: tt.func public @rows(
// CHECK: %[[X:.+]] = npu.load {{.*}} -> tensor<256x16xf32, #npu.lanes<0>>
// CHECK: %[[M:.+]] = "tt.reduce"(%[[X]])
// CHECK: (tensor<256x16xf32, #npu.lanes<0>>) -> tensor<256xf32, #npu.lanes<0>>
// CHECK: tt.expand_dims %[[M]] {{.*}} -> tensor<256x1xf32, #npu.lanes<0>>
// CHECK: tt.broadcast {{.*}} -> tensor<256x16xf32, #npu.lanes<0>>
// CHECK-NOT: npu.relayout
tt.func public @rows(%x: !tt.ptr<f32>, %s: i64, %one: i64) {
  %a = npu.load %x[%s, %one] : !tt.ptr<f32> -> tensor<256x16xf32>
  %m = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %c = arith.maxnumf %l, %r : f32
    tt.reduce.return %c : f32
  }) : (tensor<256x16xf32>) -> tensor<256xf32>
  %e = tt.expand_dims %m {axis = 1 : i32} : tensor<256xf32> -> tensor<256x1xf32>
  %b = tt.broadcast %e : tensor<256x1xf32> -> tensor<256x16xf32>
  %d = arith.subf %a, %b : tensor<256x16xf32>
  npu.store %d to %x[%s, %one] : tensor<256x16xf32> -> !tt.ptr<f32>
  tt.return
}

// A product has its columns in the lanes. A column beside them is uniform, and a transposed operand is loaded with
// its rows in the lanes.

// CHECK-LABEL: tt.func public @product(
// CHECK-DAG: %[[A:.+]] = npu.load {{.*}} -> tensor<64x64xf16, #npu.lanes<1>>
// CHECK-DAG: %[[B:.+]] = npu.load {{.*}} -> tensor<64x64xf16, #npu.lanes<0>>
// CHECK-DAG: %[[T:.+]] = tt.trans %[[B]] {{.*}} -> tensor<64x64xf16, #npu.lanes<1>>
// CHECK: %[[C:.+]] = npu.load {{.*}} -> tensor<64xf32, #npu.uniform>
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #npu.lanes<1>>)
// CHECK: tt.dot %[[A]], %[[T]], {{.*}} -> tensor<64x64xf32, #npu.lanes<1>>
// CHECK: tt.expand_dims %[[C]] {{.*}} -> tensor<64x1xf32, #npu.uniform>
// CHECK: tt.broadcast {{.*}} : tensor<64x1xf32, #npu.uniform> -> tensor<64x64xf32, #npu.lanes<1>>
// CHECK-NOT: npu.relayout
tt.func public @product(%x: !tt.ptr<f16>, %y: !tt.ptr<f32>, %s: i64, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = npu.load %x[%s, %one] : !tt.ptr<f16> -> tensor<64x64xf16>
  %b = npu.load %x[%one, %s] : !tt.ptr<f16> -> tensor<64x64xf16>
  %t = tt.trans %b {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %scale = npu.load %y[%one] : !tt.ptr<f32> -> tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) : i32 {
    %d = tt.dot %a, %t, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %e = tt.expand_dims %scale {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
  %w = tt.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
  %p = arith.mulf %r, %w : tensor<64x64xf32>
  npu.store %p to %y[%s, %one] : tensor<64x64xf32> -> !tt.ptr<f32>
  tt.return
}

// Where demands clash, a relayout; what both want and costs nothing (constants, ranges, scalars) is made twice.

// CHECK-LABEL: tt.func public @clash(
// CHECK-DAG: %[[ROW:.+]] = tt.make_range {{.*}} : tensor<64xi32, #npu.lanes<0>>
// CHECK-DAG: %[[ALL:.+]] = tt.make_range {{.*}} : tensor<64xi32, #npu.uniform>
// CHECK: %[[X:.+]] = npu.load {{.*}} -> tensor<64x64xf16, #npu.lanes<1>>
// CHECK-NEXT: %[[Y:.+]] = npu.relayout %[[X]] : tensor<64x64xf16, #npu.lanes<1>> -> tensor<64x64xf16, #npu.lanes<0>>
// CHECK: %[[T:.+]] = tt.trans %[[Y]]
// CHECK: tt.dot %[[X]], %[[T]]
// CHECK-DAG: tt.expand_dims %[[ROW]] {axis = 0 : i32}
// CHECK-DAG: tt.expand_dims %[[ALL]] {axis = 1 : i32}
tt.func public @clash(%x: !tt.ptr<f16>, %y: !tt.ptr<f32>, %s: i64, %one: i64) {
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %run = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %a = npu.load %x[%s, %one] : !tt.ptr<f16> -> tensor<64x64xf16>
  %t = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %d = tt.dot %a, %t, %zeros : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %r = tt.expand_dims %run {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %c = tt.expand_dims %run {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rb = tt.broadcast %r : tensor<1x64xi32> -> tensor<64x64xi32>
  %cb = tt.broadcast %c : tensor<64x1xi32> -> tensor<64x64xi32>
  %m = arith.cmpi sle, %rb, %cb : tensor<64x64xi32>
  %v = arith.select %m, %d, %zeros : tensor<64x64xi1>, tensor<64x64xf32>
  npu.store %v to %y[%s, %one] : tensor<64x64xf32> -> !tt.ptr<f32>
  tt.return
}

// A transfer writes out a tile: a scalar or constant becomes one first. Of equals the last axis is spread, where memory
// has neighbours side by side; a tensor of one element is uniform.

// CHECK-LABEL: tt.func public @tiles(
// CHECK: %[[S:.+]] = tt.splat %{{.*}} -> tensor<128xf32, #npu.lanes<0>>
// CHECK: %[[C:.+]] = npu.relayout %[[S]] : tensor<128xf32, #npu.lanes<0>> -> tensor<128xf32, #npu.lanes<0>>
// CHECK: npu.store %[[C]]
// CHECK: npu.load {{.*}} -> tensor<16x16xf32, #npu.lanes<1>>
// CHECK: npu.load {{.*}} -> tensor<1xf32, #npu.uniform>
tt.func public @tiles(%x: !tt.ptr<f32>, %v: f32, %one: i64) {
  %s = tt.splat %v : f32 -> tensor<128xf32>
  npu.store %s to %x[%one] : tensor<128xf32> -> !tt.ptr<f32>
  %a = npu.load %x[%one, %one] : !tt.ptr<f32> -> tensor<16x16xf32>
  npu.store %a to %x[%one, %one] : tensor<16x16xf32> -> !tt.ptr<f32>
  %b = npu.load %x[%one] : !tt.ptr<f32> -> tensor<1xf32>
  npu.store %b to %x[%one] : tensor<1xf32> -> !tt.ptr<f32>
  tt.return
}
