"""Max pooling with indices: padding counts as minus infinity, the first of equal values wins, NaN wins over all.

Whole numbers make ties frequent, so an index taken with >= instead of > shows. As Inductor lowers max_pool2d.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Special, case, empty


@triton.jit
def max_pool_kernel(x, out, indices, H, W, OUT_H, OUT_W, TOTAL, PADDING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = at // (OUT_H * OUT_W)
    row = at // OUT_W % OUT_H
    col = at % OUT_W
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    where = tl.zeros((BLOCK,), tl.int64)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            y = row * 2 + i - PADDING
            z = col * 2 + j - PADDING
            inside = (y >= 0) & (y < H) & (z >= 0) & (z < W) & (at < TOTAL)
            value = tl.load(x + (plane * H + y) * W + z, mask=inside, other=float("-inf")).to(tl.float32)
            better = inside & ((value > best) | (value != value))
            best = tl.where(better, value, best)
            where = tl.where(better, (y * W + z).to(tl.int64), where)
    tl.store(out + at, best, mask=at < TOTAL)
    tl.store(indices + at, where, mask=at < TOTAL)


@case(dtype=["fp32", "bf16"], values=["ties", "special"], padding=[0, 1])
def max_pool(dtype, values, padding):
    n, c, h, w = 2, 3, 11, 9
    fill = Integers(-2, 3) if values == "ties" else Special(infinite=False)
    out_h, out_w = ((size + 2 * padding - 3) // 2 + 1 for size in (h, w))

    def reference(x):
        out, indices = torch.nn.functional.max_pool2d(x, 3, 2, padding, return_indices=True)
        return {"out": out, "indices": indices}

    return KernelCase(
        max_pool_kernel,
        grid=(triton.cdiv(n * c * out_h * out_w, 32),),
        args=dict(
            x=Buffer((n, c, h, w), dtype, fill=fill), out=empty((n, c, out_h, out_w), dtype),
            indices=empty((n, c, out_h, out_w), "int64"), H=h, W=w, OUT_H=out_h, OUT_W=out_w,
            TOTAL=n * c * out_h * out_w, PADDING=padding, BLOCK=32,
        ),
        reference=reference,
        exact_dtype=True,
    )  # fmt: skip
