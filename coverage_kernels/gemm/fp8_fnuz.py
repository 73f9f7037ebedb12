"""fp8e4b8 and fp8e5b16 operands into an fp32 accumulator, the same format on both sides and one of each.

Whole numbers up to 4 are exact, and half or twice themselves in the formats with the other exponent bias. gfx942's
matrix units take them; NVIDIA's front end refuses both by name.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def fp8_fnuz_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :])
        b_tile = tl.load(b + k[:, None] + cols[None, :] * K)
        acc = tl.dot(a_tile, b_tile, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@case(formats=[("fp8e4b8", "fp8e4b8"), ("fp8e5b16", "fp8e5b16"), ("fp8e4b8", "fp8e5b16")])
def fp8_fnuz(formats):
    m, n, k = 64, 32, 128
    left, right = formats
    whole = Integers(-4, 5)
    return KernelCase(
        fp8_fnuz_kernel,
        grid=(m // 32, n // 32),
        args=dict(
            a=Buffer((m, k), left, fill=whole), b=Buffer((k, n), right, strides=(1, k), fill=whole),
            c=empty((m, n)), N=n, K=k, BM=32, BN=32, BK=64,
        ),
        reference=lambda a, b: a @ b,
    )  # fmt: skip
