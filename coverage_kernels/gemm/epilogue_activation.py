"""An activation chosen by name at compile time, applied to the fp32 accumulator before it is narrowed.

Narrowing first would cost accuracy; the helper is itself a `@triton.jit` function passed as a constexpr.
Reduced from the activation epilogue of the Triton matmul tutorial.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def epilogue_activation_kernel(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACTIVATION: tl.constexpr
):  # fmt: skip
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    acc = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    if ACTIVATION is not None:
        acc = ACTIVATION(acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


ACTIVATIONS = {
    "none": (None, lambda x: x),
    "leaky_relu": (leaky_relu, torch.nn.functional.leaky_relu),
    "silu": (silu, torch.nn.functional.silu),
    "gelu": (gelu, torch.nn.functional.gelu),
}


@case(activation=list(ACTIVATIONS), dtype=["fp16", "bf16"])
def epilogue_activation(activation, dtype):
    function, reference = ACTIVATIONS[activation]
    return KernelCase(
        epilogue_activation_kernel,
        grid=(1,),
        args=dict(
            a=Buffer((32, 32), dtype), b=Buffer((32, 16), dtype), c=empty((32, 16), dtype),
            M=32, N=16, K=32, ACTIVATION=function,
        ),
        reference=lambda a, b: reference(a @ b),
        reduction=32,
    )  # fmt: skip
