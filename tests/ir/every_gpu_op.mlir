module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @layouts(%arg0: tensor<16x16xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>, %arg1: tensor<16x8xi8, #ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 1, 4], threadsPerWarp = [1, 8, 4], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>}>>) attributes {noinline = false} {
    %0 = ttg.convert_layout %arg0 : tensor<16x16xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>> -> tensor<16x16xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>>
    %1 = ttg.convert_layout %0 : tensor<16x16xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>> -> tensor<16x16xf32, #ttg.dot_op<{opIdx = 0, parent = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>, kWidth = 2}>>
    %2 = ttg.convert_layout %1 : tensor<16x16xf32, #ttg.dot_op<{opIdx = 0, parent = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>, kWidth = 2}>> -> tensor<16x16xf32, #ttg.linear<{register = [], lane = [[1, 0], [2, 0]], warp = [[0, 1]], block = []}>>
    %3 = ttg.fp4_to_fp %arg1 {axis = 1 : i32} : tensor<16x8xi8, #ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 1, 4], threadsPerWarp = [1, 8, 4], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>}>> -> tensor<16x16xbf16>
    ttg.barrier local|global_read
    ttg.local_barrier
    tt.return
  }
  tt.func public @shared(%arg0: tensor<16x16xf16>, %arg1: i32, %arg2: tensor<16x16xi32>) attributes {noinline = false} {
    %0 = ttg.local_alloc %arg0 : (tensor<16x16xf16>) -> !ttg.memdesc<16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory>
    %1 = ttg.local_alloc {alignment = 16 : i32} : () -> !ttg.memdesc<2x16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16, rank = 3}>, #ttg.shared_memory, mutable>
    %2 = ttg.memdesc_index %1[%arg1] : !ttg.memdesc<2x16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16, rank = 3}>, #ttg.shared_memory, mutable> -> !ttg.memdesc<16x16xf16, #ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = []}, alignment = 16>, #ttg.shared_memory, mutable>
    %3 = ttg.memdesc_subslice %2[0, 8] : !ttg.memdesc<16x16xf16, #ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = []}, alignment = 16>, #ttg.shared_memory, mutable> -> !ttg.memdesc<16x8xf16, #ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = []}, alignment = 16>, #ttg.shared_memory, mutable, 16x16>
    %4 = ttg.memdesc_trans %0 {order = array<i32: 1, 0>} : !ttg.memdesc<16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory> -> !ttg.memdesc<16x16xf16, #ttg.padded_shared<[512:+16, 1024:+8] {offset = [[0, 1]], block = []}>, #ttg.shared_memory>
    %5 = ttg.memdesc_reshape %4 : !ttg.memdesc<16x16xf16, #ttg.padded_shared<[512:+16, 1024:+8] {offset = [[0, 1]], block = []}>, #ttg.shared_memory> -> !ttg.memdesc<256xf16, #ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0]}>, #ttg.shared_memory>
    %6 = ttg.memdesc_reinterpret %5 : !ttg.memdesc<256xf16, #ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0]}>, #ttg.shared_memory> -> !ttg.memdesc<128xf32, #ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0]}>, #ttg.shared_memory>
    %7 = ttg.local_load %2 : !ttg.memdesc<16x16xf16, #ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = []}, alignment = 16>, #ttg.shared_memory, mutable> -> tensor<16x16xf16>
    ttg.local_store %7, %2 : tensor<16x16xf16> -> !ttg.memdesc<16x16xf16, #ttg.shared_linear<{offset = [[0, 1], [1, 0]], block = []}, alignment = 16>, #ttg.shared_memory, mutable>
    %8 = ttg.local_gather %0[%arg2] {axis = 1 : i32} : !ttg.memdesc<16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory>, tensor<16x16xi32> -> tensor<16x16xf16>
    ttg.local_dealloc %1 : !ttg.memdesc<2x16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16, rank = 3}>, #ttg.shared_memory, mutable>
    tt.return
  }
  tt.func public @copies(%arg0: tensor<64x!tt.ptr<f32>>, %arg1: !ttg.memdesc<64xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, %arg2: tensor<64xi1>, %arg3: tensor<64xf32>) attributes {noinline = false} {
    %0 = ttg.async_copy_global_to_local %arg0, %arg1 mask %arg2 other %arg3 cacheModifier = cg {contiguity = 4 : i32} : tensor<64x!tt.ptr<f32>> -> <64xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    %1 = ttg.async_commit_group tokens %0
    %2 = ttg.async_commit_group
    %3 = ttg.async_wait %1, %2 {num = 0 : i32}
    %4 = ttg.async_wait {num = 2 : i32}
    %5 = ttg.local_load %arg1 token %3 : !ttg.memdesc<64xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable> -> tensor<64xf32>
    %6 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    tt.return
  }
  tt.func public @hopper(%arg0: !tt.tensordesc<tensor<16x16xf16>>, %arg1: !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, %arg2: !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, %arg3: i32, %arg4: i1, %arg5: tensor<16xi32>, %arg6: tensor<16x16xf32>, %arg7: !tt.ptr<i8>, %arg8: !tt.ptr<f16>, %arg9: i64) attributes {noinline = false} {
    ttng.init_barrier %arg1, 1 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.barrier_expect %arg1, 512, %arg4 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.arrive_barrier %arg1, 1, %arg4 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.async_tma_copy_global_to_local %arg0[%arg3, %arg3] %arg2, %arg1, %arg4 : !tt.tensordesc<tensor<16x16xf16>>, !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable> -> !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.wait_barrier %arg1, %arg3 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.wait_barrier %arg1, %arg3, %arg4 deps %arg2 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.inval_barrier %arg1 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_copy_local_to_global %arg0[%arg3, %arg3] %arg2 : !tt.tensordesc<tensor<16x16xf16>>, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.async_tma_reduce add, %arg0[%arg3, %arg3] %arg2 : !tt.tensordesc<tensor<16x16xf16>>, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.async_tma_gather %arg0[%arg5, %arg3] %arg2, %arg1, %arg4 : !tt.tensordesc<tensor<16x16xf16>>, tensor<16xi32>, i32, !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, i1
    ttng.async_tma_scatter %arg0[%arg5, %arg3] %arg2 : !tt.tensordesc<tensor<16x16xf16>>, tensor<16xi32>, i32, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.async_tma_store_wait {pendings = 0 : i32}
    %0 = ttng.warp_group_dot %arg2, %arg2, %arg6 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable> * !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable> -> tensor<16x16xf32>
    %1 = ttng.warp_group_dot %arg2, %arg2, %0, %arg4 : !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable> * !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable> -> tensor<16x16xf32>
    %2:2 = ttng.warp_group_dot_wait %1, %arg2 {pendings = 0 : i32} : tensor<16x16xf32>, !ttg.memdesc<16x16xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>
    ttng.tensormap_create %arg7, %arg8, [%arg3, %arg3], [%arg3, %arg3], [%arg9], [%arg3, %arg3] {elem_type = 6 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 1 : i32} : (!tt.ptr<i8>, !tt.ptr<f16>, i32, i32, i32, i32, i64, i32, i32) -> ()
    ttng.tensormap_fenceproxy_acquire %arg7 : !tt.ptr<i8>
    %3 = ttng.reinterpret_tensor_descriptor %arg7 : !tt.ptr<i8> to !tt.tensordesc<tensor<16x16xf16>>
    tt.return
  }
  tt.func public @amd(%arg0: !tt.ptr<f16>, %arg1: tensor<64xi32>, %arg2: tensor<64xi1>, %arg3: tensor<64xf16>, %arg4: !ttg.memdesc<64xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, %arg5: i32, %arg6: tensor<64xf8E4M3FN>, %arg7: tensor<32xi8>, %arg8: tensor<64xbf16>, %arg9: tensor<4x32xi8>, %arg10: tensor<4x2xi8>) attributes {noinline = false} {
    %0 = amdg.buffer_load %arg0[%arg1], %arg2, %arg3 cacheModifier = ca stride = %arg5 {contiguity = 8 : i32} : tensor<64xf16>
    %late = amdg.buffer_load %arg0[%arg1] : !tt.ptr<f16> -> tensor<64xf16>
    amdg.buffer_store %0, %arg0[%arg1], %arg2 : tensor<64xf16>
    amdg.buffer_store %late, %arg0[%arg1] : !tt.ptr<f16> -> tensor<64xf16>
    %1 = amdg.buffer_load_to_local %arg0[%arg1] mask = %arg2 other = %arg3 stride = %arg5 into %arg4 : <f16>[tensor<64xi32>] tensor<64xf16> -> <64xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    %2 = amdg.buffer_load_to_local %arg0[%arg1] into %arg4 : <f16>[tensor<64xi32>] -> <64xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    %3 = amdg.async_wait %1, %2 {num_inst = 4 : i32}
    %4 = amdg.buffer_atomic_rmw fadd, acq_rel, gpu, %arg3, %arg0[%arg1], %arg2 : tensor<64xf16>
    %5 = amdg.buffer_atomic_cas acq_rel, gpu, %arg3, %4, %arg0[%arg1] : tensor<64xf16>
    %6 = amdg.in_thread_transpose %5 : tensor<64xf16> -> tensor<64xf16>
    %7 = amdg.scaled_upcast_fp8 %arg6 scale %arg8 : tensor<64xf8E4M3FN>, tensor<64xbf16> -> tensor<64xbf16>
    %8 = amdg.scaled_upcast_fp4 %arg7 scale %arg8 {axis = 0 : i32} : tensor<32xi8>, tensor<64xbf16> -> tensor<64xbf16>
    %9 = amdg.upcast_mxfp %arg9, %arg10 fp_type = e2m1 {fastMath = false} : tensor<4x32xi8>, tensor<4x2xi8> -> tensor<4x64xbf16>
    rocdl.s.setprio 1
    rocdl.sched.barrier 0
    rocdl.sched.barrier none
    rocdl.sched.barrier valu|salu
    rocdl.s.barrier
    tt.return
  }
  tt.func public @blackwell(%arg0: tensor<128x64xf32>, %arg1: !ttg.memdesc<128x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, %arg2: !ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, %arg3: !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, %arg4: i1, %arg5: !ttg.memdesc<128x4xi8, #ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory, mutable>) attributes {noinline = false} {
    %0 = ttng.tmem_alloc %arg0 : (tensor<128x64xf32>) -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>
    %1:2 = ttng.tmem_alloc : () -> (!ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %2 = ttng.tmem_store %arg0, %1#0[%1#1], %arg4 : tensor<128x64xf32> -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>
    ttng.tmem_store %arg0, %0, %arg4 : tensor<128x64xf32> -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>
    %3 = ttng.tc_gen5_mma %arg1, %arg2, %1#0[%2], %arg4, %arg4 : !ttg.memdesc<128x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, !ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>
    ttng.tc_gen5_mma %arg1, %arg2, %0, %arg4, %arg4, %arg3[%arg4], %arg3[%arg4] {is_async} : !ttg.memdesc<128x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, !ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory, mutable>, !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>, !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>, !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.tc_gen5_commit %arg3 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    ttng.tc_gen5_commit %arg3, %arg4 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
    %4:2 = ttng.tmem_load %1#0[%3] : !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable> -> tensor<128x64xf32>
    %5:2 = ttng.tmem_load %0[] : !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable> -> tensor<128x64xf32>
    %6 = ttng.tmem_subslice %0 {N = 32 : i32} : !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable, 128x64>
    tt.return
  }
  tt.func public @partitions(%arg0: i32, %arg1: !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>) attributes {noinline = false} {
    %0 = ttg.warp_specialize(%arg0, %arg1) attributes {requestedRegisters = array<i32: 24, 88>}
    default {
      ttg.warp_yield %arg0 : i32
    }
    partition0(%arg2: i32, %arg3: !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>) num_warps(1) {
      ttng.arrive_barrier %arg3, 1 : !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>
      ttg.warp_return
    }
    partition1(%arg4: i32, %arg5: !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>) num_warps(2) {
      ttg.warp_return
    } : (i32, !ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable>) -> i32
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    } : () -> ()
    tt.return
  }
  tt.func public @up_to_3_4(%arg0: !ttg.memdesc<2x16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable>, %arg1: i32) attributes {noinline = false} {
    %0 = ttg.memdesc_subview %arg0[%arg1, %arg1, %arg1] : !ttg.memdesc<2x16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable> -> !ttg.memdesc<16x16xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable, 2x16x16>
    tt.return
  }
}
