// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s

// Addresses that come from memory are a gather; so are those whose arithmetic could wrap around in few bits, and
// remainders of what might not be a run of indices. A volatile load is an atomic, and stays one.

// CHECK-LABEL: tt.func public @indirect(
// CHECK: %[[I:.+]] = npu.load
// CHECK: %[[P:.+]] = tt.addptr %{{.*}}, %[[I]]
// CHECK: tt.load %[[P]] : tensor<64x!tt.ptr<f32>>
tt.func public @indirect(%x: !tt.ptr<f32>, %indices: !tt.ptr<i32>) {
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %is = tt.splat %indices : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %pi = tt.addptr %is, %lane : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %i = tt.load %pi : tensor<64x!tt.ptr<i32>>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %px : tensor<64x!tt.ptr<f32>>
  tt.store %px, %v : tensor<64x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: tt.func public @few_bits(
// CHECK-NOT: npu.load
// CHECK: tt.load
tt.func public @few_bits(%x: !tt.ptr<f32>) {
  %threes = arith.constant dense<3> : tensor<64xi8>
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %narrow = arith.trunci %lane : tensor<64xi32> to tensor<64xi8>
  %at = arith.muli %narrow, %threes : tensor<64xi8>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi8>
  %v = tt.load %px : tensor<64x!tt.ptr<f32>>
  tt.store %px, %v : tensor<64x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: tt.func public @no_run(
// CHECK-NOT: npu.load
// CHECK: tt.load
tt.func public @no_run(%x: !tt.ptr<f32>, %n: i32, %first: i32) {
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %firsts = tt.splat %first : i32 -> tensor<64xi32>
  %from = arith.addi %firsts, %lane : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %at = arith.remsi %from, %ns : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %px : tensor<64x!tt.ptr<f32>>
  tt.store %px, %v : tensor<64x!tt.ptr<f32>>
  tt.return
}

// CHECK-LABEL: tt.func public @volatile(
// CHECK-NOT: npu.load
// CHECK: tt.load {{.*}}isVolatile
tt.func public @volatile(%x: !tt.ptr<f32>) {
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %lane : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %px {isVolatile = true} : tensor<64x!tt.ptr<f32>>
  tt.store %px, %v : tensor<64x!tt.ptr<f32>>
  tt.return
}
