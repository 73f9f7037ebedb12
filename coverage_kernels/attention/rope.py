"""Rotary embedding in place: two halves of a head, or neighbouring pairs, are rotated by a position's angle.

Both halves are loaded before either is stored, through one pointer; the pairs go through `tl.split` and
`tl.join`. Heads sit in a padded row, so packing moves every head after the first.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Uniform, case


@triton.jit
def rope_kernel(x, cos, sin, stride_t, stride_h, HALF: tl.constexpr, INTERLEAVED: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, HALF)
    row = x + t * stride_t + tl.program_id(1) * stride_h
    c = tl.load(cos + t * HALF + d)
    s = tl.load(sin + t * HALF + d)
    if INTERLEAVED:
        at = row + tl.arange(0, 2 * HALF)
        first, second = tl.split(tl.reshape(tl.load(at).to(tl.float32), (HALF, 2)))
        turned = tl.join(first * c - second * s, second * c + first * s)
        tl.store(at, tl.reshape(turned, (2 * HALF,)).to(x.dtype.element_ty))
    else:
        first = tl.load(row + d).to(tl.float32)
        second = tl.load(row + HALF + d).to(tl.float32)
        tl.store(row + d, (first * c - second * s).to(x.dtype.element_ty))
        tl.store(row + HALF + d, (second * c + first * s).to(x.dtype.element_ty))


@case(dtype=["fp32", "bf16"], interleaved=[False, True])
def rope(dtype, interleaved):
    t, heads, half = 7, 3, 16
    strides = (heads * (2 * half + 7) + 1, 2 * half + 7, 1)

    def reference(x, cos, sin):
        first, second = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
        c, s = cos[:, None], sin[:, None]
        turned = first * c - second * s, second * c + first * s
        return {"x": torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)}

    return KernelCase(
        rope_kernel,
        grid=(t, heads),
        args=dict(
            x=Buffer((t, heads, 2 * half), dtype, strides=strides), cos=Buffer((t, half), fill=Uniform(-1, 1)),
            sin=Buffer((t, half), fill=Uniform(-1, 1)), stride_t=strides[0], stride_h=strides[1], HALF=half,
            INTERLEAVED=interleaved,
        ),
        reference=reference,
        reduction=2,
    )  # fmt: skip
