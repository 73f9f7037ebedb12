// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s

// The operands of a product: rows that wrap around at M, a pointer that moves along K, and a tail in K.

// CHECK-LABEL: tt.func public @product(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tt.ptr<f16>, %[[C:[a-z0-9]+]]: !tt.ptr<f32>, %[[M:[a-z0-9]+]]: i32, %[[K:[a-z0-9]+]]: i32, %[[S:[a-z0-9]+]]: i32
// CHECK-DAG: %[[STEP:.+]] = arith.constant 32 : i64
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK: %[[ROW:.+]] = arith.muli
// CHECK-DAG: %[[START:.+]] = arith.extsi %[[ROW]] : i32 to i64
// CHECK-DAG: %[[SIZE:.+]] = arith.extsi %[[M]] : i32 to i64
// CHECK-DAG: %[[STRIDE:.+]] = arith.extsi %[[S]] : i32 to i64
// CHECK: scf.for %[[I:.+]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[P:.+]] = %[[A]]) -> (tensor<32x32xf32>, !tt.ptr<f16>)
// CHECK: %[[LEFT:.+]] = arith.subi %[[K]], %[[I]] : i32
// CHECK: %[[END:.+]] = arith.extsi %[[LEFT]] : i32 to i64
// CHECK: npu.load %[[P]][%[[STRIDE]], %[[ONE]]] upper [1: %[[END]]] wrap [0: %[[START]] mod %[[SIZE]]] : !tt.ptr<f16> -> tensor<32x32xf16>
// CHECK: %[[NEXT:.+]] = tt.addptr %[[P]], %[[STEP]]
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
// CHECK-NOT: tensor<32x32x!tt.ptr
tt.func public @product(%a: !tt.ptr<f16>, %c: !tt.ptr<f32>, %m: i32, %k: i32, %s: i32) {
  %zeros = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
  %fill = arith.constant dense<0.000000e+00> : tensor<32x32xf16>
  %steps = arith.constant dense<32> : tensor<32x32xi32>
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %pid = tt.get_program_id x : i32
  %row = arith.muli %pid, %c32 : i32
  %lane = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %rows = tt.splat %row : i32 -> tensor<32xi32>
  %at = arith.addi %rows, %lane : tensor<32xi32>
  %ms = tt.splat %m : i32 -> tensor<32xi32>
  %wrapped = arith.remsi %at, %ms : tensor<32xi32>
  %column = tt.expand_dims %wrapped {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %ss = tt.splat %s : i32 -> tensor<32x1xi32>
  %offsets = arith.muli %column, %ss : tensor<32x1xi32>
  %ks = tt.expand_dims %lane {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %wide = tt.broadcast %offsets : tensor<32x1xi32> -> tensor<32x32xi32>
  %deep = tt.broadcast %ks : tensor<1x32xi32> -> tensor<32x32xi32>
  %both = arith.addi %wide, %deep : tensor<32x32xi32>
  %as = tt.splat %a : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
  %p0 = tt.addptr %as, %both : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
  %r:2 = scf.for %i = %c0 to %k step %c32 iter_args(%acc = %zeros, %p = %p0) -> (tensor<32x32xf32>, tensor<32x32x!tt.ptr<f16>>) : i32 {
    %left = arith.subi %k, %i : i32
    %lefts = tt.splat %left : i32 -> tensor<1x32xi32>
    %inside = arith.cmpi slt, %ks, %lefts : tensor<1x32xi32>
    %mask = tt.broadcast %inside : tensor<1x32xi1> -> tensor<32x32xi1>
    %x = tt.load %p, %mask, %fill : tensor<32x32x!tt.ptr<f16>>
    %d = tt.dot %x, %x, %acc : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %q = tt.addptr %p, %steps : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    scf.yield %d, %q : tensor<32x32xf32>, tensor<32x32x!tt.ptr<f16>>
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
  %pc = tt.addptr %cs, %deep : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
  tt.store %pc, %r#0 : tensor<32x32x!tt.ptr<f32>>
  tt.return
}

// Pointers that a branch chooses are scalars that the branch chooses; broadcast pointers have a stride of zero, and a
// cast of the base stays a cast of the base.

// CHECK-LABEL: tt.func public @chosen(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tt.ptr<i1>, %[[Y:[a-z0-9]+]]: !tt.ptr<i8>, %[[C:[a-z0-9]+]]: i1
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4 : i64
// CHECK: %[[P:.+]]:2 = scf.if %[[C]] -> (!tt.ptr<i8>, i64) {
// CHECK: %[[CAST:.+]] = tt.bitcast %[[X]] : !tt.ptr<i1> -> !tt.ptr<i8>
// CHECK: scf.yield %[[CAST]], %[[ONE]]
// CHECK: scf.yield %[[Y]], %[[FOUR]]
// CHECK: %[[V:.+]] = npu.load %[[P]]#0[%[[ZERO]], %[[P]]#1] : !tt.ptr<i8> -> tensor<4x16xi8>
tt.func public @chosen(%x: !tt.ptr<i1>, %y: !tt.ptr<i8>, %c: i1) {
  %fours = arith.constant dense<4> : tensor<1x16xi32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %row = tt.expand_dims %lane {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %p = scf.if %c -> (tensor<1x16x!tt.ptr<i8>>) {
    %xs = tt.splat %x : !tt.ptr<i1> -> tensor<1x16x!tt.ptr<i1>>
    %cast = tt.bitcast %xs : tensor<1x16x!tt.ptr<i1>> -> tensor<1x16x!tt.ptr<i8>>
    %px = tt.addptr %cast, %row : tensor<1x16x!tt.ptr<i8>>, tensor<1x16xi32>
    scf.yield %px : tensor<1x16x!tt.ptr<i8>>
  } else {
    %ys = tt.splat %y : !tt.ptr<i8> -> tensor<1x16x!tt.ptr<i8>>
    %apart = arith.muli %row, %fours : tensor<1x16xi32>
    %py = tt.addptr %ys, %apart : tensor<1x16x!tt.ptr<i8>>, tensor<1x16xi32>
    scf.yield %py : tensor<1x16x!tt.ptr<i8>>
  }
  %ps = tt.broadcast %p : tensor<1x16x!tt.ptr<i8>> -> tensor<4x16x!tt.ptr<i8>>
  %v = tt.load %ps : tensor<4x16x!tt.ptr<i8>>
  tt.store %ps, %v : tensor<4x16x!tt.ptr<i8>>
  tt.return
}
