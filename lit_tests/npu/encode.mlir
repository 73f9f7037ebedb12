// RUN: harness-opt %s --machine=tiny --npu-place-lanes --npu-schedule --npu-double-buffer --npu-allocate --npu-encode | FileCheck %s

// A loop tests at its end, and jumps back; of a tile that is loaded ahead the body is there twice, with the two buffers
// exchanged. Tiles are named by type, address, steps, and a star on the axis over the lanes.

// CHECK: program sum for tiny: 8 lanes, 12 bytes a lane, 0 uniform bytes, {{[0-9]+}} registers
// CHECK-NEXT: arguments ptr, i32
// CHECK: [[X:r[0-9]+]]:ptr = argument index=0 part=0
// CHECK: r{{[0-9]+}}:i32 = argument index=1 part=0
// CHECK: f32[8*]@0x0/0 = dma_load tag=0 {{\[}}[[X]]:ptr] strides (1:i64)
// CHECK: wait tag=0
// CHECK: f32[8*]@0x8/0 = copy 0.0:f32
// CHECK: branch r{{[0-9]+}}:i1 @[[END:[0-9]+]]
// CHECK: @[[BODY:[0-9]+]]:
// CHECK: f32[8*]@0x4/0 = dma_load tag=1 {{\[}}[[X]]:ptr] strides (1:i64)
// CHECK: f32[8*]@0x8/0 = vector arith.addf f32[8*]@0x8/0, f32[8*]@0x0/0
// CHECK: wait tag=1
// CHECK: branch
// CHECK: f32[8*]@0x0/0 = dma_load tag=1 {{\[}}[[X]]:ptr] strides (1:i64)
// CHECK: f32[8*]@0x8/0 = vector arith.addf f32[8*]@0x8/0, f32[8*]@0x4/0
// CHECK: wait tag=1
// CHECK: branch r{{[0-9]+}}:i1 @[[BODY]]
// CHECK: @[[END]]:
// CHECK: dma_store f32[8*]@0x8/0 tag=2 {{\[}}[[X]]:ptr] strides (1:i64)
// CHECK: wait tag=2
// CHECK: halt
tt.func public @sum(%x: !tt.ptr<f32>, %n: i32) {
  %one = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zeros) -> (tensor<8xf32>) : i32 {
    %a = npu.load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %t = arith.addf %s, %a : tensor<8xf32>
    scf.yield %t : tensor<8xf32>
  }
  npu.store %r to %x[%one] : tensor<8xf32> -> !tt.ptr<f32>
  tt.return
}
