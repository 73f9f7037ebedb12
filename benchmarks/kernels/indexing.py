"""Moving data by index: rows added where an index says (atomics), an embedding, a transposition."""

import torch
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, Constant, Integers, KernelCase, empty

TILE = 64


@triton.jit
def index_add_kernel(x, index, out, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    col = tl.arange(0, BC)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    target = tl.load(index + row, mask=row < rows, other=0)
    value = tl.load(x + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.atomic_add(out + target[:, None] * cols + col[None, :], value, mask=inside)


@triton.jit
def embedding_kernel(index, table, out, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    row = tl.load(index + token)
    at = tl.arange(0, BLOCK)
    tl.store(out + token * width + at, tl.load(table + row * width + at, mask=at < width), mask=at < width)


@triton.jit
def transpose_kernel(x, out, rows, cols, TILE: tl.constexpr):
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    col = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + row[:, None] * cols + col[None, :])
    tl.store(out + col[:, None] * rows + row[None, :], tl.trans(tile))


def index_add(scale: int) -> KernelCase:
    rows, cols, targets = 16384 * scale, 128, 4096
    return KernelCase(
        index_add_kernel,
        grid=(blocks(rows, 16),),
        args=dict(
            x=Buffer((rows, cols)),
            index=Buffer(rows, "int64", fill=Integers(0, targets)),
            out=Buffer((targets, cols), fill=Constant(0)),
            rows=rows,
            cols=cols,
            BR=16,
            BC=128,
        ),
        reference=lambda x, index, out: {"out": out.index_add(0, index, x)},
        reduction=32,  # no target is named more often
    )


def embedding(scale: int) -> KernelCase:
    tokens, rows, width = 8192 * scale, 32000, 768
    return KernelCase(
        embedding_kernel,
        grid=(tokens,),
        args=dict(
            index=Buffer(tokens, "int64", fill=Integers(0, rows)),
            table=Buffer((rows, width)),
            out=empty((tokens, width)),
            width=width,
            BLOCK=1024,
        ),
        reference=lambda index, table: table[index],
    )


def transpose(scale: int) -> KernelCase:
    rows, cols = 4096 * scale, 4096
    return KernelCase(
        transpose_kernel,
        grid=(cols // TILE, rows // TILE),
        args=dict(x=Buffer((rows, cols)), out=empty((cols, rows)), rows=rows, cols=cols, TILE=TILE),
        reference=lambda x: x.mT,
    )


INDEX_ADD = Benchmark(
    "index_add",
    "16384x128 fp32 into 4096 rows",
    index_add,
    lambda x, index, out: lambda: out.index_add_(0, index, x),
    "atomics are applied in program order on one thread, so that sums repeat exactly; torch adds on all of them.",
)
EMBEDDING = Benchmark(
    "embedding",
    "8192 of 32000x768 fp32",
    embedding,
    lambda index, table, out: lambda: torch.index_select(table, 0, index, out=out),
)
TRANSPOSE = Benchmark(
    "transpose",
    "4096x4096 fp32",
    transpose,
    lambda x, out: lambda: out.copy_(x.mT),
    "a batch of tiles is one strided copy each way, which does not stay within a tile's cache lines as torch's does.",
)
