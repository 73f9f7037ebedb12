"""Tensor descriptors made on the host and passed as arguments: 1-D to 3-D, tails, padding, a view, one more name.

The kernel sees a shape and strides it was not given by name. Blocks reach past the end of every axis and, shifted,
before its beginning: reads outside give the padding, stores outside are dropped. Rows, row strides and column shifts
are whole multiples of 16 bytes, which copy engines need.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Descriptor, Integers, KernelCase, case, empty


@triton.jit
def host_descriptor_1d_kernel(x, out, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    out.store([start], x.load([start]) + x.load([start + BLOCK]))


@case(dtype=["fp32", "fp16", "int8", "int32"], n=[128, 80])
def host_descriptor_1d(dtype, n):
    """Each block adds the next one, which for the last lies outside altogether."""
    block = 32

    def reference(x):
        return x + torch.nn.functional.pad(x, (0, block))[block:]

    return KernelCase(
        host_descriptor_1d_kernel,
        grid=(triton.cdiv(n, block),),
        args=dict(x=Descriptor(Buffer(n, dtype), [block]), out=Descriptor(empty(n, dtype), [block]), BLOCK=block),
        reference=reference,
    )


@triton.jit
def host_descriptor_2d_kernel(x, out, shift):
    """The block's shape is the descriptor's own."""
    row = tl.program_id(0) * x.block_shape[0]
    col = tl.program_id(1) * x.block_shape[1]
    out.store([row, col], x.load([row - shift, col + shift]))


@case(dtype=["fp32", "bf16", "int16"], shift=[0, 16])
def host_descriptor_2d(dtype, shift):
    return described(dtype, shift, "zero")


@case(dtype=["fp32", "fp16"])
def host_descriptor_nan(dtype):
    return described(dtype, 16, "nan")


def described(dtype: str, shift: int, padding: str) -> KernelCase:
    rows, cols, wide = 19, 48, 64

    def reference(x):
        fill = float("nan") if padding == "nan" else 0
        return torch.nn.functional.pad(x, (0, shift, shift, 0), value=fill)[:rows, shift:]

    return KernelCase(
        host_descriptor_2d_kernel,
        grid=(triton.cdiv(rows, 8), triton.cdiv(cols, 32)),
        args=dict(
            x=Descriptor(Buffer((rows, cols), dtype, strides=(wide, 1)), [8, 32], padding),
            out=Descriptor(empty((rows, cols), dtype, strides=(wide, 1)), [8, 32]),
            shift=shift,
        ),
        reference=reference,
    )


@triton.jit
def host_descriptor_3d_kernel(x, out, BH: tl.constexpr, BW: tl.constexpr):
    at = [tl.program_id(2), tl.program_id(1) * BH, tl.program_id(0) * BW]
    plane = x.load(at).reshape(BH, BW)
    out.store(at, (plane + x.shape[1]).to(out.dtype).reshape(1, BH, BW))


@case(dtype=["fp32", "int16"])
def host_descriptor_3d(dtype):
    """The second plane of `out` begins where the first one's padding ends; `shape` is read in the kernel."""
    n, h, w = 3, 10, 24
    strides = (12 * 32, 32, 1)
    return KernelCase(
        host_descriptor_3d_kernel,
        grid=(triton.cdiv(w, 16), triton.cdiv(h, 4), n),
        args=dict(
            x=Descriptor(Buffer((n, h, w), dtype, strides=strides), [1, 4, 16]),
            out=Descriptor(empty((n, h, w), dtype, strides=strides), [1, 4, 16]),
            BH=4, BW=16,
        ),
        reference=lambda x: x + h,
    )  # fmt: skip


@triton.jit
def window_kernel(window, base, out, stride, BR: tl.constexpr, BC: tl.constexpr):
    """`window` is a view of `base`: what lies outside the view is padding, though the memory is there."""
    row = tl.arange(0, BR)[:, None]
    col = tl.arange(0, BC)[None, :]
    tl.store(out + row * BC + col, window.load([0, 0]) + tl.load(base + row * stride + col))


@case(dtype=["fp32", "fp16"])
def window_of_a_buffer(dtype):
    """A descriptor over a view that starts at a row and a column, beside the whole buffer as a pointer."""
    base = Buffer((16, 64), dtype, fill=Integers())
    window = base.view((5, 24), strides=(64, 1), offset=2 * 64 + 8)

    def reference(window, base):
        return torch.nn.functional.pad(window, (0, 8, 0, 3)) + base[:8, :32]

    return KernelCase(
        window_kernel,
        grid=(1,),
        args=dict(
            window=Descriptor(window, [8, 32]), base=base, out=empty((8, 32), dtype), stride=64, BR=8, BC=32,
        ),
        reference=reference,
    )  # fmt: skip


@triton.jit
def in_place_kernel(source, target):
    """Two descriptors of one buffer, with blocks of different shapes: the larger is loaded, halves are stored."""
    tile = source.load([tl.program_id(0) * 8, 0])
    upper, lower = tile.reshape(2, 4, 32).permute(1, 2, 0).split()
    target.store([tl.program_id(0) * 8, 0], lower)
    target.store([tl.program_id(0) * 8 + 4, 0], upper)


@case(dtype=["fp32", "int8"])
def swapped_in_place(dtype):
    """Each program swaps the halves of its eight rows; the last has four of them and drops those it has not."""
    rows = 20
    buffer = Buffer((rows, 32), dtype)

    def reference(source):
        padded = torch.nn.functional.pad(source, (0, 0, 0, 4)).reshape(3, 2, 4, 32)
        swapped = padded.flip(1).reshape(24, 32)[:rows]
        return {"source": swapped, "target": swapped}

    return KernelCase(
        in_place_kernel,
        grid=(3,),
        args=dict(source=Descriptor(buffer, [8, 32]), target=Descriptor(buffer, [4, 32])),
        reference=reference,
    )


@triton.jit
def tuple_kernel(pair, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, pair[0].load([0]) - pair[1].load([0]))


@case(n=[32, 24])
def tuple_of_descriptors(n):
    return KernelCase(
        tuple_kernel,
        grid=(1,),
        args=dict(pair=[Descriptor(Buffer(n), [32]), Descriptor(Buffer(n), [32])], out=empty(32), BLOCK=32),
        reference=lambda pair: torch.nn.functional.pad(pair[0] - pair[1], (0, 32 - n)),
    )
