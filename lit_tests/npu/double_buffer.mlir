// RUN: harness-opt %s --npu-schedule --npu-double-buffer | FileCheck %s

// The loop carries the tile: each trip starts the load of the next one, unless there is none, and waits at its end.

// CHECK-LABEL: tt.func public @ahead(
// CHECK: %[[SOME:.+]] = arith.cmpi slt, %c0, %n
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK-DAG: %[[EIGHT:.+]] = arith.constant 8 : i64
// CHECK: %[[U:.+]] = arith.select %[[SOME]], %[[EIGHT]], %[[ZERO]]
// CHECK: %[[F:.+]]:2 = npu.start_load %x[%one] upper [0: %[[U]]]
// CHECK: %[[FIRST:.+]] = npu.wait %[[F]]#1, %[[F]]#0
// CHECK: scf.for %[[I:.+]] = %c0 to %n step %c1 iter_args(%[[SUM:.+]] = %{{.*}}, %[[P:.+]] = %x, %[[TILE:.+]] = %[[FIRST]])
// CHECK: %[[Q:.+]] = tt.addptr %[[P]], %one
// CHECK: %[[LEFT:.+]] = arith.subi %n, %[[I]]
// CHECK: %[[MORE:.+]] = arith.cmpi ugt, %[[LEFT]], %c1
// CHECK: %[[V:.+]] = arith.select %[[MORE]], %[[EIGHT]], %[[ZERO]]
// CHECK: %[[S:.+]]:2 = npu.start_load %[[Q]][%one] upper [0: %[[V]]]
// CHECK: %[[T:.+]] = arith.addf %[[SUM]], %[[TILE]]
// CHECK: %[[NEXT:.+]] = npu.wait %[[S]]#1, %[[S]]#0
// CHECK: scf.yield %[[T]], %[[Q]], %[[NEXT]]
tt.func public @ahead(%x: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros, %p = %x) -> (tensor<8xf32>, !tt.ptr<f32>) : i32 {
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %s = arith.addf %sum, %a : tensor<8xf32>
    %q = tt.addptr %p, %one : !tt.ptr<f32>, i64
    scf.yield %s, %q : tensor<8xf32>, !tt.ptr<f32>
  }
  npu.store %r#0 to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}

// Where the loop writes another argument's buffer the launch decides: the next trip may read what this one writes if it
// was given one buffer twice.

// CHECK-LABEL: tt.func public @writes(
// CHECK: %[[APART:.+]] = npu.apart %x, %y : !tt.ptr<f32>, !tt.ptr<f32>
// CHECK: scf.if %[[APART]] {
// CHECK: %[[WFIRST:.+]] = npu.wait
// CHECK: scf.for {{.+}} iter_args(%[[NOW:.+]] = %[[WFIRST]])
// CHECK: %[[WS:.+]]:2 = npu.start_load
// CHECK: %[[STORE:.+]] = npu.start_store %[[NOW]] to %y
// CHECK: npu.wait %[[STORE]]
// CHECK: %[[WNEXT:.+]] = npu.wait %[[WS]]#1, %[[WS]]#0
// CHECK: scf.yield %[[WNEXT]]
// CHECK: } else {
// CHECK-NEXT: scf.for
// CHECK-SAME: : i32 {
// CHECK-NEXT: npu.start_load
// CHECK-NEXT: npu.wait
// CHECK-NEXT: npu.start_store
tt.func public @writes(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %y[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// One buffer that load and store walk along: nothing is asked where a trip leaves behind what the one before touched.

// CHECK-LABEL: tt.func public @in_place(
// CHECK-NOT: npu.apart
// CHECK-NOT: scf.if
// CHECK: npu.start_load
// CHECK: scf.for {{.+}} iter_args(
// CHECK: npu.start_load
// CHECK: npu.start_store
// CHECK: npu.wait
// CHECK: npu.wait
// CHECK: tt.return
tt.func public @in_place(%x: !tt.ptr<f32>, %n: i32) {
  %one = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  scf.for %i = %c0 to %n step %c8 : i32 {
    %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %b = arith.addf %a, %a : tensor<8xf32>
    npu.store %b to %p[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// Steps of 7 do not.

// CHECK-LABEL: tt.func public @overlapping(
// CHECK: scf.for
// CHECK-SAME: : i32 {
// CHECK: npu.start_load
// CHECK-NEXT: npu.wait
// CHECK: tt.return
tt.func public @overlapping(%x: !tt.ptr<f32>, %n: i32) {
  %one = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c7 = arith.constant 7 : i32
  scf.for %i = %c0 to %n step %c7 : i32 {
    %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %b = arith.addf %a, %a : tensor<8xf32>
    npu.store %b to %p[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// Carried pointers, a step back of 40 at a time, and two rows of a constant pitch: 1 + 1 * 32 + 7 * 1 elements.

// CHECK-LABEL: tt.func public @backwards(
// CHECK: scf.for {{.+}} iter_args(%{{.+}} = %x, %{{.+}} = %{{.+}}) -> (!tt.ptr<f32>, tensor<2x8xf32>)
// CHECK: tt.return
tt.func public @backwards(%x: !tt.ptr<f32>, %n: i32) {
  %one = arith.constant 1 : i64
  %pitch = arith.constant 32 : i64
  %back = arith.constant -40 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!tt.ptr<f32>) : i32 {
    %a = npu.load %p[%pitch, %one] : !tt.ptr<f32> -> tensor<2x8xf32>
    %b = arith.addf %a, %a : tensor<2x8xf32>
    npu.store %b to %p[%pitch, %one] : tensor<2x8xf32> -> !tt.ptr<f32>
    %q = tt.addptr %p, %back : !tt.ptr<f32>, i64
    scf.yield %q : !tt.ptr<f32>
  }
  tt.return
}

// Not where nobody knows what is written, nor beside an atomic.

// CHECK-LABEL: tt.func public @somewhere(
// CHECK-NOT: npu.apart
// CHECK: scf.for
// CHECK-SAME: : i32 {
// CHECK-NEXT: npu.start_load
// CHECK-NEXT: npu.wait
// CHECK: tt.return
tt.func public @somewhere(%x: !tt.ptr<f32>, %y: i64, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %p = tt.int_to_ptr %y : i64 -> !tt.ptr<f32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %p[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// CHECK-LABEL: tt.func public @counting(
// CHECK-NOT: npu.apart
// CHECK: scf.for
// CHECK-SAME: : i32 {
// CHECK-NEXT: npu.start_load
// CHECK-NEXT: npu.wait
// CHECK: tt.return
tt.func public @counting(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<i32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %y[%one] : tensor<8xf32> -> !tt.ptr<f32>
    %old = tt.atomic_rmw add, acq_rel, gpu, %z, %c1 : (!tt.ptr<i32>, i32) -> i32
  }
  tt.return
}

// Of a nest that writes at the end of the outer trip the version is the outer loop's: the inner one asks nothing more.

// CHECK-LABEL: tt.func public @nest(
// CHECK-COUNT-1: npu.apart
// CHECK-NOT: npu.apart
// CHECK: scf.if
// CHECK: scf.for {{.+}} iter_args(
// CHECK: scf.for {{.+}} iter_args({{.+}}, {{.+}})
// CHECK: } else {
// CHECK: scf.for {{.+}} : i32 {
// CHECK: npu.start_load
// CHECK-NEXT: npu.wait
// CHECK: scf.for {{.+}} iter_args({{.+}}, {{.+}})
// CHECK: tt.return
tt.func public @nest(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
    %bias = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %bias) -> (tensor<8xf32>) : i32 {
      %q = tt.addptr %p, %j : !tt.ptr<f32>, i32
      %a = npu.load %q[%one] : !tt.ptr<f32> -> tensor<8xf32>
      %t = arith.addf %s, %a : tensor<8xf32>
      scf.yield %t : tensor<8xf32>
    }
    npu.store %sum to %y[%one] : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// Not where the address has to be loaded first: of the two loads only that of the address itself is ahead.

// CHECK-LABEL: tt.func public @indirect(
// CHECK: scf.for
// CHECK: %[[AT:.+]] = tt.load
// CHECK: %[[P:.+]] = tt.addptr %x, %[[AT]]
// CHECK: npu.start_load %[[P]]
// CHECK-NEXT: npu.wait
tt.func public @indirect(%x: !tt.ptr<f32>, %table: !tt.ptr<i32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (tensor<8xf32>) : i32 {
    %entry = tt.addptr %table, %i : !tt.ptr<i32>, i32
    %at = tt.load %entry : !tt.ptr<i32>
    %p = tt.addptr %x, %at : !tt.ptr<f32>, i32
    %a = npu.load %p[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %s = arith.addf %sum, %a : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  npu.store %r to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}

// The loads of the first trip run side by side, and those of the next trip too.

// CHECK-LABEL: tt.func public @two(
// CHECK: %[[A:.+]]:2 = npu.start_load %x
// CHECK: %[[B:.+]]:2 = npu.start_load %y
// CHECK: npu.wait %[[A]]#1, %[[A]]#0
// CHECK-NEXT: npu.wait %[[B]]#1, %[[B]]#0
// CHECK-NEXT: scf.for
// CHECK: %[[C:.+]]:2 = npu.start_load %x
// CHECK-NOT: npu.wait
// CHECK: %[[D:.+]]:2 = npu.start_load %y
// CHECK: arith.addf
// CHECK: npu.wait %[[C]]#1, %[[C]]#0
// CHECK-NEXT: npu.wait %[[D]]#1, %[[D]]#0
// CHECK-NEXT: scf.yield
tt.func public @two(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %one: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (tensor<8xf32>) : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %b = npu.load %y[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %c = arith.mulf %a, %b : tensor<8xf32>
    %s = arith.addf %sum, %c : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  npu.store %r to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}

// A mask that is a tile is made for the next trip; the store goes by that of its own.

// CHECK-LABEL: tt.func public @masked(
// CHECK: %[[M0:.+]] = arith.cmpi slt, %{{.+}} : tensor<8xi64>
// CHECK: npu.start_load %x[%one] upper [0: %{{.+}}] mask %[[M0]]
// CHECK: scf.for
// CHECK: %[[M1:.+]] = arith.cmpi slt, %{{.+}} : tensor<8xi64>
// CHECK: npu.start_load %x[%one] upper [0: %{{.+}}] mask %[[M1]]
// CHECK: %[[M2:.+]] = arith.cmpi slt, %{{.+}} : tensor<8xi64>
// CHECK: npu.start_store %{{.+}} to %y[%one] mask %[[M2]]
// CHECK: } else {
tt.func public @masked(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %one: i64, %n: i64, %limit: tensor<8xi64>) {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %c0 to %n step %c8 : i64 {
    %at = tt.splat %i : i64 -> tensor<8xi64>
    %inside = arith.cmpi slt, %at, %limit : tensor<8xi64>
    %a = npu.load %x[%one] mask %inside : tensor<8xi1> : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %y[%one] mask %inside : tensor<8xi1> : tensor<8xf32> -> !tt.ptr<f32>
  }
  tt.return
}

// Not a mask that was loaded itself, nor one that takes longer to make than a load.

// CHECK-LABEL: tt.func public @other_masks(
// CHECK: scf.for
// CHECK-SAME: : i64 {
// CHECK: npu.start_load %x[%one] mask
// CHECK: npu.start_load %y[%one, %one] mask
// CHECK: tt.return
tt.func public @other_masks(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: tensor<8x!tt.ptr<i1>>, %one: i64, %n: i64, %limit: tensor<64x256xi64>) {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  scf.for %i = %c0 to %n step %c8 : i64 {
    %loaded = tt.load %z : tensor<8x!tt.ptr<i1>>
    %a = npu.load %x[%one] mask %loaded : tensor<8xi1> : !tt.ptr<f32> -> tensor<8xf32>
    tt.print "a: " {hex = false, isSigned = array<i32: 0>} : %a : tensor<8xf32>
    %at = tt.splat %i : i64 -> tensor<64x256xi64>
    %inside = arith.cmpi slt, %at, %limit : tensor<64x256xi64>
    %b = npu.load %y[%one, %one] mask %inside : tensor<64x256xi1> : !tt.ptr<f32> -> tensor<64x256xf32>
    tt.print "b: " {hex = false, isSigned = array<i32: 0>} : %b : tensor<64x256xf32>
  }
  tt.return
}
