"""addmm: the bias is one row, read through a pointer broadcast over the rows of the tile (stride 0).

Each bias element is read by every row of the tile; a lowering that takes stride 0 for "one element" or for
"contiguous" adds the wrong bias. Reduced from Inductor's addmm template with an expanded bias.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def bias_row_kernel(
    a, b, bias, c, M, N, K, stride_bias_m, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b_tile = tl.load(b + k[:, None] * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
    inside = (rows < M) & (cols < N)
    row_of_bias = tl.load(bias + rows * stride_bias_m + tl.broadcast_to(cols, (BM, BN)), mask=inside)
    tl.store(c + rows * N + cols, acc + row_of_bias.to(tl.float32), mask=inside)


@case(dtype=["fp32", "fp16"], bias_rows=["one", "expanded", "full"])
def bias_row(dtype, bias_rows):
    m, n, k = 45, 70, 33
    bias = {
        "one": Buffer((1, n), dtype),
        "expanded": Buffer((m, n), dtype, strides=(0, 1), offset=4),
        "full": Buffer((m, n), dtype, strides=(n + 3, 1)),
    }[bias_rows]
    stride = n + 3 if bias_rows == "full" else 0
    return KernelCase(
        bias_row_kernel,
        grid=(triton.cdiv(n, 32), triton.cdiv(m, 16)),
        args=dict(
            a=Buffer((m, k), dtype), b=Buffer((k, n), dtype), bias=bias, c=empty((m, n), dtype),
            M=m, N=n, K=k, stride_bias_m=stride, BM=16, BN=32, BK=16,
        ),
        reference=lambda a, b, bias: a @ b + bias,
        reduction=k,
    )  # fmt: skip
