// RUN: triton-opt %s -tritongpu-remove-layout-conversions -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: harness-exec %s %t.mlir --arguments=4096,3,0 --arguments=4096,6,-10 --arguments=4096,100,0

// One column is broadcast twice, once for a mask and once for an address, and both are wanted in another layout. Each
// use must get its own value, made from the column, and a single conversion is left, of the result. A pass that
// remembers what it made for a conversion, and goes on remembering once the conversion is gone, can hand the one use
// what belongs to another. Executed before and after, with rows under and over the mask's limit and with one trip of the
// loop and several, the function returns the same.

// CHECK-LABEL: tt.func public @mask_and_address(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: !tt.ptr<f32>, %[[ROW:[a-z0-9]+]]: i32
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[LIMIT:.+]] = arith.constant dense<7>
// CHECK-NEXT: tt.splat %[[ROW]] : i32 -> tensor<32x1xi32
// CHECK-NEXT: tt.splat %[[ROW]] : i32 -> tensor<32x1xi32
// CHECK-NEXT: %[[R:.+]]:2 = scf.for
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[FOR_MASK:.+]] = tt.broadcast %{{.*}} : tensor<32x1xi32
// CHECK-NEXT: arith.cmpi slt, %[[FOR_MASK]], %[[LIMIT]]
// CHECK-NEXT: %[[FOR_ADDRESS:.+]] = tt.broadcast %{{.*}} : tensor<32x1xi32
// CHECK-NEXT: %[[TABLES:.+]] = tt.splat %[[TABLE]]
// CHECK-NEXT: %[[ADDRESS:.+]] = tt.addptr %[[TABLES]], %[[FOR_ADDRESS]]
// CHECK-NEXT: tt.load %[[ADDRESS]]
// CHECK-NOT: tt.broadcast
// CHECK-NOT: ttg.convert_layout
// CHECK: scf.yield
// CHECK: %[[OUT:.+]] = ttg.convert_layout %[[R]]#0
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return %[[OUT]]

#wanted = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [2, 1], order = [0, 1]}>
#loaded = #ttg.blocked<{sizePerThread = [2, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 2], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @mask_and_address(%table: !tt.ptr<f32>, %row: i32, %first: i32) -> tensor<32x2xf32, #wanted> {
    %ones = arith.constant dense<1.000000e+00> : tensor<32x2xf32, #wanted>
    %limit = arith.constant dense<7> : tensor<32x2xi32, #wanted>
    %column = tt.splat %row : i32 -> tensor<32x1xi32, #loaded>
    %result:2 = scf.for %i = %first to %row step %row iter_args(%product = %ones, %factor = %ones) -> (tensor<32x2xf32, #wanted>, tensor<32x2xf32, #wanted>) : i32 {
      %for_mask = tt.broadcast %column : tensor<32x1xi32, #loaded> -> tensor<32x2xi32, #loaded>
      %for_mask_moved = ttg.convert_layout %for_mask : tensor<32x2xi32, #loaded> -> tensor<32x2xi32, #wanted>
      %mask = arith.cmpi slt, %for_mask_moved, %limit : tensor<32x2xi32, #wanted>
      %for_address = tt.broadcast %column : tensor<32x1xi32, #loaded> -> tensor<32x2xi32, #loaded>
      %for_address_moved = ttg.convert_layout %for_address : tensor<32x2xi32, #loaded> -> tensor<32x2xi32, #wanted>
      %tables = tt.splat %table : !tt.ptr<f32> -> tensor<32x2x!tt.ptr<f32>, #wanted>
      %address = tt.addptr %tables, %for_address_moved : tensor<32x2x!tt.ptr<f32>, #wanted>, tensor<32x2xi32, #wanted>
      %address_moved = ttg.convert_layout %address : tensor<32x2x!tt.ptr<f32>, #wanted> -> tensor<32x2x!tt.ptr<f32>, #loaded>
      %x = tt.load %address_moved : tensor<32x2x!tt.ptr<f32>, #loaded>
      %x_moved = ttg.convert_layout %x : tensor<32x2xf32, #loaded> -> tensor<32x2xf32, #wanted>
      %next_factor = arith.select %mask, %ones, %factor : tensor<32x2xi1, #wanted>, tensor<32x2xf32, #wanted>
      %scaled = arith.mulf %x_moved, %factor : tensor<32x2xf32, #wanted>
      %next_product = arith.select %mask, %scaled, %product : tensor<32x2xi1, #wanted>, tensor<32x2xf32, #wanted>
      scf.yield %next_product, %next_factor : tensor<32x2xf32, #wanted>, tensor<32x2xf32, #wanted>
    }
    tt.return %result#0 : tensor<32x2xf32, #wanted>
  }
}
