"""fp8 with one scale for the tensor: multiply, clamp to the largest finite value, narrow; and widen again.

Values beyond the range must end at the largest finite number and not at NaN or infinity.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, case, empty


@triton.jit
def fp8_tensor_kernel(x, out, back, n, factor, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32) * factor
    narrow = tl.clamp(value, -LARGEST, LARGEST).to(out.dtype.element_ty)
    tl.store(out + at, narrow, mask=at < n)
    tl.store(back + at, narrow.to(tl.float32), mask=at < n)


@case(dtype=["fp8e4nv", "fp8e5"], source=["fp32", "bf16"], factor=[1.0, 1000.0])
def fp8_tensor(dtype, source, factor):
    n = 300
    largest = 448.0 if dtype == "fp8e4nv" else 57344.0

    def reference(x, out):
        narrow = (x.float() * factor).clamp(-largest, largest).to(out.dtype)
        return {"out": narrow, "back": narrow.float()}

    return KernelCase(
        fp8_tensor_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(
            x=Buffer(n, source, fill=Normal(30.0)), out=empty(n, dtype), back=empty(n), n=n, factor=factor,
            LARGEST=largest, BLOCK=128,
        ),
        reference=reference,
        exact_dtype=True,
    )  # fmt: skip
