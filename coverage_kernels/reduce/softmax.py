"""Row softmax four ways: one tile per row, two online passes over long rows, log-softmax, masked.

Written for the harness after Triton's tutorial 02 and Inductor's online-softmax helpers.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, Tolerance, Values, case, empty

EXPONENTIAL = Tolerance("exp and the division are approximate on hardware", ulp=16)


@triton.jit
def softmax_kernel(x, out, x_stride, out_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_stride + at, mask=at < cols, other=float("-inf")).to(tl.float32)
    numerator = tl.exp(values - tl.max(values, axis=0))
    result = numerator / tl.sum(numerator, axis=0)
    tl.store(out + row * out_stride + at, result.to(out.dtype.element_ty), mask=at < cols)


@case(dtype=["fp32", "bf16"], shape=[(62, 1000), (1, 7), (3, 1), (5, 64)])
def softmax(dtype, shape):
    """The output's rows are padded: the holes must stay as they were."""
    rows, cols = shape
    return KernelCase(
        softmax_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer(shape, dtype, fill=Normal(2.0)),
            out=empty(shape, dtype, strides=(cols + 3, 1)),
            x_stride=cols,
            out_stride=cols + 3,
            cols=cols,
            BLOCK=triton.next_power_of_2(cols),
        ),
        reference=lambda x: x.softmax(-1),
        reduction=cols,
        tolerance=EXPONENTIAL,
    )


@triton.jit
def online_softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    """The running maximum rescales the running sum; a second loop writes."""
    row = tl.program_id(0)
    greatest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
        next_greatest = tl.maximum(greatest, value)
        # A lane that has seen nothing holds -inf, and -inf - -inf is NaN.
        known = next_greatest > float("-inf")
        rescale = tl.where(known, tl.exp(greatest - next_greatest), 1.0)
        total = total * rescale + tl.where(known, tl.exp(value - next_greatest), 0.0)
        greatest = next_greatest
    row_greatest = tl.max(greatest, axis=0)
    row_total = tl.sum(tl.where(greatest > float("-inf"), total * tl.exp(greatest - row_greatest), 0.0), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        tl.store(out + row * cols + at, tl.exp(value - row_greatest) / row_total, mask=at < cols)


@case(cols=[1, 100, 128, 1000])
def online_softmax(cols):
    return KernelCase(
        online_softmax_kernel,
        grid=(6,),
        args=dict(x=Buffer((6, cols), fill=Normal(3.0)), out=empty((6, cols)), cols=cols, BLOCK=128),
        reference=lambda x: x.softmax(-1),
        reduction=cols,
        tolerance=EXPONENTIAL,
    )


@triton.jit
def log_softmax_kernel(x, out, lse, cols, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr, rows):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.arange(0, BLOCK)[None, :]
    inside = (m < rows) & (n < cols)
    values = tl.load(x + m * cols + n, mask=inside, other=float("-inf"))
    # Rows outside would be all -inf; zero keeps them finite.
    values = tl.where(m < rows, values, 0.0)
    greatest = tl.max(values, axis=1)[:, None]
    log_total = tl.log(tl.sum(tl.exp(values - greatest), axis=1))[:, None] + greatest
    tl.store(out + m * cols + n, values - log_total, mask=inside)
    tl.store(lse + m, log_total, mask=m < rows)


@case(shape=[(10, 50), (4, 64), (1, 3)])
def log_softmax(shape):
    """Several rows a program, and the log-sum-exp kept beside."""
    rows, cols = shape
    return KernelCase(
        log_softmax_kernel,
        grid=(triton.cdiv(rows, 4),),
        args=dict(x=Buffer(shape), out=empty(shape), lse=empty((rows, 1)), cols=cols, BLOCK_M=4, BLOCK=64, rows=rows),
        reference=lambda x: {"out": x.log_softmax(-1), "lse": x.logsumexp(-1, keepdim=True)},
        reduction=cols,
        tolerance=Tolerance(
            "exp and log are approximate on hardware and the difference cancels", ulp=16, absolute=2e-6
        ),
    )


@triton.jit
def causal_softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    matrix = tl.program_id(1)
    at = tl.arange(0, BLOCK)
    base = (matrix * n + row) * n
    values = tl.load(x + base + at, mask=at <= row, other=float("-inf"))
    weights = tl.softmax(values, 0)
    tl.store(out + base + at, weights, mask=at < n)


@case(n=[1, 20, 32])
def causal_softmax(n):
    """`tl.softmax`; what is above the diagonal must be written as exact zeros."""
    return KernelCase(
        causal_softmax_kernel,
        grid=(n, 3),
        args=dict(x=Buffer((3, n, n)), out=empty((3, n, n)), n=n, BLOCK=32),
        reference=lambda x: torch.where(torch.ones(n, n).tril() > 0, x, float("-inf")).softmax(-1),
        reduction=n,
        tolerance=EXPONENTIAL,
    )


@triton.jit
def softmax_backward_kernel(y, grad, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    probability = tl.load(y + row * cols + at, mask=at < cols, other=0.0)
    slope = tl.load(grad + row * cols + at, mask=at < cols, other=0.0)
    inner = tl.sum(probability * slope, axis=0)
    tl.store(out + row * cols + at, probability * (slope - inner), mask=at < cols)


@case(cols=[5, 100])
def softmax_backward(cols):
    return KernelCase(
        softmax_backward_kernel,
        grid=(4,),
        args=dict(y=Buffer((4, cols)), grad=Buffer((4, cols)), out=empty((4, cols)), cols=cols, BLOCK=128),
        reference=lambda y, grad: y * (grad - (y * grad).sum(-1, keepdim=True)),
        reduction=cols,
        tolerance=Tolerance("the difference cancels", ulp=8, absolute=1e-5),
    )


@triton.jit
def cross_entropy_kernel(logits, target, loss, cols, ignore_index, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    wanted = tl.load(target + row)
    at = tl.arange(0, BLOCK)
    values = tl.load(logits + row * cols + at, mask=at < cols, other=float("-inf"))
    greatest = tl.max(values, axis=0)
    log_total = tl.log(tl.sum(tl.exp(values - greatest), axis=0)) + greatest
    chosen = tl.load(logits + row * cols + wanted, mask=wanted != ignore_index, other=0.0)
    tl.store(loss + row, tl.where(wanted == ignore_index, 0.0, log_total - chosen))


@case(cols=[10, 100])
def cross_entropy(cols):
    """A scalar gather beside a row reduction; rows whose target is -100 count nothing and load nothing."""

    targets = Values((0, cols - 1, 3, -100, 7))
    return KernelCase(
        cross_entropy_kernel,
        grid=(13,),
        args=dict(
            logits=Buffer((13, cols)),
            target=Buffer(13, "int64", fill=targets),
            loss=empty(13),
            cols=cols,
            ignore_index=-100,
            BLOCK=128,
        ),
        reference=lambda logits, target: torch.nn.functional.cross_entropy(logits, target, reduction="none"),
        reduction=cols,
        tolerance=Tolerance("exp and log are approximate on hardware", ulp=16, absolute=2e-6),
    )
