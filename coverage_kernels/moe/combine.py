"""Expert outputs back to tokens: a weighted sum of the k rows that an index names, dropped entries left out.

An index of -1 means that the entry was dropped for lack of capacity; a token with all entries dropped is zero.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def combine_kernel(rows, index, weights, out, width, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(TOP_K):
        row = tl.load(index + token * TOP_K + k)
        if row >= 0:
            value = tl.load(rows + row * width + lane, mask=lane < width, other=0.0).to(tl.float32)
            acc += value * tl.load(weights + token * TOP_K + k)
    tl.store(out + token * width + lane, acc, mask=lane < width)


@case(dtype=["fp32", "fp16"], index=[(0, 3, 2, -1, -1, -1, 4, 4), (5, 1, 0, 2)])
def combine(dtype, index):
    tokens, width = len(index) // 2, 50

    def reference(rows, index, weights):
        kept = rows[index.clamp(min=0).long()] * (index >= 0)[..., None]
        return torch.einsum("tkw,tk->tw", kept, weights)

    return KernelCase(
        combine_kernel,
        grid=(tokens, triton.cdiv(width, 32)),
        args=dict(
            rows=Buffer((6, width), dtype), index=Buffer((tokens, 2), "int32", fill=Values(index)),
            weights=Buffer((tokens, 2)), out=empty((tokens, width), dtype), width=width, TOP_K=2, BLOCK=32,
        ),
        reference=reference,
        reduction=2,
    )  # fmt: skip
