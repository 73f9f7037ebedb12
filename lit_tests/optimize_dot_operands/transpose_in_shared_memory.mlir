// RUN: triton-opt %s -tritongpu-optimize-dot-operands="hoist-layout-conversion=true" | FileCheck %s

// A transposed operand of a warp-group product is put into shared memory as it is, in the transposed layout, and
// seen the other way round: no element changes its thread.

// CHECK-DAG: #[[PLAIN:.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
// CHECK-DAG: #[[TRANSPOSED:.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>

// CHECK-LABEL: tt.func public @transposed_right(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NOT: tt.trans
// CHECK: %[[S:.+]] = ttg.local_alloc %[[X]] : {{.*}} -> !ttg.memdesc<64x64xf16, #[[TRANSPOSED]], #{{.*}}>
// CHECK: %[[T:.+]] = ttg.memdesc_trans %[[S]] {order = array<i32: 1, 0>} : {{.*}} -> !ttg.memdesc<64x64xf16, #[[PLAIN]], #{{.*}}>
// CHECK: ttng.warp_group_dot %{{.*}}, %[[T]],
// CHECK-NOT: tt.trans

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
  tt.func public @transposed_right(%x: tensor<64x64xf16, #blocked>, %a: !ttg.memdesc<64x64xf16, #shared, #smem>, %z: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
    %t = tt.trans %x {order = array<i32: 1, 0>} : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #turned>
    %y = ttg.local_alloc %t : (tensor<64x64xf16, #turned>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %a, %y, %z : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    tt.return %d : tensor<64x64xf32, #mma>
  }
}
