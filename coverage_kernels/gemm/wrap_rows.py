"""Rows and columns past the end wrap around (`rm % M`) instead of being masked; only the store is masked.

The address is then no longer affine in the row: a compiler that trusts the contiguity hints too far reads
the wrong rows in the last tile. As Inductor's `mm` template writes it, grouped program order included.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def wrap_rows_kernel(
    A, B, out, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    grid_m = (M + BLOCK_M - 1) // BLOCK_M
    grid_n = (N + BLOCK_N - 1) // BLOCK_N
    width = GROUP_M * grid_n
    group_id = pid // width
    group_size = min(grid_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + (pid % group_size)
    pid_n = (pid % width) // group_size
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M) if M % BLOCK_M == 0 else rm % M
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N) if N % BLOCK_N == 0 else rn % N
    rk = tl.arange(0, BLOCK_K)
    A = A + (ram[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rbn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A, mask=rk[None, :] < k, other=0.0)
        b = tl.load(B, mask=rk[:, None] < k, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    idx_m = rm[:, None]
    idx_n = rn[None, :]
    mask = (idx_m < M) & (idx_n < N)
    tl.store(out + tl.broadcast_to(idx_n + N * idx_m, (BLOCK_M, BLOCK_N)), acc, mask)


@case(dtype=["fp32", "bf16"], shape=[(96, 80, 64), (50, 70, 40), (3, 5, 17)])
def wrap_rows(dtype, shape):
    m, n, k = shape
    return KernelCase(
        wrap_rows_kernel,
        grid=(triton.cdiv(m, 32) * triton.cdiv(n, 32),),
        args=dict(
            A=Buffer((m, k), dtype), B=Buffer((k, n), dtype, strides=(1, k)), out=empty((m, n), dtype),
            M=m, N=n, K=k, stride_am=k, stride_ak=1, stride_bk=1, stride_bn=k,
            BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, GROUP_M=2,
        ),
        reference=lambda A, B: A @ B,
        reduction=k,
    )  # fmt: skip
