"""4-bit codes looked up in a table of 16 floats (NF4), scaled by blocks: the lookup is a gather per element.

The table is read through `tl.load` with computed addresses or held in registers and read by `tl.gather`.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Normal, case, empty


@triton.jit
def codebook_kernel(codes, table, scales, out, n, GATHER: tl.constexpr, BLOCK: tl.constexpr):
    byte = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    both = tl.load(codes + byte, mask=byte < n, other=0)
    nibble = tl.interleave(both >> 4, both & 15).to(tl.int32)
    value = tl.gather(tl.load(table + tl.arange(0, 16)), nibble, 0) if GATHER else tl.load(table + nibble)
    at = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    value = value * tl.load(scales + at // 64, mask=at < 2 * n, other=0.0)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < 2 * n)


@case(dtype=["fp32", "fp16"], gather=[False, True])
def codebook(dtype, gather):
    n = 150

    def reference(codes, table, scales):
        nibbles = torch.stack([codes >> 4, codes & 15], 1).flatten().long()
        return table[nibbles] * scales.repeat_interleave(64)[: 2 * n]

    return KernelCase(
        codebook_kernel,
        grid=(triton.cdiv(n, 64),),
        args=dict(
            codes=Buffer(n, "uint8", fill=Integers(0, 256)), table=Buffer(16), scales=Buffer(5, fill=Normal(0.1)),
            out=empty(2 * n, dtype), n=n, GATHER=gather, BLOCK=64,
        ),
        reference=reference,
    )  # fmt: skip
