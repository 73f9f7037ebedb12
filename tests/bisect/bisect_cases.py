"""Cases for the tests of the bisector: kernels right and wrong, small."""

# pyright: reportArgumentType=false

from __future__ import annotations

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, case, empty


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


@case(n=[100])
def double(n):
    return KernelCase(
        double_kernel, (2,), dict(x=Buffer((n,), "fp32"), out=empty((n,), "fp32"), n=n, BLOCK=64), lambda x: x * 2
    )


@triton.jit
def sixth_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) / 6.0)


@case()
def sixth():
    return KernelCase(sixth_kernel, (1,), dict(x=Buffer(64, "fp32"), out=empty(64, "fp32"), BLOCK=64), lambda x: x / 6)


@case(n=[100])
def wrong_reference(n):
    return KernelCase(
        double_kernel, (2,), dict(x=Buffer((n,), "fp32"), out=empty((n,), "fp32"), n=n, BLOCK=64), lambda x: x * 3
    )


@case(n=[100])
def twice(n):
    """Two launches; the second reads what the first wrote."""
    x, middle, out = Buffer((n,), "fp32"), empty((n,), "fp32"), empty((n,), "fp32")
    return KernelCase(
        double_kernel,
        (2,),
        dict(x=x, out=middle, n=n, BLOCK=64),
        lambda x, out: {"out": x * 2, "last": x * 4},
        then=[Launch(relaunch_kernel, (2,), dict(out=middle, last=out, n=n, BLOCK=64))],
    )


@triton.jit
def relaunch_kernel(out, last, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(last + at, tl.load(out + at, mask=at < n) * 2.0, mask=at < n)


@triton.jit
def matmul_kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + k + ks[None, :])
        right = tl.load(b + (k + ks[:, None]) * N + cols[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + cols[None, :], total)


@case(stages=[3])
def matmul(stages):
    m = n = 32
    args = dict(a=Buffer((m, 128), "fp16"), b=Buffer((128, n), "fp16"), c=empty((m, n), "fp32"), K=128, M=m, N=n, BK=32)
    return KernelCase(matmul_kernel, (1,), args, lambda a, b: a @ b, options=dict(num_stages=stages), reduction=128)


@case()
def deep_matmul():
    """With other numbers of stages and warps than any pass has by itself."""
    m = n = 32
    args = dict(a=Buffer((m, 256), "fp16"), b=Buffer((256, n), "fp16"), c=empty((m, n), "fp32"), K=256, M=m, N=n, BK=32)
    options = dict(num_stages=4, num_warps=8)
    return KernelCase(matmul_kernel, (1,), args, lambda a, b: a @ b, options=options, reduction=256)


@case(m=[64], n=[64])
def wide_matmul(m, n):
    """Of tiles that Blackwell's tensor cores take."""
    args = dict(a=Buffer((m, 128), "fp16"), b=Buffer((128, n), "fp16"), c=empty((m, n), "fp32"), K=128, M=m, N=n, BK=32)
    return KernelCase(matmul_kernel, (1,), args, lambda a, b: a @ b, options=dict(num_stages=3), reduction=128)


@triton.jit
def specialised_kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows = tl.make_tensor_descriptor(a, [M, K], [K, 1], [M, BK])
    columns = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, N])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [M, N])
    total = tl.zeros((M, N), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        total = tl.dot(rows.load([0, k]), columns.load([k, 0]), total)
    out.store([0, 0], total)


@case()
def specialised():
    m, n, k = 128, 64, 192
    args = dict(a=Buffer((m, k), "fp16"), b=Buffer((k, n), "fp16"), c=empty((m, n), "fp32"), K=k, M=m, N=n, BK=64)
    return KernelCase(specialised_kernel, (1,), args, lambda a, b: a @ b, reduction=k)


@triton.jit
def assembly_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "nanosleep.u32 9; mov.b32 $0, $1;", "=r,r", [tl.load(x + at)], tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


@case()
def assembly():
    """No stage of it can be executed."""
    return KernelCase(
        assembly_kernel, (1,), dict(x=Buffer(32, "int32"), out=empty(32, "int32"), BLOCK=32), lambda x: {"out": x}
    )


@triton.jit
def cast_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(tl.float8e4b8).to(tl.float32))


@case()
def type_of_another_gpu():
    return KernelCase(
        cast_kernel, (1,), dict(x=Buffer(32, "fp32"), out=empty(32, "fp32"), BLOCK=32), lambda x: {"out": x}
    )


@triton.jit
def precise_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tile = at[:, None] * BLOCK + at[None, :]
    value = tl.load(x + tile)
    tl.store(out + tile, tl.dot(value, value, input_precision="tf32x3"))


@case()
def precision_of_another_gpu():
    return KernelCase(
        precise_kernel, (1,), dict(x=Buffer((16, 16), "fp32"), out=empty((16, 16), "fp32"), BLOCK=16), lambda x: x @ x
    )
