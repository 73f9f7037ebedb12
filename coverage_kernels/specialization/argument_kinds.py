"""Every kind of argument that is not a tensor: bool, float, None, dtype, string, tuple, function, default.

Written for the harness. Floats arrive as fp32 whatever Python holds, bools as one bit, None and
compile-time values choose code.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def linear_kernel(x, bias, out, n, slope, negate, BLOCK: tl.constexpr, DOUBLE: tl.constexpr = False):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * slope
    if bias is not None:
        value += tl.load(bias + at, mask=at < n)
    if negate:
        value = -value
    if DOUBLE:
        value = value * 2
    tl.store(out + at, value, mask=at < n)


@case(bias=[False, True], negate=[False, True], slope=[1.0, -0.5])
def optional_and_scalar_arguments(bias, negate, slope):
    """A missing tensor is None; a bool decides at run time; 1.0 is not the integer 1 and folds nothing."""

    def reference(x, bias):
        value = x * slope + (0 if bias is None else bias)
        return -value if negate else value

    return KernelCase(
        linear_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(100),
            bias=Buffer(100) if bias else None,
            out=empty(100),
            n=100,
            slope=slope,
            negate=negate,
            BLOCK=64,
        ),
        reference=reference,
    )


@case(double=[False, True])
def compile_time_default(double):
    arguments = dict(x=Buffer(100), bias=None, out=empty(100), n=100, slope=3.0, negate=False, BLOCK=64)
    if double:
        arguments["DOUBLE"] = True
    return KernelCase(
        linear_kernel,
        grid=(2,),
        args=arguments,
        reference=lambda x: 3 * x * (2 if double else 1),
    )


@triton.jit
def store_scalar_kernel(out, value):
    tl.store(out, value)


@case(value=[0.1, 1e-40, 3.4e38, float("inf"), float("nan"), -0.0])
def float_argument(value):
    """0.1 is rounded to fp32 on the way in, although the buffer is fp64; 1e-40 is a denormal there."""
    return KernelCase(
        store_scalar_kernel,
        grid=(1,),
        args=dict(out=empty(1, "fp64"), value=value),
        reference=lambda out: torch.tensor([value], dtype=torch.float32).double(),
        signed_zeros=True,
    )


@case(value=[False, True])
def bool_argument(value):
    return KernelCase(
        store_scalar_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32"), value=value),
        reference=lambda out: torch.tensor([int(value)]),
    )


@triton.jit
def convert_kernel(x, out, n, DTYPE: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(DTYPE)
    if MODE == "square":
        value = value * value
    elif MODE == "increment":
        value = value + 1
    else:
        tl.static_assert(MODE == "copy")
    tl.store(out + at, value.to(tl.float32), mask=at < n)


@case(dtype=[tl.float16, tl.int8], mode=["square", "increment", "copy"])
def dtype_and_string_arguments(dtype, mode):
    """The dtype in which the arithmetic happens and the name of the operation choose the code."""
    apply = {"square": lambda v: v * v, "increment": lambda v: v + 1, "copy": lambda v: v}[mode]
    storage = {"fp16": torch.float16, "int8": torch.int8}[dtype.name]
    return KernelCase(
        convert_kernel,
        grid=(1,),
        args=dict(x=Buffer(50, fill=Integers(-11, 12)), out=empty(50), n=50, DTYPE=dtype, MODE=mode, BLOCK=64),
        reference=lambda x: apply(x.to(storage)).float(),
    )


@triton.jit
def weighted_sum_kernel(inputs, weights, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(len(inputs)):
        total += tl.load(inputs[i] + at, mask=at < n, other=0.0) * weights[i]
    tl.store(out + at, total, mask=at < n)


@case(count=[1, 3])
def tuple_arguments(count):
    """Tuples of pointers and of floats; the dtypes of the pointers differ."""
    dtypes = ("fp32", "fp16", "fp32")
    weights = (0.5, -2.0, 4.0)[:count]

    def reference(inputs):
        return sum(weight * x for weight, x in zip(weights, inputs, strict=True))

    return KernelCase(
        weighted_sum_kernel,
        grid=(2,),
        args=dict(
            inputs=tuple(Buffer(100, dtypes[i]) for i in range(count)), weights=weights, out=empty(100), n=100, BLOCK=64
        ),
        reference=reference,
        reduction=count,
    )


@triton.jit
def strided_tuple_kernel(x, out, shape, strides, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < shape[1]
    value = tl.load(x + row * strides[0] + at * strides[1], mask=inside)
    tl.store(out + row * shape[1] + at, value, mask=inside)


@case(strides=[(20, 1), (1, 16), (0, 1), (37, 2)])
def shape_and_stride_tuples(strides):
    """Members of a tuple are specialised one by one: a stride of 1 is folded inside it."""
    return KernelCase(
        strided_tuple_kernel,
        grid=(6,),
        args=dict(
            x=Buffer(500, "int32").view((6, 13), strides=strides),
            out=empty((6, 13), "int32"),
            shape=(6, 13),
            strides=strides,
            BLOCK=16,
        ),
        reference=lambda x: x,
    )


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def apply_kernel(x, y, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, FUNCTION(tl.load(x + at, mask=at < n), tl.load(y + at, mask=at < n)), mask=at < n)


@case(function=[plus, larger])
def function_argument(function):
    expected = {"plus": torch.add, "larger": torch.maximum}[function.__name__]
    return KernelCase(
        apply_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(50, "int32"), y=Buffer(50, "int32"), out=empty(50, "int32"), n=50, FUNCTION=function, BLOCK=64
        ),
        reference=lambda x, y: expected(x, y),
    )


@triton.jit
def report_launch_kernel(out):
    """The grid as a program sees it, X first."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height, depth = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    place = ((z * height + y) * width + x) * 4
    tl.store(out + place, x)
    tl.store(out + place + 1, y)
    tl.store(out + place + 2, z)
    tl.store(out + place + 3, (depth * 100 + height) * 100 + width)


@case(grid=[(7,), (3, 4), (2, 3, 5), (1, 1, 6)])
def grid_of_one_to_three_axes(grid):
    width, height, depth = (*grid, 1, 1)[:3]

    def reference(out):
        z, y, x = torch.meshgrid(torch.arange(depth), torch.arange(height), torch.arange(width), indexing="ij")
        return torch.stack([x, y, z, torch.full_like(x, (depth * 100 + height) * 100 + width)], -1)

    return KernelCase(
        report_launch_kernel,
        grid=grid,
        args=dict(out=empty((depth, height, width, 4), "int32")),
        reference=reference,
    )


@case(grid=[(0,), (4, 0), (3, 2, 0)])
def empty_grid(grid):
    """No program runs: the buffer must still be poison."""
    return KernelCase(
        report_launch_kernel,
        grid=grid,
        args=dict(out=empty(16, "int32")),
        reference=lambda out: out,
    )


@case(warps=[1, 8], stages=[1, 3])
def launch_options(warps, stages):
    """The options say how to run, never what: one answer for all of them."""
    return KernelCase(
        linear_kernel,
        grid=(2,),
        args=dict(x=Buffer(100), bias=Buffer(100), out=empty(100), n=100, slope=2.0, negate=False, BLOCK=64),
        options=dict(num_warps=warps, num_stages=stages),
        reference=lambda x, bias: 2 * x + bias,
    )
