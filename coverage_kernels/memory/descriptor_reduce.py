"""Reductions into memory through a tensor descriptor (`atomic_add`, `atomic_max`, ...): outside is dropped.

Several programs meet in one tile; whole numbers make the result independent of their order.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case


@triton.jit
def descriptor_reduce_kernel(x, out, rows, cols, stride, OP: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [rows, cols], [stride, 1], [BR, BC])
    row = tl.arange(0, BR)[:, None]
    col = tl.arange(0, BC)[None, :]
    value = tl.load(x + (tl.program_id(0) * BR + row) * BC + col)
    if OP == "add":
        target.atomic_add([0, 0], value)
    elif OP == "max":
        target.atomic_max([0, 0], value)
    elif OP == "min":
        target.atomic_min([0, 0], value)
    elif OP == "and":
        target.atomic_and([0, 0], value)
    elif OP == "or":
        target.atomic_or([0, 0], value)
    else:
        target.atomic_xor([0, 0], value)


PYTHON = {
    "add": lambda a, b: a + b,
    "max": lambda a, b: a.maximum(b),
    "min": lambda a, b: a.minimum(b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


@case(op=["add-fp32", "add-int32", "add-fp16", "max-int32", "min-int32", "and-int32", "or-int32", "xor-int32"])
def descriptor_reduce(op):
    name, dtype = op.split("-")
    programs, rows, cols = 4, 6, 24
    whole = Integers(-50, 51)

    def reference(x, out):
        for part in x:
            out = PYTHON[name](out, part[:rows, :cols])
        return {"out": out}

    return KernelCase(
        descriptor_reduce_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer((programs, 8, 32), dtype, fill=whole),
            out=Buffer((rows, cols), dtype, strides=(32, 1), fill=whole),
            rows=rows, cols=cols, stride=32, OP=name, BR=8, BC=32,
        ),
        reference=reference,
    )  # fmt: skip
