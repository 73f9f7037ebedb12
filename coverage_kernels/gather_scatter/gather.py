"""Loads at computed indices: embeddings, index_select, `torch.gather`, `tl.gather`, sparse rows.

Written for the harness. Indices repeat, come out of order, are negative where torch allows it, and are
int32 or int64; masked lanes hold indices that must never be followed.
"""

import itertools

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Permutation, Values, case, empty


@triton.jit
def embedding_kernel(index, table, out, width, row_stride, padding, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    row = tl.load(index + token)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(table + row * row_stride + at, mask=(at < width) & (row != padding), other=0.0)
    tl.store(out + token * width + at, value, mask=at < width)


@case(index=["int32", "int64"], dtype=["bf16"], width=[16, 50])
def embedding(index, dtype, width):
    """Row 3 is the padding row and reads as zero; the table's rows are padded."""

    def reference(index, table):
        rows = table[index.long()]
        return torch.where((index == 3)[:, None], 0.0, rows)

    return KernelCase(
        embedding_kernel,
        grid=(20, triton.cdiv(width, 32)),
        args=dict(
            index=Buffer(20, index, fill=Integers(0, 11)),
            table=Buffer((11, width), dtype, strides=(width + 6, 1)),
            out=empty((20, width), dtype),
            width=width,
            row_stride=width + 6,
            padding=3,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def wrapped_index_kernel(index, table, out, n, rows, cols, BLOCK: tl.constexpr):
    """As Inductor indexes: negative indices count from the end, and an assertion bounds them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    picked = tl.load(index + at // cols, mask=inside, other=0)
    wrapped = tl.where(picked < 0, picked + rows, picked)
    tl.device_assert(((wrapped >= 0) & (wrapped < rows)) | ~inside, "index out of bounds")
    tl.store(out + at, tl.load(table + wrapped * cols + at % cols, mask=inside), mask=inside)


@case(dtype=["fp64", "int16", "int1"])
def negative_indices(dtype):
    return KernelCase(
        wrapped_index_kernel,
        grid=(4,),
        args=dict(
            index=Buffer(17, "int64", fill=Integers(-9, 9)),
            table=Buffer((9, 12), dtype),
            out=empty((17, 12), dtype),
            n=17 * 12,
            rows=9,
            cols=12,
            BLOCK=64,
        ),
        reference=lambda index, table: table[index],
    )


@triton.jit
def select_columns_kernel(x, index, out, cols, picked, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    column = tl.load(index + at, mask=at < picked, other=0)
    tl.store(out + row * picked + at, tl.load(x + row * cols + column, mask=at < picked), mask=at < picked)


@case(picked=[1, 13, 16])
def index_select_columns(picked):
    return KernelCase(
        select_columns_kernel,
        grid=(6,),
        args=dict(
            x=Buffer((6, 20)),
            index=Buffer(picked, "int32", fill=Integers(0, 20)),
            out=empty((6, picked)),
            cols=20,
            picked=picked,
            BLOCK=16,
        ),
        reference=lambda x, index: x[:, index.long()],
    )


@triton.jit
def gather_elements_kernel(x, index, out, rows, x_cols, cols, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    inside = (m < rows) & (n < cols)
    picked = tl.load(index + m * cols + n, mask=inside, other=0)
    address = picked * x_cols + n if AXIS == 0 else m * x_cols + picked
    tl.store(out + m * cols + n, tl.load(x + address, mask=inside), mask=inside)


@case(axis=[0, 1])
def gather_elements(axis):
    """torch.gather: the index has one entry for every element of the output."""
    shape = (10, 12)
    return KernelCase(
        gather_elements_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((10, 14)),
            index=Buffer(shape, "int64", fill=Integers(0, 10 if axis == 0 else 14)),
            out=empty(shape),
            rows=10,
            x_cols=14,
            cols=12,
            AXIS=axis,
            M=16,
            N=16,
        ),
        reference=lambda x, index: x.gather(axis, index),
    )


@triton.jit
def tile_gather_kernel(
    x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr
):
    """`tl.gather` picks among lanes of a tile in registers."""
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(out + at, tl.gather(tile, tl.load(index + at), AXIS))


@case(axis=[0, 1], longer=[False, True], dtype=["fp16", "int64"])
def tile_gather(axis, longer, dtype):
    """The index is as long as the tile along the axis, or twice as long."""
    shape = (16, 32)
    picked = tuple(extent * 2 if longer and i == axis else extent for i, extent in enumerate(shape))
    return KernelCase(
        tile_gather_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(shape, dtype),
            index=Buffer(picked, "int32", fill=Integers(0, shape[axis])),
            out=empty(picked, dtype),
            AXIS=axis,
            M=16,
            N=32,
            P=picked[0],
            Q=picked[1],
        ),
        reference=lambda x, index: x.gather(axis, index.long()),
    )


@case(dtype=["fp64", "bf16", "int8", "int16"])
def tile_gather_of_each_width(dtype):
    return tile_gather.build(0, False, dtype)


@triton.jit
def sparse_rows_kernel(starts, columns, values, x, out, BLOCK: tl.constexpr):
    """A CSR matrix times a vector: rows differ in length, so do the loops of the programs."""
    row = tl.program_id(0)
    begin = tl.load(starts + row)
    end = tl.load(starts + row + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < end
        column = tl.load(columns + at, mask=inside, other=0)
        total += tl.load(values + at, mask=inside, other=0.0) * tl.load(x + column, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0))


@case(starts=[(0, 0, 3, 40, 41, 41, 64), (0, 64), (0, 1, 2, 3)])
def sparse_rows(starts):
    """Empty rows, one of 37 elements against a block of 16, and everything in one row."""
    rows = len(starts) - 1

    def reference(starts, columns, values, x):
        products = values * x[columns.long()]
        return torch.stack([products[a:b].sum() for a, b in itertools.pairwise(starts)])

    return KernelCase(
        sparse_rows_kernel,
        grid=(rows,),
        args=dict(
            starts=Buffer(rows + 1, "int32", fill=Values(starts)),
            columns=Buffer(64, "int32", fill=Integers(0, 30)),
            values=Buffer(64),
            x=Buffer(30),
            out=empty(rows),
            BLOCK=16,
        ),
        reference=reference,
        reduction=64,
    )


@triton.jit
def embedding_bag_kernel(index, offsets, table, out, n, bags, width, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    bag = tl.program_id(0)
    begin = tl.load(offsets + bag)
    end = tl.load(offsets + bag + 1, mask=bag + 1 < bags, other=n)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(begin, end):
        row = tl.load(index + i)
        total += tl.load(table + row * width + at, mask=at < width, other=0.0)
    if MEAN:
        total = total / tl.maximum(end - begin, 1)
    tl.store(out + bag * width + at, total, mask=at < width)


@case(mode=["sum", "mean"])
def embedding_bag(mode):
    """Bags of 3, 0, 1 and 6 rows, the last bag's end being the number of indices itself."""
    return KernelCase(
        embedding_bag_kernel,
        grid=(4,),
        args=dict(
            index=Buffer(10, "int64", fill=Integers(0, 7)),
            offsets=Buffer(4, "int64", fill=Values((0, 3, 3, 4))),
            table=Buffer((7, 20)),
            out=empty((4, 20)),
            n=10,
            bags=4,
            width=20,
            MEAN=mode == "mean",
            BLOCK=32,
        ),
        reference=lambda index, offsets, table: functional.embedding_bag(index, table, offsets, mode=mode),
        reduction=6,
    )


@triton.jit
def pointer_chase_kernel(successor, out, steps):
    """Each load's address is the last load's value."""
    program = tl.program_id(0)
    place = program
    for _ in range(steps):
        place = tl.load(successor + place)
    tl.store(out + program, place)


@case(steps=[0, 1, 10])
def pointer_chase(steps):
    def reference(successor):
        place = torch.arange(32)
        for _ in range(steps):
            place = successor.long()[place]
        return place

    return KernelCase(
        pointer_chase_kernel,
        grid=(32,),
        args=dict(successor=Buffer(32, "int32", fill=Permutation()), out=empty(32, "int32"), steps=steps),
        reference=reference,
    )


@triton.jit
def one_hot_kernel(index, out, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * classes + at, (at == tl.load(index + row)).to(out.dtype.element_ty), mask=at < classes)


@case(dtype=["int64", "fp32", "int1"])
def one_hot(dtype):
    def reference(index, out):
        return functional.one_hot(index, 10).to(out.dtype)

    return KernelCase(
        one_hot_kernel,
        grid=(12,),
        args=dict(index=Buffer(12, "int64", fill=Integers(0, 10)), out=empty((12, 10), dtype), classes=10, BLOCK=16),
        reference=reference,
    )
