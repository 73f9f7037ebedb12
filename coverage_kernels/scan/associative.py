"""`tl.associative_scan` with functions that do not commute: the left operand is the earlier one.

Written for the harness. Covers one to four operands, int1, both directions, and the scans that models
use: first-order recurrence, running maximum with its index, segments, log-sum-exp.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Tolerance, Uniform, Values, case, empty


@triton.jit
def last_set(a, b):
    return tl.where(b != 0, b, a)


@triton.jit
def carry_forward_kernel(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.associative_scan(tl.load(x + at), AXIS, last_set, reverse=REVERSE))


@case(axis=[0, 1], reverse=[False, True], dtype=["fp16", "bf16", "int8", "int16"])
def carry_forward(axis, reverse, dtype):
    """Zeros take the last value before them (behind them, reversed)."""

    def reference(x):
        rows = x.flip(axis) if reverse else x
        rows = rows.movedim(axis, 0).clone()
        for i in range(1, rows.shape[0]):
            rows[i] = torch.where(rows[i] != 0, rows[i], rows[i - 1])
        rows = rows.movedim(0, axis)
        return rows.flip(axis) if reverse else rows

    return KernelCase(
        carry_forward_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((8, 32), dtype, fill=Values((0, 3, 0, 0, -1, 0, 0, 0, 7, 0, 5))),
            out=empty((8, 32), dtype),
            AXIS=axis,
            REVERSE=reverse,
            M=8,
            N=32,
        ),
        reference=reference,
    )


@triton.jit
def compose_affine(a1, b1, a2, b2):
    """First x -> a1 x + b1, then x -> a2 x + b2."""
    return a2 * a1, a2 * b1 + b2


@triton.jit
def recurrence_kernel(a, b, initial, out, steps, width, BLOCK_T: tl.constexpr, BLOCK_W: tl.constexpr):
    """h[t] = a[t] h[t-1] + b[t] along axis 0, the state carried from block to block of time."""
    w = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    state = tl.load(initial + w, mask=w < width, other=0.0)
    for start in range(0, steps, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)[:, None]
        inside = (t < steps) & (w[None, :] < width)
        at = t * width + w[None, :]
        decay = tl.load(a + at, mask=inside, other=1.0)
        value = tl.load(b + at, mask=inside, other=0.0)
        decays, values = tl.associative_scan((decay, value), 0, compose_affine)
        states = decays * state[None, :] + values
        tl.store(out + at, states, mask=inside)
        last = tl.arange(0, BLOCK_T)[:, None] == BLOCK_T - 1
        state = tl.sum(tl.where(last, states, 0.0), axis=0)


@case(steps=[1, 16, 50], dtype=["fp32", "fp64"])
def first_order_recurrence(steps, dtype):
    width = 20

    def reference(a, b, initial):
        states, state = [], initial
        for t in range(steps):
            state = a[t] * state + b[t]
            states.append(state)
        return torch.stack(states)

    return KernelCase(
        recurrence_kernel,
        grid=(2,),
        args=dict(
            a=Buffer((steps, width), dtype, fill=Uniform(0.2, 0.95)),
            b=Buffer((steps, width), dtype),
            initial=Buffer(width, dtype),
            out=empty((steps, width), dtype),
            steps=steps,
            width=width,
            BLOCK_T=16,
            BLOCK_W=16,
        ),
        reference=reference,
        reduction=steps,
        tolerance=Tolerance("the scan multiplies decays in another order than the loop", ulp=16, absolute=2e-6),
    )


@triton.jit
def parity(a, b):
    return a ^ b


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def boolean_scan_kernel(x, seen, odd, cols, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    flag = tl.load(x + row * cols + at, mask=at < cols, other=0) != 0
    tl.store(seen + row * cols + at, tl.associative_scan(flag, 0, either, reverse=REVERSE), mask=at < cols)
    tl.store(odd + row * cols + at, tl.associative_scan(flag, 0, parity, reverse=REVERSE), mask=at < cols)


@case(source=["int1", "int32"], reverse=[False, True])
def boolean_scan(source, reverse):
    """int1 operands: whether a flag was seen, and whether their number is odd."""

    def reference(x):
        count = (x != 0).int()
        count = count.flip(1).cumsum(1).flip(1) if reverse else count.cumsum(1)
        return {"seen": count > 0, "odd": count % 2 == 1}

    return KernelCase(
        boolean_scan_kernel,
        grid=(5,),
        args=dict(
            x=Buffer((5, 30), source, fill=Values((0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0))),
            seen=empty((5, 30), "int1"),
            odd=empty((5, 30), "int1"),
            cols=30,
            REVERSE=reverse,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def later_maximum(a_value, a_index, b_value, b_index):
    """NaN is the greatest; of equal values the later one wins, as in torch.cummax."""
    take_b = (b_value >= a_value) | (b_value != b_value)
    return tl.where(take_b, b_value, a_value), tl.where(take_b, b_index, a_index)


@triton.jit
def cummax_kernel(x, out, indices, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
    best, index = tl.associative_scan((value, at.to(tl.int64)), 0, later_maximum)
    tl.store(out + row * cols + at, best, mask=at < cols)
    tl.store(indices + row * cols + at, index, mask=at < cols)


@case(nan=[False, True], cols=[7, 32])
def cummax_with_index(nan, cols):
    pattern = (1.0, 3.0, 3.0, -2.0, 5.0, float("nan") if nan else 5.0, 9.0, -1.0, 0.0)

    def reference(x):
        values, indices = x.cummax(1)
        return {"out": values, "indices": indices}

    return KernelCase(
        cummax_kernel,
        grid=(4,),
        args=dict(
            x=Buffer((4, cols), fill=Values(pattern)),
            out=empty((4, cols)),
            indices=empty((4, cols), "int64"),
            cols=cols,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def within_segment(a_start, a_sum, b_start, b_sum):
    return a_start | b_start, tl.where(b_start != 0, b_sum, a_sum + b_sum)


@triton.jit
def segmented_sum_kernel(starts, x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.load(starts + at, mask=at < n, other=0)
    value = tl.load(x + at, mask=at < n, other=0.0)
    _, running = tl.associative_scan((start, value), 0, within_segment)
    tl.store(out + at, running, mask=at < n)


@case(n=[50, 128])
def segmented_sum(n):
    """Sums that begin again at every flag; the two operands differ in dtype."""

    def reference(starts, x):
        running, total = [], 0.0
        for start, value in zip(starts.tolist(), x.tolist(), strict=True):
            total = value if start else total + value
            running.append(total)
        return torch.tensor(running)

    return KernelCase(
        segmented_sum_kernel,
        grid=(1,),
        args=dict(
            starts=Buffer(n, "int32", fill=Values((1, 0, 0, 1, 0, 0, 0, 0, 1))),
            x=Buffer(n, fill=Integers(-9, 10)),
            out=empty(n),
            n=n,
            BLOCK=128,
        ),
        reference=reference,
    )


@triton.jit
def matrix_product(a00, a01, a10, a11, b00, b01, b10, b11):
    """b times a: the later matrix stands on the left."""
    return (
        b00 * a00 + b01 * a10,
        b00 * a01 + b01 * a11,
        b10 * a00 + b11 * a10,
        b10 * a01 + b11 * a11,
    )


@triton.jit
def matrix_scan_kernel(m, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK) * 4
    entries = (tl.load(m + at), tl.load(m + at + 1), tl.load(m + at + 2), tl.load(m + at + 3))
    p00, p01, p10, p11 = tl.associative_scan(entries, 0, matrix_product)
    tl.store(out + at, p00)
    tl.store(out + at + 1, p01)
    tl.store(out + at + 2, p10)
    tl.store(out + at + 3, p11)


@case(n=[16, 64])
def matrix_scan(n):
    """Products of 2x2 integer matrices wrap, stay exact, and depend on every operand's order."""

    def reference(m):
        products, product = [], torch.eye(2, dtype=torch.int64)
        for matrix in m:
            product = matrix @ product
            products.append(product)
        return torch.stack(products)

    return KernelCase(
        matrix_scan_kernel,
        grid=(1,),
        args=dict(m=Buffer((n, 2, 2), "int64", fill=Integers(-3, 4)), out=empty((n, 2, 2), "int64"), BLOCK=n),
        reference=reference,
    )


@triton.jit
def log_add(a, b):
    greatest = tl.maximum(a, b)
    return greatest + tl.log(tl.exp(a - greatest) + tl.exp(b - greatest))


@triton.jit
def logcumsumexp_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.store(out + row * cols + at, tl.associative_scan(value, 0, log_add), mask=at < cols)


@case(dtype=["fp32", "fp64"])
def logcumsumexp(dtype):
    return KernelCase(
        logcumsumexp_kernel,
        grid=(3,),
        args=dict(x=Buffer((3, 50), dtype), out=empty((3, 50), dtype), cols=50, BLOCK=64),
        reference=lambda x: x.logcumsumexp(1),
        reduction=50,
        tolerance=Tolerance("exp and log are approximate on hardware, fifty times over", ulp=64, absolute=4e-6),
    )
