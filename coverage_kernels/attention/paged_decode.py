"""Decode attention over a paged KV cache: a block table says which page holds each stretch of the context.

Page numbers are loaded per iteration and feed the next load, contexts differ per sequence, and the pages
are visited out of order. Reduced from a paged attention decode kernel.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Permutation, Values, case, empty


@triton.jit
def paged_decode_kernel(
    q, k_cache, v_cache, table, lengths, out, scale, stride_table,
    PAGE: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    slot = tl.arange(0, PAGE)
    query = tl.load(q + (sequence * HEADS + head) * D + d).to(tl.float32)
    length = tl.load(lengths + sequence)
    top = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for page_index in range(tl.cdiv(length, PAGE)):
        page = tl.load(table + sequence * stride_table + page_index).to(tl.int64)
        seen = page_index * PAGE + slot < length
        at = ((page * PAGE + slot)[:, None] * HEADS + head) * D + d[None, :]
        keys = tl.load(k_cache + at, mask=seen[:, None], other=0.0).to(tl.float32)
        values = tl.load(v_cache + at, mask=seen[:, None], other=0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(keys * query[None, :], 1) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - new_top)
        shrink = tl.exp(top - new_top)
        acc = acc * shrink + tl.sum(weights[:, None] * values, 0)
        total = total * shrink + tl.sum(weights, 0)
        top = new_top
    tl.store(out + (sequence * HEADS + head) * D + d, acc / total)


@case(dtype=["fp32", "fp16"], lengths=[(1, 8, 30), (17, 16, 40)])
def paged_decode(dtype, lengths):
    heads, d, page, pages = 2, 16, 8, 16
    n = len(lengths)

    def reference(q, k_cache, v_cache, table):
        rows = []
        for i, length in enumerate(lengths):
            k, v = (c[table[i].long()].flatten(0, 1)[:length].transpose(0, 1) for c in (k_cache, v_cache))
            rows.append(((q[i][:, None] @ k.mT * d**-0.5).softmax(-1) @ v)[:, 0])
        return torch.stack(rows)

    return KernelCase(
        paged_decode_kernel,
        grid=(n, heads),
        args=dict(
            q=Buffer((n, heads, d), dtype), k_cache=Buffer((pages, page, heads, d), dtype),
            v_cache=Buffer((pages, page, heads, d), dtype),
            table=Buffer((n, 5), "int32", strides=(6, 1), fill=Permutation()),
            lengths=Buffer(n, "int32", fill=Values(lengths)), out=empty((n, heads, d), dtype),
            scale=d**-0.5, stride_table=6, PAGE=page, D=d, HEADS=heads,
        ),
        reference=reference,
        reduction=48,
    )  # fmt: skip
