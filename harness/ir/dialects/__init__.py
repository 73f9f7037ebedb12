"""Triton's dialects and the upstream ones it uses, one file each."""

from harness.ir.dialects import amdg, arith, builtin, cf, func, gpu, llvm, math, npu, rocdl, scf, tt, ttg, ttng, ub

# A further dialect is a file with a `build` of its own and a name in this list.
ALL = (
    builtin.build,
    arith.build,
    math.build,
    scf.build,
    cf.build,
    func.build,
    ub.build,
    llvm.build,
    gpu.build,
    tt.build,
    ttg.build,
    ttng.build,
    amdg.build,
    rocdl.build,
    npu.build,
)
