"""mxfp4 there and back: e2m1 nibbles, two to a byte, one power-of-two scale (e8m0) per 32 elements.

The scale is built from exponent bits and values are rounded by comparing with the midpoints, so the result
is determined to the bit; pairs go through `tl.split` and `tl.join`.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Normal, case, empty


@triton.jit
def quantize_kernel(x, packed, scales, G: tl.constexpr):
    at = tl.program_id(0) * G * 32 + tl.arange(0, G)[:, None] * 32 + tl.arange(0, 32)[None, :]
    value = tl.load(x + at).to(tl.float32)
    top = tl.max(tl.abs(value), 1)
    exponent = tl.maximum((top.to(tl.int32, bitcast=True) >> 23) - 2, 1)
    shrink = ((254 - exponent) << 23).to(tl.float32, bitcast=True)
    small = tl.abs(value) * shrink[:, None]
    code = (small > 0.25).to(tl.int32) + (small > 0.75) + (small > 1.25) + (small > 1.75)
    code = code + (small > 2.5) + (small > 3.5) + (small > 5.0)
    code = tl.where(value < 0, code + 8, code)
    low, high = tl.split(tl.reshape(code, (G, 16, 2)))
    byte = tl.program_id(0) * G * 16 + tl.arange(0, G)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(packed + byte, (low | (high << 4)).to(tl.uint8))
    tl.store(scales + tl.program_id(0) * G + tl.arange(0, G), exponent.to(tl.uint8))


@triton.jit
def dequantize_kernel(packed, scales, out, G: tl.constexpr):
    byte = tl.program_id(0) * G * 16 + tl.arange(0, G)[:, None] * 16 + tl.arange(0, 16)[None, :]
    both = tl.load(packed + byte)
    code = tl.reshape(tl.join(both & 15, both >> 4), (G, 32)).to(tl.int32)
    magnitude = code & 7
    # e2m1: 0 and 1/2 are the subnormal pair; the others are (2 + mantissa) * 2**(exponent - 2).
    normal = (2 + (magnitude & 1)).to(tl.float32) * tl.exp2((magnitude >> 1).to(tl.float32) - 2)
    value = tl.where(magnitude < 2, magnitude.to(tl.float32) * 0.5, normal)
    value = tl.where(code >= 8, -value, value)
    scale = tl.load(scales + tl.program_id(0) * G + tl.arange(0, G)).to(tl.int32)
    value = value * (scale << 23).to(tl.float32, bitcast=True)[:, None]
    at = tl.program_id(0) * G * 32 + tl.arange(0, G)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out + at, value.to(out.dtype.element_ty))


MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@case(dtype=["fp32", "bf16"], scale=[1.0, 1e-3])
def quantize(dtype, scale):
    groups = 8

    def reference(x):
        x = x.double().reshape(groups, 32)
        exponent = x.abs().amax(1).log2().floor() - 2
        small = x.abs() / 2 ** exponent[:, None]
        midpoints = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)
        code = torch.bucketize(small, midpoints) + 8 * (x < 0)
        packed = code[:, ::2] | (code[:, 1::2] << 4)
        return {"packed": packed.to(torch.uint8), "scales": (exponent + 127).to(torch.uint8)}

    return KernelCase(
        quantize_kernel,
        grid=(2,),
        args=dict(
            x=Buffer((groups, 32), dtype, fill=Normal(scale)), packed=empty((groups, 16), "uint8"),
            scales=empty(groups, "uint8"), G=groups // 2,
        ),
        reference=reference,
        exact_dtype=True,
    )  # fmt: skip


@case(dtype=["fp32", "bf16"])
def dequantize(dtype):
    groups = 8

    def reference(packed, scales):
        code = torch.stack([packed & 15, packed >> 4], -1).flatten(1).long()
        magnitude = torch.tensor([*MAGNITUDES, *(-m for m in MAGNITUDES)], dtype=torch.float64)[code]
        return magnitude * 2.0 ** (scales.double()[:, None] - 127)

    return KernelCase(
        dequantize_kernel,
        grid=(4,),
        args=dict(
            packed=Buffer((groups, 16), "uint8", fill=Integers(0, 256)),
            scales=Buffer(groups, "uint8", fill=Integers(120, 135)), out=empty((groups, 32), dtype), G=groups // 4,
        ),
        reference=reference,
    )  # fmt: skip
