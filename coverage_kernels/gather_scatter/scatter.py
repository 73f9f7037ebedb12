"""Stores and atomics at computed indices: what is written, what is added, and what is left alone.

Written for the harness. Outputs that a scatter does not cover start as poison or as data, never as
zero, so an element that was missed or overwritten shows. Sums are of whole numbers, so that the order
in which programs add does not matter.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, Launch, Permutation, Values, case, empty


@triton.jit
def index_put_kernel(index, values, out, rows, width, BLOCK: tl.constexpr):
    source = tl.program_id(0)
    row = tl.load(index + source)
    row = tl.where(row < 0, row + rows, row)
    at = tl.arange(0, BLOCK)
    value = tl.load(values + source * width + at, mask=at < width)
    tl.store(out + row * width + at, value, mask=at < width)


@case(dtype=["fp32", "fp16", "int64"])
def index_put(dtype):
    """Five of twelve rows are replaced; the other seven keep what they had."""
    rows = (7, 0, -1, 3, 5)

    def reference(values, out):
        result = out.clone()
        result[list(rows)] = values
        return {"out": result}

    return KernelCase(
        index_put_kernel,
        grid=(5,),
        args=dict(
            index=Buffer(5, "int64", fill=Values(rows)),
            values=Buffer((5, 20), dtype),
            out=Buffer((12, 20), dtype),
            rows=12,
            width=20,
            BLOCK=32,
        ),
        reference=reference,
    )


@case(width=[20, 32])
def index_put_into_nothing(width):
    """The same kernel into a buffer nobody filled: the seven rows must still be poison afterwards."""

    def reference(index, values, out):
        result = out.clone()
        result[index] = values.to(out.dtype)
        return result

    return KernelCase(
        index_put_kernel,
        grid=(5,),
        args=dict(
            index=Buffer(5, "int64", fill=Values((7, 0, 11, 3, 5))),
            values=Buffer((5, width), "int32"),
            out=empty((12, width), "int32"),
            rows=12,
            width=width,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def index_add_kernel(index, values, out, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row = tl.load(index + at // width, mask=inside, other=0)
    tl.atomic_add(out + row * width + at % width, tl.load(values + at, mask=inside, other=0), mask=inside)


@case(dtype=["fp32", "fp64", "fp16", "int32", "int64"])
def index_add(dtype):
    """Thirty rows added into seven: rows repeat inside a program and across programs."""
    n = 30 * 10
    return KernelCase(
        index_add_kernel,
        grid=(triton.cdiv(n, 64),),
        args=dict(
            index=Buffer(30, "int64", fill=Integers(0, 7)),
            values=Buffer((30, 10), dtype, fill=Integers()),
            out=Buffer((7, 10), dtype, fill=Integers()),
            n=n,
            width=10,
            BLOCK=64,
        ),
        reference=lambda index, values, out: {"out": out.index_add(0, index, values)},
    )


@triton.jit
def scatter_extreme_kernel(index, values, low, high, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    place = tl.load(index + at, mask=inside, other=0)
    value = tl.load(values + at, mask=inside, other=0)
    tl.atomic_max(high + place, value, mask=inside)
    tl.atomic_min(low + place, value, mask=inside)


@case(dtype=["int32", "int64", "uint32", "fp32"])
def scatter_extremes(dtype):
    """scatter_reduce with amin and amax; floats go through integer atomics, split by sign."""
    start = Integers(3, 5) if dtype.startswith("u") else Integers(-2, 3)

    def reduced(start, index, values, mode):
        wide = torch.int64 if not start.dtype.is_floating_point else start.dtype
        return start.to(wide).scatter_reduce(0, index.long(), values.to(wide), mode)

    return KernelCase(
        scatter_extreme_kernel,
        grid=(4,),
        args=dict(
            index=Buffer(200, "int32", fill=Integers(0, 13)),
            values=Buffer(200, dtype),
            low=Buffer(13, dtype, fill=start),
            high=Buffer(13, dtype, fill=start),
            n=200,
            BLOCK=64,
        ),
        reference=lambda index, values, low, high: {
            "low": reduced(low, index, values, "amin"),
            "high": reduced(high, index, values, "amax"),
        },
    )


@triton.jit
def histogram_kernel(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """A histogram of each block in registers, then one atomic a bin."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@case(n=[1, 500], bins=[2, 128])
def histogram(n, bins):

    return KernelCase(
        histogram_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(
            x=Buffer(n, "int32", fill=Integers(0, bins)),
            out=Buffer(bins, "int32", fill=Constant(0)),
            n=n,
            BINS=bins,
            BLOCK=128,
        ),
        reference=lambda x: {"out": torch.bincount(x, minlength=bins)},
    )


@triton.jit
def histogram_of_a_block_kernel(x, out, BINS: tl.constexpr, BLOCK: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), BINS)
    tl.store(out + tl.program_id(0) * BINS + tl.arange(0, BINS), counts)


@case(bins=[8, 64])
def histogram_of_a_block(bins):
    """No mask and no atomic; with 64 bins most are empty and must be stored as zero."""
    return KernelCase(
        histogram_of_a_block_kernel,
        grid=(3,),
        args=dict(x=Buffer((3, 64), "int32", fill=Integers(0, 8)), out=empty((3, bins), "int32"), BINS=bins, BLOCK=64),
        reference=lambda x: torch.stack([torch.bincount(row, minlength=bins) for row in x]),
    )


@triton.jit
def scatter_rows_kernel(permutation, x, out, width, out_stride, BLOCK: tl.constexpr):
    """The inverse of a gather: row i goes where the permutation says."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    target = tl.load(permutation + row)
    value = tl.load(x + row * width + at, mask=at < width)
    tl.store(out + target * out_stride + at, value, mask=at < width)


@case(dtype=["fp32", "bf16", "int8"])
def scatter_rows(dtype):
    def reference(permutation, x):
        result = torch.empty_like(x)
        result[permutation.long()] = x
        return result

    return KernelCase(
        scatter_rows_kernel,
        grid=(16,),
        args=dict(
            permutation=Buffer(16, "int32", fill=Permutation()),
            x=Buffer((16, 24), dtype),
            out=empty((16, 24), dtype, strides=(31, 1)),
            width=24,
            out_stride=31,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def even_rows_kernel(x, out, width, BLOCK: tl.constexpr):
    row = 2 * tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * width + at, tl.load(x + row * width + at, mask=at < width) + 1, mask=at < width)


@triton.jit
def odd_rows_kernel(x, out, width, BLOCK: tl.constexpr):
    row = 2 * tl.program_id(0) + 1
    at = tl.arange(0, BLOCK)
    tl.store(out + row * width + at, tl.load(x + row * width + at, mask=at < width) * 2, mask=at < width)


@case(rows=[2, 7, 10])
def two_kernels_fill_one_buffer(rows):
    """Between the launches the buffer is half written: only after both may it be compared."""
    x, out = Buffer((rows, 20)), empty((rows, 20))
    arguments = dict(x=x, out=out, width=20, BLOCK=32)

    def reference(x):
        even = (torch.arange(rows) % 2 == 0)[:, None]
        return torch.where(even, x + 1, x * 2)

    return KernelCase(
        even_rows_kernel,
        grid=((rows + 1) // 2,),
        args=arguments,
        then=[Launch(odd_rows_kernel, (rows // 2,), arguments)],
        reference=reference,
    )


@triton.jit
def fill_kernel(out, n, value, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.full([BLOCK], value, out.dtype.element_ty), mask=at < n)


@case(dtype=["int32", "fp32"])
def fill_then_count(dtype):
    """A memset and a bincount in two launches: the second adds to what the first stored."""
    out = empty(10, dtype)
    x = Buffer(300, "int32", fill=Integers(0, 10))
    ones = Buffer(300, dtype, fill=Integers(1, 4))
    return KernelCase(
        fill_kernel,
        grid=(1,),
        args=dict(out=out, n=10, value=0, BLOCK=16),
        then=[Launch(index_add_kernel, (5,), dict(index=x, values=ones, out=out, n=300, width=1, BLOCK=64))],
        reference=lambda index, values: torch.zeros(10, dtype=values.dtype).index_add(0, index, values),
    )


@triton.jit
def transposed_scatter_kernel(x, out, rows, cols, BLOCK: tl.constexpr):
    """Neighbouring lanes store far apart: one program writes one element into each row."""
    column = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + at * cols + column, tl.load(x + column * rows + at, mask=at < rows), mask=at < rows)


@case(shape=[(20, 9), (32, 32), (1, 5)])
def transposed_scatter(shape):
    rows, cols = shape
    return KernelCase(
        transposed_scatter_kernel,
        grid=(cols,),
        args=dict(x=Buffer((cols, rows), "int16"), out=empty(shape, "int16"), rows=rows, cols=cols, BLOCK=32),
        reference=lambda x: x.T,
    )
