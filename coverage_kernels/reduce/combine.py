"""`tl.reduce` with combine functions of one's own: products, Welford triples, pairs, packed keys.

Written for the harness after Inductor's `welford` and `prod` helpers. The functions are associative
and commutative, as a tree over lanes needs.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Launch, Normal, Tolerance, Values, case, empty


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def product_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.reduce(tl.load(x + row * cols + at, mask=at < cols, other=1), 0, multiply))


@case(dtype=["fp32", "fp64", "int32"], cols=[1, 20])
def product(dtype, cols):
    """Powers of two and signs, so that floats are exact and int32 does not leave its range."""
    return KernelCase(
        product_kernel,
        grid=(4,),
        args=dict(x=Buffer((4, cols), dtype, fill=Values((1, 2, -1, 1, 2))), out=empty(4, dtype), cols=cols, BLOCK=32),
        reference=lambda x: x.prod(1),
    )


@triton.jit
def welford_combine(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@triton.jit
def welford_kernel(x, mean_out, var_out, cols, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr, rows):
    """Per-lane running triples over the loop, then one reduction of three operands across the block."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    mean = tl.zeros([BLOCK_M, BLOCK], tl.float32)
    m2 = tl.zeros([BLOCK_M, BLOCK], tl.float32)
    weight = tl.zeros([BLOCK_M, BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        n = start + tl.arange(0, BLOCK)[None, :]
        inside = (m < rows) & (n < cols)
        value = tl.load(x + m * cols + n, mask=inside, other=0.0).to(tl.float32)
        new_weight = weight + 1.0
        delta = value - mean
        new_mean = mean + delta / new_weight
        m2 = tl.where(inside, m2 + delta * (value - new_mean), m2)
        mean = tl.where(inside, new_mean, mean)
        weight = tl.where(inside, new_weight, weight)
    row_mean, row_m2, row_weight = tl.reduce((mean, m2, weight), 1, welford_combine)
    at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(mean_out + at, row_mean, mask=at < rows)
    tl.store(var_out + at, row_m2 / row_weight, mask=at < rows)


@case(dtype=["fp32", "fp16"], cols=[5, 64, 200])
def welford(dtype, cols):
    """The data sits far from zero, where a sum of squares would lose the variance. Rows: 10 of 3 x 4."""
    return KernelCase(
        welford_kernel,
        grid=(3,),
        args=dict(
            x=Buffer((10, cols), dtype, fill=Normal(1.0, 50.0)),
            mean_out=empty(10),
            var_out=empty(10),
            cols=cols,
            BLOCK_M=4,
            BLOCK=64,
            rows=10,
        ),
        reference=lambda x: {"mean_out": x.mean(1), "var_out": x.var(1, unbiased=False)},
        reduction=cols,
        tolerance=Tolerance("differences from a mean of 50 keep 18 of 24 bits", ulp=64, relative=2e-5),
    )


@triton.jit
def nearest(distance_a, index_a, payload_a, distance_b, index_b, payload_b):
    take_a = (distance_a < distance_b) | ((distance_a == distance_b) & (index_a < index_b))
    return (
        tl.where(take_a, distance_a, distance_b),
        tl.where(take_a, index_a, index_b),
        tl.where(take_a, payload_a, payload_b),
    )


@triton.jit
def nearest_kernel(points, payload, query, out, index_out, n, BLOCK: tl.constexpr):
    """Operands of three dtypes in one reduction."""
    program = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    gap = tl.abs(tl.load(points + at, mask=at < n, other=float("inf")) - tl.load(query + program))
    carried = tl.load(payload + at, mask=at < n, other=0)
    _, index, chosen = tl.reduce((gap, at, carried), 0, nearest)
    tl.store(out + program, chosen)
    tl.store(index_out + program, index)


@case(n=[1, 50, 64])
def nearest_point(n):
    def reference(points, payload, query):
        # Equal points tie; argmin of NumPy finds the first.
        index = torch.from_numpy((points[None, :] - query[:, None]).abs().numpy().argmin(1))
        return {"out": payload[index], "index_out": index}

    return KernelCase(
        nearest_kernel,
        grid=(12,),
        args=dict(
            points=Buffer(n, fill=Integers(-20, 20)),
            payload=Buffer(n, "int64", fill=Integers(-(2**40), 2**40)),
            query=Buffer(12, fill=Integers(-20, 20)),
            out=empty(12, "int64"),
            index_out=empty(12, "int32"),
            n=n,
            BLOCK=64,
        ),
        reference=reference,
    )


@triton.jit
def complex_product(re_a, im_a, re_b, im_b):
    return re_a * re_b - im_a * im_b, re_a * im_b + im_a * re_b


@triton.jit
def complex_product_kernel(re, im, out, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    tile = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    real, imaginary = tl.reduce((tl.load(re + tile), tl.load(im + tile)), AXIS, complex_product)
    kept: tl.constexpr = B if AXIS == 0 else A
    at = tl.arange(0, kept)
    tl.store(out + 2 * at, real)
    tl.store(out + 2 * at + 1, imaginary)


@case(axis=[0, 1], dtype=["int32", "int64"])
def complex_products(axis, dtype):
    """Gaussian integers: exact, both operands coupled, over either axis of a tile."""
    kept = 8 if axis == 0 else 4

    def reference(re, im):
        product = torch.complex(re.double(), im.double()).prod(axis)
        return torch.view_as_real(product).round().long()

    return KernelCase(
        complex_product_kernel,
        grid=(1,),
        args=dict(
            re=Buffer((4, 8), dtype, fill=Integers(-2, 3)),
            im=Buffer((4, 8), dtype, fill=Integers(-2, 3)),
            out=empty((kept, 2), dtype),
            AXIS=axis,
            A=4,
            B=8,
        ),
        reference=reference,
    )


@triton.jit
def partial_sums_kernel(x, partial, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + program, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def final_sum_kernel(partial, out, programs, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(partial + at, mask=at < programs, other=0.0), axis=0))


@case(n=[100, 1000])
def sum_in_two_kernels(n):
    """Inductor's split reduction: the second launch reads what the first one wrote."""
    partial, out, programs = empty(triton.cdiv(n, 64)), empty(1), triton.cdiv(n, 64)
    return KernelCase(
        partial_sums_kernel,
        grid=(programs,),
        args=dict(x=Buffer(n), partial=partial, n=n, BLOCK=64),
        then=[Launch(final_sum_kernel, (1,), dict(partial=partial, out=out, programs=programs, BLOCK=16))],
        reference=lambda x: {
            "partial": torch.stack([part.sum() for part in x.split(64)]),
            "out": x.sum().reshape(1),
        },
        reduction=n,
    )
