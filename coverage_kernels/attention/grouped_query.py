"""Grouped-query attention over tensors laid out (batch, time, head, dim): several query heads share a key head.

The head index of K and V is a division; a lowering that keeps the query's head reads past the key heads.
Batch and time strides are those of a packed qkv projection, so nothing is contiguous.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Tolerance, case, empty


@triton.jit
def grouped_query_kernel(
    q, k, v, out, scale, stride_t, stride_out_t, GROUP: tl.constexpr, T: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    batch = tl.program_id(1)
    head = tl.program_id(0)
    t = tl.arange(0, T)
    d = tl.arange(0, D)
    q_at = (batch * T + t)[:, None] * stride_t + head * D + d[None, :]
    kv_at = (batch * T + t)[:, None] * stride_t + (head // GROUP) * D + d[None, :]
    scores = tl.dot(tl.load(q + q_at), tl.trans(tl.load(k + kv_at))) * scale
    scores = scores - tl.max(scores, 1)[:, None]
    weights = tl.exp(scores)
    weights = weights / tl.sum(weights, 1)[:, None]
    result = tl.dot(weights.to(v.dtype.element_ty), tl.load(v + kv_at))
    tl.store(out + (batch * T + t)[:, None] * stride_out_t + head * D + d[None, :], result)


# The softmax weights are narrowed before the second dot: half an ulp of each, carried into the sum.
NARROWED = {
    "fp16": Tolerance("weights narrowed to fp16 for the second dot", absolute=2.0**-10),
    "bf16": Tolerance("weights narrowed to bf16 for the second dot", absolute=2.0**-7),
}


@case(dtype=["fp16", "bf16"], group=[1, 2, 4])
def grouped_query(dtype, group):
    n, t, heads, d = 2, 32, 4, 16
    kv_heads = heads // group
    width = (heads + 2 * kv_heads) * d
    packed, strides = Buffer((n, t, width), dtype), (t * width, width, d, 1)
    key_at, value_at = heads * d, (heads + kv_heads) * d

    def reference(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)))
        return ((q @ k.mT * d**-0.5).softmax(-1) @ v).transpose(1, 2)

    return KernelCase(
        grouped_query_kernel,
        grid=(heads, n),
        args=dict(
            q=packed.view((n, t, heads, d), strides), k=packed.view((n, t, kv_heads, d), strides, key_at),
            v=packed.view((n, t, kv_heads, d), strides, value_at), out=empty((n, t, heads, d), dtype),
            scale=d**-0.5, stride_t=width, stride_out_t=heads * d, GROUP=group, T=t, D=d,
        ),
        reference=reference,
        reduction=t,
        tolerance=NARROWED[dtype],
    )  # fmt: skip
