"""The same kernel on pointers that are aligned to 16 bytes and on pointers that are not.

Written for the harness. An aligned pointer is specialised, which lets a compiler load several elements
at once; the same binary on a pointer aligned to less reads the wrong elements or traps.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@case(alignment=[(16, 16), (4, 16), (16, 4), (4, 8), (64, 256)], n=[100])
def alignment_of_fp32(alignment, n):
    """(bytes of the input, bytes of the output)."""
    source, target = alignment
    return KernelCase(
        double_kernel,
        grid=(2,),
        args=dict(x=Buffer(n, alignment=source), out=empty(n, alignment=target), n=n, BLOCK=64),
        reference=lambda x: 2 * x,
    )


@case(dtype=["int8", "fp16", "bf16", "fp64"])
def least_alignment(dtype):
    """Aligned to one element, the least an address may be."""
    itemsize = {"int8": 1, "fp16": 2, "bf16": 2, "fp64": 8}[dtype]
    return KernelCase(
        double_kernel,
        grid=(2,),
        args=dict(x=Buffer(128, dtype, alignment=itemsize), out=empty(128, dtype, alignment=itemsize), n=128, BLOCK=64),
        reference=lambda x: 2 * x,
    )


@triton.jit
def neighbours_kernel(x, following, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(following + at, mask=at < n) - tl.load(x + at, mask=at < n)
    tl.store(out + at, value, mask=at < n)


@case(shift=[0, 1, 3, 4])
def two_views_of_one_buffer(shift):
    """The second pointer is the first one some elements on: one is aligned, the other need not be."""
    x = Buffer(132)
    return KernelCase(
        neighbours_kernel,
        grid=(2,),
        args=dict(x=x, following=x.view((128,), offset=shift), out=empty(128), n=128, BLOCK=64),
        reference=lambda x: x[shift : shift + 128] - x[:128],
    )


@triton.jit
def row_kernel(x, out, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * cols + at, -tl.load(x + row * stride + at, mask=at < cols), mask=at < cols)


@case(stride=[64, 65], offset=[0, 1])
def alignment_of_rows(stride, offset):
    """The base or the row stride spoils the alignment of every row but some."""
    return KernelCase(
        row_kernel,
        grid=(5,),
        args=dict(
            x=Buffer((5, 64), strides=(stride, 1), offset=offset, alignment=4 if offset == 1 else 16),
            out=empty((5, 64)),
            cols=64,
            stride=stride,
            BLOCK=64,
        ),
        reference=lambda x: -x,
    )
