"""A GEMM with 4-bit weights, eight to an int32 along K, with a scale and a zero point per group (GPTQ).

The shift differs per row of the tile and the packed row repeats eight times; the sign bit of the int32 must
not smear into the top nibble. Power-of-two scales keep the dequantised weights exact.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Values, case, empty


@triton.jit
def int4_packed_kernel(
    a, packed, scales, zeros, c, N, K: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        word = tl.load(packed + (k // 8)[:, None] * N + col[None, :])
        nibble = (word >> ((k % 8) * 4)[:, None]) & 15
        group_at = (k // GROUP)[:, None] * N + col[None, :]
        weight = (nibble - tl.load(zeros + group_at)).to(tl.float16) * tl.load(scales + group_at)
        acc = tl.dot(tl.load(a + row[:, None] * K + k[None, :]), weight, acc)
    tl.store(c + row[:, None] * N + col[None, :], acc)


@case(group=[16, 64])
def int4_packed(group):
    m, n, k = 32, 32, 64

    def reference(a, packed, scales, zeros):
        nibbles = (packed.long()[:, None, :] >> (torch.arange(8) * 4)[None, :, None]) & 15
        scale, zero = (x.repeat_interleave(group, 0) for x in (scales, zeros))
        return a @ ((nibbles.reshape(k, n) - zero) * scale)

    return KernelCase(
        int4_packed_kernel,
        grid=(m // 16, n // 16),
        args=dict(
            a=Buffer((m, k), "fp16"), packed=Buffer((k // 8, n), "int32", fill=Integers(-(2**31), 2**31)),
            scales=Buffer((k // group, n), "fp16", fill=Values((0.25, 1.0, 0.5))),
            zeros=Buffer((k // group, n), "int32", fill=Integers(0, 16)), c=empty((m, n)), N=n, K=k, GROUP=group,
            BM=16, BN=16, BK=32,
        ),
        reference=reference,
        reduction=k,
    )  # fmt: skip
