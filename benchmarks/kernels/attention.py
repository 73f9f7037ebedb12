"""Flash attention, forward: online softmax over blocks of keys."""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark
from harness.cases import Buffer, KernelCase, Tolerance, empty

BLOCK_M, BLOCK_N = 128, 64
# torch's own fp32 kernel needs it as well.
CANCELLING = Tolerance("weighted sums of values of both signs cancel; their terms' errors do not", absolute=2e-6)


@triton.jit
def attention_kernel(q, k, v, out, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * T * D
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    dim = tl.arange(0, D)
    q_tile = tl.load(q + head + row[:, None] * D + dim[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        col = start + tl.arange(0, BN)
        k_tile = tl.load(k + head + col[None, :] * D + dim[:, None])
        scores = tl.dot(q_tile, k_tile, input_precision="ieee") * (scale * 1.4426950408889634)
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(weights, 1)
        v_tile = tl.load(v + head + col[:, None] * D + dim[None, :])
        acc = tl.dot(weights, v_tile, acc * shrink[:, None], input_precision="ieee")
        top = new_top
    tl.store(out + head + row[:, None] * D + dim[None, :], acc / total[:, None])


def attention(scale: int) -> KernelCase:
    batch, heads, length, width = 4 * scale, 8, 512, 64
    shape = (batch, heads, length, width)
    return KernelCase(
        attention_kernel,
        grid=(length // BLOCK_M, batch * heads),
        args=dict(
            q=Buffer(shape), k=Buffer(shape), v=Buffer(shape), out=empty(shape),
            scale=width**-0.5, T=length, D=width, BM=BLOCK_M, BN=BLOCK_N,
        ),
        reference=lambda q, k, v: torch.softmax(q @ k.mT * width**-0.5, -1) @ v,
        reduction=length,
        tolerance=CANCELLING,
    )  # fmt: skip


ATTENTION = Benchmark(
    "attention",
    "4x8x512x64 fp32",
    attention,
    lambda q, k, v: lambda: {"out": functional.scaled_dot_product_attention(q, k, v)},
)
