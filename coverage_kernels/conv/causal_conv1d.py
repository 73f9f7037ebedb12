"""The causal depthwise 1-D convolution of state-space models: taps reach back in time, SiLU at the end.

A loop-carried tuple of the last taps slides along the sequence; a shift in the wrong direction reads the future.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def causal_conv1d_kernel(x, w, bias, out, L, C, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < C
    w0 = tl.load(w + channel * 3, mask=inside, other=0.0).to(tl.float32)
    w1 = tl.load(w + channel * 3 + 1, mask=inside, other=0.0).to(tl.float32)
    w2 = tl.load(w + channel * 3 + 2, mask=inside, other=0.0).to(tl.float32)
    start = tl.load(bias + channel, mask=inside, other=0.0).to(tl.float32)
    older = tl.zeros((BLOCK,), tl.float32)
    old = tl.zeros((BLOCK,), tl.float32)
    for t in range(L):
        at = (batch * L + t) * C + channel
        now = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        y = start + older * w0 + old * w1 + now * w2
        tl.store(out + at, y * tl.sigmoid(y), mask=inside)
        older, old = old, now


@case(dtype=["fp32", "bf16"], length=[1, 13])
def causal_conv1d(dtype, length):
    n, c = 2, 40

    def reference(x, w, bias):
        y = torch.nn.functional.conv1d(x.transpose(1, 2), w.unsqueeze(1), bias, padding=2, groups=c)
        return torch.nn.functional.silu(y[..., :length]).transpose(1, 2)

    return KernelCase(
        causal_conv1d_kernel,
        grid=(n, triton.cdiv(c, 16)),
        args=dict(
            x=Buffer((n, length, c), dtype), w=Buffer((c, 3), dtype), bias=Buffer(c, dtype),
            out=empty((n, length, c), dtype), L=length, C=c, BLOCK=16,
        ),
        reference=reference,
        reduction=4,
    )  # fmt: skip
