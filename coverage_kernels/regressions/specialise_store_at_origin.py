"""A tile whose row and column are one value is stored through a descriptor, after a warp-specialised loop.

Hopper's `nvgpu-warp-specialization` splits the rows of the tile over two groups of warps. It moves what the second
one's row is computed from, and where the column is the same SSA value, such as the constant 0, it moves the column as
well: the second half of the rows is stored beside where it belongs, or not at all. Silent. With another column each
half is in its place. 3.4.0 to 3.9.0, and an H200 with 3.6.0 gives what the bisector's execution gives; no report of
it is known.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case


@triton.jit
def specialise_store_at_origin_kernel(
    a, b, c, K, COLUMN: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr
):
    rows = tl.make_tensor_descriptor(a, [M, K], [K, 1], [M, BK])
    columns = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, N])
    out = tl.make_tensor_descriptor(c, [M, 2 * N], [2 * N, 1], [M, N])
    total = tl.zeros((M, N), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        total = tl.dot(rows.load([0, k]), columns.load([k, 0]), total)
    out.store([0, COLUMN], total)


@case(column=[0, 64])
def specialise_store_at_origin(column):
    m, n, k = 128, 64, 128

    def reference(a, b, c):
        c[:, column : column + n] = a @ b
        return {"c": c}

    small = Integers(-3, 3)
    return KernelCase(
        specialise_store_at_origin_kernel,
        grid=(1,),
        args=dict(
            a=Buffer((m, k), "fp16", fill=small),
            b=Buffer((k, n), "fp16", fill=small),
            c=Buffer((m, 2 * n), "fp32", fill=small),
            K=k,
            COLUMN=column,
            M=m,
            N=n,
            BK=64,
        ),
        reference=reference,
        reduction=k,
    )
