"""A loop stands between two branches on one condition, and its body uses what the first one computed.

Triton issue 11327: for gfx942, 3.7.0 to 3.9.0 fail in `tritonamdgpu-prepare-if-combining`: it moves the loop in front
of the first branch.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def amd_loop_between_ifs_kernel(x, out, given, n, D: tl.constexpr):
    at = tl.arange(0, D)
    if given > 0:  # noqa: SIM108 (two regions, not a select)
        step = tl.load(x + at)
    else:
        step = tl.zeros((D,), tl.float32)
    sums = tl.zeros((D,), tl.float32)
    for _ in range(n):
        sums += step
    if given > 0:
        tl.store(out + at, sums)
    else:
        tl.store(out + at, sums + 1)


@case(given=[0, 3])
def amd_loop_between_ifs(given):
    return KernelCase(
        amd_loop_between_ifs_kernel,
        grid=(1,),
        args=dict(x=Buffer(64), out=empty(64), given=given, n=3, D=64),
        reference=lambda x: {"out": 3 * x if given else torch.ones_like(x)},
        reduction=3,
    )
