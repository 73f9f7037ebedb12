"""`tl.device_print` of a scalar and a tile, from one program of several; printing changes no buffer."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def device_print_kernel(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if pid == 1:
        tl.device_print("program ", pid)
        tl.device_print("tile ", value, at)
    tl.store(out + at, value + 1)


@case(dtype=["fp32", "int32"])
def device_print(dtype):
    return KernelCase(
        device_print_kernel,
        grid=(3,),
        args=dict(x=Buffer((3, 4), dtype), out=empty((3, 4), dtype), BLOCK=4),
        reference=lambda x: x + 1,
    )
