"""Flash attention, forward and backward, in four launches over shared buffers.

The forward saves the log-sum-exp; a preprocess step reduces delta = sum(out * d_out); one kernel walks the
queries of a key block for dk and dv, one the keys of a query block for dq. Every intermediate is compared,
so a wrong launch is named and not only its last consumer. Reduced from the fused attention tutorial.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, case, empty


@triton.jit
def block(base, at, D: tl.constexpr):
    return base + at[:, None] * D + tl.arange(0, D)[None, :]


@triton.jit
def probabilities(q_tile, k_tile, lse, rows, cols, scale):
    scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee") * scale
    return tl.where(cols[None, :] <= rows[:, None], tl.exp(scores - lse[:, None]), 0.0)


@triton.jit
def forward_kernel(q, k, v, out, lse, scale, T: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1) * T * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    q_tile = tl.load(block(q + head, rows, D))
    top = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * B, B):
        cols = start + tl.arange(0, B)
        scores = tl.dot(q_tile, tl.trans(tl.load(block(k + head, cols, D))), input_precision="ieee") * scale
        scores = tl.where(cols[None, :] <= rows[:, None], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights, tl.load(block(v + head, cols, D)), acc * shrink[:, None], input_precision="ieee")
        top = new_top
    tl.store(block(out + head, rows, D), acc / total[:, None])
    tl.store(lse + tl.program_id(1) * T + rows, top + tl.log(total))


@triton.jit
def preprocess_kernel(out, d_out, delta, T: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1) * T * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    product = tl.load(block(out + head, rows, D)) * tl.load(block(d_out + head, rows, D))
    tl.store(delta + tl.program_id(1) * T + rows, tl.sum(product, 1))


@triton.jit
def keys_kernel(q, k, v, d_out, lse, delta, dk, dv, scale, T: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1) * T * D
    row_base = tl.program_id(1) * T
    cols = tl.program_id(0) * B + tl.arange(0, B)
    k_tile = tl.load(block(k + head, cols, D))
    v_tile = tl.load(block(v + head, cols, D))
    dk_acc = tl.zeros((B, D), tl.float32)
    dv_acc = tl.zeros((B, D), tl.float32)
    for start in range(tl.program_id(0) * B, T, B):
        rows = start + tl.arange(0, B)
        q_tile = tl.load(block(q + head, rows, D))
        do_tile = tl.load(block(d_out + head, rows, D))
        p = probabilities(q_tile, k_tile, tl.load(lse + row_base + rows), rows, cols, scale)
        dv_acc = tl.dot(tl.trans(p), do_tile, dv_acc, input_precision="ieee")
        dp = tl.dot(do_tile, tl.trans(v_tile), input_precision="ieee")
        ds = p * (dp - tl.load(delta + row_base + rows)[:, None]) * scale
        dk_acc = tl.dot(tl.trans(ds), q_tile, dk_acc, input_precision="ieee")
    tl.store(block(dk + head, cols, D), dk_acc)
    tl.store(block(dv + head, cols, D), dv_acc)


@triton.jit
def queries_kernel(q, k, v, d_out, lse, delta, dq, scale, T: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1) * T * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    q_tile = tl.load(block(q + head, rows, D))
    do_tile = tl.load(block(d_out + head, rows, D))
    row_lse = tl.load(lse + tl.program_id(1) * T + rows)
    row_delta = tl.load(delta + tl.program_id(1) * T + rows)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * B, B):
        cols = start + tl.arange(0, B)
        k_tile = tl.load(block(k + head, cols, D))
        p = probabilities(q_tile, k_tile, row_lse, rows, cols, scale)
        dp = tl.dot(do_tile, tl.trans(tl.load(block(v + head, cols, D))), input_precision="ieee")
        acc = tl.dot(p * (dp - row_delta[:, None]) * scale, k_tile, acc, input_precision="ieee")
    tl.store(block(dq + head, rows, D), acc)


def gradients(q, k, v, d_out):
    scale = q.shape[-1] ** -0.5
    future = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
    scores = (q @ k.mT * scale).masked_fill(future, float("-inf"))
    p = scores.softmax(-1)
    out = p @ v
    delta = (out * d_out).sum(-1)
    ds = p * (d_out @ v.mT - delta[..., None]) * scale
    grads = {"dq": ds @ k, "dk": ds.mT @ q, "dv": p.mT @ d_out}
    return {"out": out, "lse": scores.logsumexp(-1), "delta": delta, **grads}


@case(length=[32, 64])
def flash_backward(length):
    heads, d, b = 2, 16, 16
    shape = (heads, length, d)
    q, k, v, d_out = (Buffer(shape) for _ in range(4))
    out, dq, dk, dv = (empty(shape) for _ in range(4))
    lse, delta = empty(shape[:2]), empty(shape[:2])
    sizes = dict(T=length, D=d, B=b)
    saved = dict(q=q, k=k, v=v, d_out=d_out, lse=lse, delta=delta, scale=d**-0.5, **sizes)
    grid = (length // b, heads)
    return KernelCase(
        forward_kernel,
        grid=grid,
        args=dict(q=q, k=k, v=v, out=out, lse=lse, scale=d**-0.5, **sizes),
        then=[
            Launch(preprocess_kernel, grid, dict(out=out, d_out=d_out, delta=delta, **sizes)),
            Launch(keys_kernel, grid, dict(dk=dk, dv=dv, **saved)),
            Launch(queries_kernel, grid, dict(dq=dq, **saved)),
        ],
        reference=gradients,
        reduction=length * 4,
    )
