"""A 3-D tensor descriptor whose block has one element in the first axis, with tails in the other two."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def descriptor_3d_kernel(x, out, N, H, W, stride_n, stride_h, BH: tl.constexpr, BW: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [N, H, W], [stride_n, stride_h, 1], [1, BH, BW])
    target = tl.make_tensor_descriptor(out, [N, H, W], [stride_n, stride_h, 1], [1, BH, BW])
    at = [tl.program_id(2), tl.program_id(1) * BH, tl.program_id(0) * BW]
    target.store(at, source.load(at) * 2)


@case(dtype=["fp32", "int16"])
def descriptor_3d(dtype):
    n, h, w = 3, 10, 24
    strides = (12 * 32, 32, 1)
    return KernelCase(
        descriptor_3d_kernel,
        grid=(triton.cdiv(w, 16), triton.cdiv(h, 4), n),
        args=dict(
            x=Buffer((n, h, w), dtype, strides=strides), out=empty((n, h, w), dtype, strides=strides), N=n, H=h, W=w,
            stride_n=strides[0], stride_h=strides[1], BH=4, BW=16,
        ),
        reference=lambda x: x * 2,
    )  # fmt: skip
