"""Each program sums one segment whose bounds come from memory: none, one, or many trips side by side.

Programs simulated together must each stop at their own bound, and empty segments write zero.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def divergent_bounds_kernel(x, offsets, out, width, stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    begin = tl.load(offsets + pid)
    end = tl.load(offsets + pid + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(begin, end):
        total += tl.load(x + row * stride + lane, mask=lane < width, other=0.0)
    tl.store(out + pid * width + lane, total, mask=lane < width)


@case(dtype=["fp32", "fp16"], lengths=[(3, 0, 1, 20, 0), (0,), (1, 1, 1, 1)])
def divergent_bounds(dtype, lengths):
    width = 13
    offsets = tuple(sum(lengths[:i]) for i in range(len(lengths) + 1))
    return KernelCase(
        divergent_bounds_kernel,
        grid=(len(lengths),),
        args=dict(
            x=Buffer((24, width), dtype, strides=(16, 1)), offsets=Buffer(len(offsets), "int64", fill=Values(offsets)),
            out=empty((len(lengths), width)), width=width, stride=16, BLOCK=16,
        ),
        reference=lambda x: torch.stack([part.sum(0) for part in x[: offsets[-1]].split(list(lengths))]),
        reduction=max(1, *lengths),
    )  # fmt: skip
