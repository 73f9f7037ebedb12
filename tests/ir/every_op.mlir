// Every op and spelling that releases 3.6 to 3.9 print, each once, as they print it.
module {
  tt.func public @every_op(%p: !tt.ptr<f32>, %pt: tensor<8x!tt.ptr<i32>>, %i: i32, %ti: tensor<8xi32>, %f: tensor<8xf32> {tt.divisibility = 16 : i32}, %b: i1, %tb: tensor<8xi1>, %h: f32, %l: i64, %bp: !tt.ptr<tensor<8x8xf16>>, %hp: !tt.ptr<f16, 3>, %m: tensor<32x32xf32>) -> (i32, f32) attributes {noinline = false} {
    %0 = tt.fp_to_fp %f, rounding = rtz : tensor<8xf32> -> tensor<8xf16>
    %1 = tt.fp_to_fp %f, rounding = rtne : tensor<8xf32> -> tensor<8xf8E5M2>
    %2 = tt.fp_to_fp %1 : tensor<8xf8E5M2> -> tensor<8xf8E4M3FN>
    %3 = tt.reshape %f allow_reorder efficient_layout : tensor<8xf32> -> tensor<2x4xf32>
    %4 = tt.gather %f[%ti] {axis = 0 : i32, efficient_layout} : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
    %5 = tt.splat %h : f32 -> tensor<1xf32>
    %6 = tt.unsplat %5 : tensor<1xf32>
    %7 = tt.clampf %f, %f, %f, propagateNan = all : tensor<8xf32>
    %8 = tt.precise_sqrt %f : tensor<8xf32>
    %9 = tt.precise_divf %f, %f : tensor<8xf32>
    %10 = tt.approx_divf %h, %h : f32
    %11 = tt.mulhiui %ti, %ti : tensor<8xi32>
    %12 = tt.int_to_ptr %l : i64 -> !tt.ptr<f32>
    %13 = tt.ptr_to_int %pt : tensor<8x!tt.ptr<i32>> -> tensor<8xi64>
    %14 = tt.bitcast %pt : tensor<8x!tt.ptr<i32>> -> tensor<8x!tt.ptr<f32>>
    %15 = tt.addptr %pt, %ti : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %16 = tt.load %pt : tensor<8x!tt.ptr<i32>>
    %17 = tt.load %pt, %tb : tensor<8x!tt.ptr<i32>>
    %18 = tt.load %pt, %tb, %ti cacheModifier = cv evictionPolicy = evict_last {isVolatile = true} : tensor<8x!tt.ptr<i32>>
    %19 = tt.load %bp {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<8x8xf16>>
    %20 = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>} : !tt.ptr<f32>
    tt.store %pt, %ti, %tb cacheModifier = wb : tensor<8x!tt.ptr<i32>>
    tt.store %bp, %19 evictionPolicy = evict_first {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<8x8xf16>>
    %21 = tt.atomic_rmw fadd, acq_rel, gpu, %p, %h : (!tt.ptr<f32>, f32) -> f32
    %22 = tt.atomic_rmw exch, relaxed, sys, %pt, %ti, %tb : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> tensor<8xi32>
    %23 = tt.atomic_cas acquire, cta, %pt, %ti, %ti : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %24 = tt.atomic_load acquire, sys, %pt, %tb : (tensor<8x!tt.ptr<i32>>, tensor<8xi1>) -> tensor<8xi32>
    tt.atomic_store release, gpu, %pt, %ti, %tb : tensor<8x!tt.ptr<i32>>
    %25 = tt.atomic_poll relaxed, sys, %pt, %ti timeout %l : tensor<8x!tt.ptr<i32>>, tensor<8xi32> -> tensor<8xi1>
    %26 = tt.get_program_id x : i32
    %27 = tt.get_num_programs z : i32
    %28 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %29 = tt.expand_dims %f {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
    %30 = tt.broadcast %29 : tensor<8x1xf32> -> tensor<8x4xf32>
    %31 = tt.trans %30 {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
    %32 = tt.cat %f, %f : tensor<8xf32> -> tensor<16xf32>
    %33 = tt.join %f, %f : tensor<8xf32> -> tensor<8x2xf32>
    %outLHS, %outRHS = tt.split %33 : tensor<8x2xf32> -> tensor<8xf32>
    %34 = tt.histogram %ti : tensor<8xi32> -> tensor<16xi32>
    %35 = tt.histogram %ti, %tb : tensor<8xi32> -> tensor<16xi32>
    %36 = tt.dot %m, %m, %m, inputPrecision = tf32 : tensor<32x32xf32> * tensor<32x32xf32> -> tensor<32x32xf32>
    %37 = tt.dot %m, %m, %m {maxNumImpreciseAcc = 5 : i32} : tensor<32x32xf32> * tensor<32x32xf32> -> tensor<32x32xf32>
    %38 = tt.dot_scaled %m scale %m, %m scale %m, %m lhs = e4m3 rhs = e2m1 {fastMath = true} : tensor<32x32xf32>, tensor<32x32xf32> * tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    %39 = tt.dot_scaled %m, %m scale %m, %m lhs = bf16 rhs = e5m2 {fastMath = false} : tensor<32x32xf32> * tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    %40 = tt.extern_elementwise %f {libname = "", libpath = "", pure = true, symbol = "__nv_expf"} : (tensor<8xf32>) -> tensor<8xf32>
    %41:2 = tt.elementwise_inline_asm "mov.b32 $0, \22q\22; // no comment" {constraints = "=r,=r,r", packed_element = 1 : i32, pure = true} %ti : tensor<8xi32> -> tensor<8xi32>, tensor<8xi32>
    %42 = tt.elementwise_inline_asm "nop" {constraints = "=r", packed_element = 1 : i32, pure = true} -> i32
    tt.print " a: " {hex = true, isSigned = array<i32: 1, 0>} : %i, %f : i32, tensor<8xf32>
    tt.print "text" {hex = false, isSigned = array<i32>}
    tt.assert %tb, "m" : tensor<8xi1>
    %43 = tt.make_tensor_ptr %hp, [%l, %l], [%l, %l], [%i, %i] {order = array<i32: 1, 0>} : <tensor<8x8xf16>, 3>
    %44 = tt.advance %bp, [%i, %i] : <tensor<8x8xf16>>
    %45 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] : <f32>, <tensor<32x32xf32>>
    %46 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] {padding = 2 : i32} : <f32>, <32x32xf32>
    %47 = tt.descriptor_load %46[%i, %i] cacheModifier = cg : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32>
    tt.descriptor_store %45[%i, %i], %m : !tt.tensordesc<tensor<32x32xf32>>, tensor<32x32xf32>
    tt.descriptor_reduce max, %45[%i, %i], %m : !tt.tensordesc<tensor<32x32xf32>>, tensor<32x32xf32>
    %48 = tt.descriptor_gather %45[%ti, %i] : (!tt.tensordesc<tensor<32x32xf32>>, tensor<8xi32>, i32) -> tensor<8x32xf32>
    tt.descriptor_scatter %45[%ti, %i], %m : !tt.tensordesc<tensor<32x32xf32>>, tensor<8xi32>, i32, tensor<32x32xf32>
    tt.grid_dependency_wait
    tt.grid_dependency_launch_dependents
    %49 = arith.constant dense<0xFF800000> : tensor<8xf32>
    %50 = arith.constant dense<[1.000000e+00, 0x7FC00000, -0.000000e+00, 0.699999988]> : tensor<4xf32>
    %51 = arith.constant 0x7E00 : f16
    %52 = arith.constant -2147483648 : i64
    %53 = arith.constant dense<true> : tensor<8xi1>
    %54 = arith.constant 9.997550e-02 : f16
    %55 = arith.constant 3.1415926535897931 : f64
    %56 = arith.constant dense<5.000000e-01> : tensor<4xf8E4M3FN>
    %57 = arith.cmpf oge, %f, %f fastmath<fast> : tensor<8xf32>
    %58 = arith.cmpi ult, %i, %i : i32
    %59 = arith.select %tb, %f, %f : tensor<8xi1>, tensor<8xf32>
    %60 = arith.select %b, %f, %f : tensor<8xf32>
    %61 = arith.addf %f, %f fastmath<nnan,contract> : tensor<8xf32>
    %62 = arith.addi %i, %i overflow<nsw, nuw> : i32
    %63 = arith.truncf %f toward_zero : tensor<8xf32> to tensor<8xf16>
    %64 = arith.extf %63 fastmath<fast> : tensor<8xf16> to tensor<8xf32>
    %low, %high = arith.mulsi_extended %i, %i : i32
    %sum, %overflow = arith.addui_extended %ti, %ti : tensor<8xi32>, tensor<8xi1>
    %65 = arith.shrui %ti, %ti exact : tensor<8xi32>
    %66 = arith.negf %f : tensor<8xf32>
    %67 = arith.remf %f, %f : tensor<8xf32>
    %68 = arith.fptoui %f : tensor<8xf32> to tensor<8xi32>
    %69 = arith.index_cast %i : i32 to index
    %70 = math.fma %f, %f, %f : tensor<8xf32>
    %71 = math.clampf %f to [%f, %f] : tensor<8xf32>
    %72 = math.isnan %f : tensor<8xf32>
    %73 = math.fpowi %f, %ti fastmath<fast> : tensor<8xf32>, tensor<8xi32>
    %74 = math.ctlz %ti : tensor<8xi32>
    %75 = ub.poison : tensor<8xf32>
    llvm.intr.assume %b : i1
    gpu.barrier
    ttg.barrier all
    ttg.barrier local|global_read
    cf.assert %b, "no"
    %76:2 = tt.call @callee(%i, %h) : (i32, f32) -> (i32, f32)
    scf.for unsigned %j = %i to %i step %i  : i32 {
    } {tt.flatten, tt.num_stages = 3 : i32}
    %77 = scf.if %b -> (i32) {
      scf.yield %i : i32
    } else {
      scf.yield %62 : i32
    }
    %78 = scf.for %k = %69 to %69 step %69 iter_args(%acc = %f) -> (tensor<8xf32>) {
      %82 = "tt.scan"(%acc) <{axis = 0 : i32, reverse = true}> ({
      ^bb0(%x: f32, %y: f32):
        %83 = arith.addf %x, %y : f32
        tt.scan.return %83 : f32
      }) : (tensor<8xf32>) -> tensor<8xf32>
      scf.yield %82 : tensor<8xf32>
    }
    %79:2 = scf.while (%u = %i, %v = %h) : (i32, f32) -> (i32, f32) {
      scf.condition(%b) %u, %v : i32, f32
    } do {
    ^bb0(%u: i32, %v: f32):
      scf.yield %u, %v : i32, f32
    } attributes {tt.note = 1 : i32}
    %80:2 = "tt.reduce"(%f, %ti) <{axis = 0 : i32}> ({
    ^bb0(%x: f32, %n: i32, %y: f32, %o: i32):
      tt.reduce.return %x, %n : f32, i32
    }) : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32)
    %81 = "tt.map_elementwise"(%f) <{pack = 1 : i32}> ({
    ^bb0(%x: f32):
      cf.cond_br %b, ^bb1, ^bb2(%x : f32)
    ^bb1:  // pred: ^bb0
      cf.br ^bb2(%h : f32)
    ^bb2(%z: f32):  // 2 preds: ^bb0, ^bb1
      tt.map_elementwise.return %z : f32
    }) : (tensor<8xf32>) -> tensor<8xf32>
    tt.return %80#1, %80#0 : i32, f32
  }
  tt.func private @callee(i32, f32) -> (i32, f32) attributes {noinline = true}
}
