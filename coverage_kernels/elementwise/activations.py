"""Activation functions, each with its derivative's usual cut-off points inside the data.

Written for the harness, in the form hand-written epilogues use: the activation is a compile-time
argument and computes in fp32 whatever the storage dtype.
"""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, Tolerance, case, empty


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def leaky_relu(x):
    return tl.where(x > 0, x, 0.01 * x)


@triton.jit
def sigmoid(x):
    return tl.sigmoid(x)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gelu_tanh(x):
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return x * tl.sigmoid(2.0 * inner)


@triton.jit
def elu(x):
    return tl.where(x > 0, x, tl.exp(tl.minimum(x, 0.0)) - 1.0)


@triton.jit
def softplus(x):
    return tl.maximum(x, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def hardswish(x):
    return x * tl.clamp(x + 3.0, 0.0, 6.0) / 6.0


@triton.jit
def squared_relu(x):
    positive = tl.maximum(x, 0.0)
    return positive * positive


@triton.jit
def activation_kernel(x, out, n, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(tl.float32)
    tl.store(out + at, ACTIVATION(value).to(out.dtype.element_ty), mask=at < n)


REFERENCES = {
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "sigmoid": torch.sigmoid,
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "elu": functional.elu,
    "softplus": functional.softplus,
    "hardswish": functional.hardswish,
    "squared_relu": lambda x: torch.relu(x) ** 2,
}

CANCELLATION = Tolerance("1 + erf, exp - 1 and log(1 + exp) cancel for negative x in fp32", ulp=16, absolute=1e-6)


@case(
    activation=[relu, leaky_relu, sigmoid, silu, gelu, gelu_tanh, elu, softplus, hardswish, squared_relu],
    dtype=["fp32", "bf16"],
)
def activation(activation, dtype):
    return KernelCase(
        activation_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(1000, dtype, fill=Normal(3.0)), out=empty(1000, dtype), n=1000, ACTIVATION=activation, BLOCK=256
        ),
        reference=lambda x: REFERENCES[activation.__name__](x),
        tolerance=CANCELLATION,
    )


@triton.jit
def swiglu_kernel(gate_up, out, cols, row_stride, BLOCK: tl.constexpr):
    """gate_up is (rows, 2 * cols): the gate is the left half of each row, the value the right half."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < cols
    gate = tl.load(gate_up + row * row_stride + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * row_stride + cols + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * cols + at, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=inside)


@case(dtype=["fp16", "fp32"], cols=[100, 128])
def swiglu(dtype, cols):
    """A padded row stride, so that a packed copy of the input shows."""
    stride = 2 * cols + 8
    return KernelCase(
        swiglu_kernel,
        grid=(9, triton.cdiv(cols, 64)),
        args=dict(
            gate_up=Buffer((9, 2 * cols), dtype, strides=(stride, 1)),
            out=empty((9, cols), dtype),
            cols=cols,
            row_stride=stride,
            BLOCK=64,
        ),
        reference=lambda gate_up: functional.silu(gate_up[:, :cols]) * gate_up[:, cols:],
        tolerance=Tolerance("sigmoid is exp and a division, each approximate on hardware", ulp=8),
    )
