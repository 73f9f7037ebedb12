"""`tl.map_elementwise`: a scalar function with branches of its own, run on each element of a tile.

Elements of one tile take different branches; two results come back, and with `pack` two elements go in.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def compare(x, y):
    if x < y:
        return -1, y - x
    if x == y:
        return 0, y - x  # the type of the other branches, whichever it is
    return 1, x - y


@triton.jit
def compare_pairs(x0, x1, y0, y1):
    sign0, gap0 = compare(x0, y0)
    sign1, gap1 = compare(x1, y1)
    return sign0, sign1, gap0, gap1


@triton.jit
def map_elementwise_kernel(x, y, sign, gap, PACK: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if PACK == 1:
        signs, gaps = tl.map_elementwise(compare, tl.load(x + lane), tl.load(y + lane))
    else:
        signs, gaps = tl.map_elementwise(compare_pairs, tl.load(x + lane), tl.load(y + lane), pack=2)
    tl.store(sign + lane, signs)
    tl.store(gap + lane, gaps)


@case(dtype=["int32", "fp32"], pack=[1, 2])
def map_elementwise(dtype, pack):
    n = 512

    def reference(x, y):
        return {"sign": (x - y).sign().int(), "gap": (x - y).abs()}

    return KernelCase(
        map_elementwise_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(n, dtype, fill=Integers()), y=Buffer(n, dtype, fill=Integers()),
            sign=empty(n, "int32"), gap=empty(n, dtype),
            PACK=pack, BLOCK=n // 2,
        ),
        reference=reference,
    )  # fmt: skip
