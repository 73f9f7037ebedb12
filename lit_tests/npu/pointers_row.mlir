// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s

// A row of the grid: the program's first element moves the base, the mask is a bound. `program * 128 + 0..127` cannot
// wrap around inside the tile, since 128 divides its base.

// CHECK-LABEL: tt.func public @row(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tt.ptr<f32>, %[[Y:[a-z0-9]+]]: !tt.ptr<f32>, %[[N:[a-z0-9]+]]: i32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-DAG: %[[FILL:.+]] = arith.constant 7.000000e+00 : f32
// CHECK: %[[FIRST:.+]] = arith.muli
// CHECK: %[[AT:.+]] = arith.extsi %[[FIRST]] : i32 to i64
// CHECK: %[[END:.+]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[LEFT:.+]] = arith.subi %[[END]], %[[AT]] : i64
// CHECK: %[[P:.+]] = tt.addptr %[[X]], %[[AT]]
// CHECK: %[[V:.+]] = npu.load %[[P]][%[[ONE]]] upper [0: %[[LEFT]]] other %[[FILL]] : f32 : !tt.ptr<f32> -> tensor<128xf32>
// CHECK: %[[Q:.+]] = tt.addptr %[[Y]], %[[AT]]
// CHECK: npu.store %[[V]] to %[[Q]][%[[ONE]]] upper [0: %[[LEFT]]] : tensor<128xf32> -> !tt.ptr<f32>
// CHECK-NOT: tensor<128xi
tt.func public @row(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
  %c128 = arith.constant 128 : i32
  %other = arith.constant dense<7.000000e+00> : tensor<128xf32>
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c128 : i32
  %lane = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %firsts = tt.splat %first : i32 -> tensor<128xi32>
  %at = arith.addi %firsts, %lane : tensor<128xi32>
  %ns = tt.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %at, %ns : tensor<128xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %px, %mask, %other : tensor<128x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %py = tt.addptr %ys, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  tt.store %py, %v, %mask : tensor<128x!tt.ptr<f32>>
  tt.return
}

// Of a base that nothing divides, elements might wrap around, and a comparison would notice: the mask stays a tensor.

// CHECK-LABEL: tt.func public @any_first(
// CHECK: %[[MASK:.+]] = arith.cmpi slt
// CHECK: npu.load %{{.*}}[%{{.*}}] mask %[[MASK]] : tensor<128xi1> : !tt.ptr<f32> -> tensor<128xf32>
tt.func public @any_first(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %first: i32, %n: i32) {
  %lane = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %firsts = tt.splat %first : i32 -> tensor<128xi32>
  %at = arith.addi %firsts, %lane : tensor<128xi32>
  %ns = tt.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %at, %ns : tensor<128xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %px, %mask : tensor<128x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %py = tt.addptr %ys, %lane : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  tt.store %py, %v : tensor<128x!tt.ptr<f32>>
  tt.return
}

// Bounds from both sides, the other way round, and one condition for all elements.

// CHECK-LABEL: tt.func public @both_sides(
// CHECK-SAME: %[[LOW:[a-z0-9]+]]: i32, %[[C:[a-z0-9]+]]: i1
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK-DAG: %[[SIXTY:.+]] = arith.constant 60 : i64
// CHECK: %[[L:.+]] = arith.extsi %[[LOW]]
// CHECK: %[[U:.+]] = arith.select %[[C]], %[[SIXTY]], %[[ZERO]] : i64
// CHECK: npu.load %{{.*}}[%{{.*}}] lower [0: %[[L]]] upper [0: %[[U]]] :
tt.func public @both_sides(%x: !tt.ptr<f32>, %low: i32, %c: i1) {
  %c60 = arith.constant dense<60> : tensor<64xi32>
  %lane = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %lows = tt.splat %low : i32 -> tensor<64xi32>
  %above = arith.cmpi sle, %lows, %lane : tensor<64xi32>
  %below = arith.cmpi ult, %lane, %c60 : tensor<64xi32>
  %inside = arith.andi %above, %below : tensor<64xi1>
  %cs = tt.splat %c : i1 -> tensor<64xi1>
  %mask = arith.andi %inside, %cs : tensor<64xi1>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %lane : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %px, %mask : tensor<64x!tt.ptr<f32>>
  tt.store %px, %v : tensor<64x!tt.ptr<f32>>
  tt.return
}
