"""Normalisations, forward and backward, each over its own set of axes.

Written for the harness after Triton's tutorial 05 (layernorm), Inductor's Welford reductions and the
fused RMSNorm of language models. Statistics are in fp32, the data in its own dtype.
"""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, Tolerance, case, empty

ROOT = Tolerance("rsqrt is approximate on hardware and the mean's rounding is scaled", ulp=16, absolute=4e-6)


@triton.jit
def layernorm_kernel(x, weight, bias, out, mean_out, rstd_out, cols, eps, BLOCK: tl.constexpr):
    """Three loops over the row: mean, variance, output."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        centred = tl.where(at < cols, value - mean, 0.0)
        squares += centred * centred
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        scale = tl.load(weight + at, mask=at < cols)
        shift = tl.load(bias + at, mask=at < cols)
        result = (value - mean) * rstd * scale + shift
        tl.store(out + row * cols + at, result.to(out.dtype.element_ty), mask=at < cols)


@case(dtype=["fp32", "bf16"], shape=[(9, 100), (3, 300), (1, 128)])
def layernorm(dtype, shape):
    rows, cols = shape

    def reference(x, weight, bias):
        rstd = torch.rsqrt(x.var(-1, unbiased=False) + 1e-5)
        return {"out": functional.layer_norm(x, (cols,), weight, bias, 1e-5), "mean_out": x.mean(-1), "rstd_out": rstd}

    return KernelCase(
        layernorm_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer(shape, dtype, fill=Normal(2.0, 1.0)),
            weight=Buffer(cols),
            bias=Buffer(cols),
            out=empty(shape, dtype),
            mean_out=empty(rows),
            rstd_out=empty(rows),
            cols=cols,
            eps=1e-5,
            BLOCK=128,
        ),
        reference=reference,
        reduction=cols,
        tolerance=ROOT,
    )


@triton.jit
def layernorm_backward_kernel(x, weight, grad, dx, partial_dw, partial_db, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * cols + at, mask=inside, other=0.0)
    scale = tl.load(weight + at, mask=inside, other=0.0)
    slope = tl.load(grad + row * cols + at, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / cols
    centred = tl.where(inside, value - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    normal = centred * rstd
    scaled = scale * slope
    c1 = tl.sum(normal * scaled, axis=0) / cols
    c2 = tl.sum(scaled, axis=0) / cols
    tl.store(dx + row * cols + at, (scaled - (normal * c1 + c2)) * rstd, mask=inside)
    tl.store(partial_dw + row * cols + at, slope * normal, mask=inside)
    tl.store(partial_db + row * cols + at, slope, mask=inside)


@case(shape=[(7, 50), (4, 64)])
def layernorm_backward(shape):
    rows, cols = shape

    def reference(x, weight, grad):
        normal, mean, rstd = torch.native_layer_norm(x, (cols,), None, None, 1e-5)
        backward = torch.ops.aten.native_layer_norm_backward
        dx, _, _ = backward(grad, x, (cols,), mean, rstd, weight, None, (True, False, False))
        return {"dx": dx, "partial_dw": grad * normal, "partial_db": grad}

    return KernelCase(
        layernorm_backward_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer(shape),
            weight=Buffer(cols),
            grad=Buffer(shape),
            dx=empty(shape),
            partial_dw=empty(shape),
            partial_db=empty(shape),
            cols=cols,
            eps=1e-5,
            BLOCK=64,
        ),
        reference=reference,
        reduction=cols,
        tolerance=ROOT,
    )


@triton.jit
def rmsnorm_kernel(x, residual, weight, out, cols, eps, BLOCK: tl.constexpr):
    """The residual is updated in place, then normalised: one buffer is input and output."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(residual + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row * cols + at, value.to(residual.dtype.element_ty), mask=inside)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
    weights = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * cols + at, (value * scale * weights).to(out.dtype.element_ty), mask=inside)


@case(rows=[1, 6], dtype=["fp32", "fp16"])
def rmsnorm(rows, dtype):
    """With one row, as a decoder's step has it, every row stride is unused."""
    cols = 200

    def reference(x, residual, weight):
        value = x + residual
        scale = torch.rsqrt(value.square().mean(-1, keepdim=True) + 1e-6)
        return {"residual": value, "out": value * scale * weight}

    return KernelCase(
        rmsnorm_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols), dtype),
            residual=Buffer((rows, cols), dtype),
            weight=Buffer(cols, dtype),
            out=empty((rows, cols), dtype),
            cols=cols,
            eps=1e-6,
            BLOCK=256,
        ),
        reference=reference,
        reduction=cols,
        tolerance=ROOT,
    )


@triton.jit
def batchnorm_kernel(
    x, weight, bias, running_mean, running_var, out, batch, pixels, n_stride, c_stride, p_stride,
    momentum, eps, BLOCK: tl.constexpr,
):  # fmt: skip
    """One channel a program; batch and pixels are one axis of batch * pixels elements."""
    channel = tl.program_id(0)
    count = batch * pixels
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        address = x + at // pixels * n_stride + channel * c_stride + at % pixels * p_stride
        value = tl.load(address, mask=at < count, other=0.0)
        total += value
        squares += value * value
    mean = tl.sum(total, axis=0) / count
    variance = tl.sum(squares, axis=0) / count - mean * mean
    old_mean = tl.load(running_mean + channel)
    old_var = tl.load(running_var + channel)
    tl.store(running_mean + channel, old_mean + momentum * (mean - old_mean))
    tl.store(running_var + channel, old_var + momentum * (variance * count / (count - 1) - old_var))
    scale = tl.rsqrt(variance + eps) * tl.load(weight + channel)
    shift = tl.load(bias + channel)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        offset = at // pixels * n_stride + channel * c_stride + at % pixels * p_stride
        value = tl.load(x + offset, mask=at < count, other=0.0)
        tl.store(out + offset, (value - mean) * scale + shift, mask=at < count)


@case(layout=["contiguous", "channels_last"], pixels=[9, 50])
def batchnorm(layout, pixels):
    batch, channels = 3, 6
    strides = (channels * pixels, pixels, 1) if layout == "contiguous" else (channels * pixels, 1, channels)
    shape = (batch, channels, pixels)

    def reference(x, weight, bias, running_mean, running_var):
        mean, var = running_mean.clone(), running_var.clone()
        out = functional.batch_norm(x, mean, var, weight, bias, training=True, momentum=0.1, eps=1e-5)
        return {"out": out, "running_mean": mean, "running_var": var}

    return KernelCase(
        batchnorm_kernel,
        grid=(channels,),
        args=dict(
            x=Buffer(shape, strides=strides),
            weight=Buffer(channels),
            bias=Buffer(channels),
            running_mean=Buffer(channels),
            running_var=Buffer(channels),
            out=empty(shape, strides=strides),
            batch=batch,
            pixels=pixels,
            n_stride=strides[0],
            c_stride=strides[1],
            p_stride=strides[2],
            momentum=0.1,
            eps=1e-5,
            BLOCK=64,
        ),
        reference=reference,
        reduction=batch * pixels,
        tolerance=ROOT,
    )


@triton.jit
def groupnorm_kernel(
    x, weight, bias, out, channels, pixels, GROUPS: tl.constexpr, eps, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr
):
    """A program normalises one group of one sample as a 2-D tile: channels of the group by pixels."""
    group = tl.program_id(0)
    sample = tl.program_id(1)
    width = channels // GROUPS
    c = tl.arange(0, BLOCK_C)[:, None]
    p = tl.arange(0, BLOCK_P)[None, :]
    channel = group * width + c
    inside = (c < width) & (p < pixels)
    offset = (sample * channels + channel) * pixels + p
    value = tl.load(x + offset, mask=inside, other=0.0)
    count = width * pixels
    mean = tl.sum(tl.sum(value, axis=1), axis=0) / count
    centred = tl.where(inside, value - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred) / count + eps)
    scale = tl.load(weight + channel, mask=c < width, other=0.0)
    shift = tl.load(bias + channel, mask=c < width, other=0.0)
    tl.store(out + offset, centred * rstd * scale + shift, mask=inside)


@case(groups=[1, 3, 6])
def groupnorm(groups):
    """From one group (layernorm over channels and pixels) to a group per channel (instance norm)."""
    batch, channels, pixels = 2, 6, 25
    return KernelCase(
        groupnorm_kernel,
        grid=(groups, batch),
        args=dict(
            x=Buffer((batch, channels, pixels)),
            weight=Buffer(channels),
            bias=Buffer(channels),
            out=empty((batch, channels, pixels)),
            channels=channels,
            pixels=pixels,
            GROUPS=groups,
            eps=1e-5,
            BLOCK_C=8,
            BLOCK_P=32,
        ),
        reference=lambda x, weight, bias: functional.group_norm(x, groups, weight, bias, 1e-5),
        reduction=channels * pixels // groups,
        tolerance=ROOT,
    )


@triton.jit
def normalize_kernel(x, out, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    length = tl.sqrt(tl.sum(value * value, axis=0))
    tl.store(out + row * cols + at, value / tl.maximum(length, eps), mask=at < cols)


@case(dtype=["fp32", "fp64"])
def unit_length(dtype):
    """`x / max(|x|, eps)`, as functional.normalize computes it."""
    return KernelCase(
        normalize_kernel,
        grid=(5,),
        args=dict(x=Buffer((5, 30), dtype), out=empty((5, 30), dtype), cols=30, eps=1e-12, BLOCK=32),
        reference=lambda x: functional.normalize(x, dim=-1),
        reduction=30,
        tolerance=Tolerance("sqrt and the division are approximate on hardware", ulp=8),
    )
