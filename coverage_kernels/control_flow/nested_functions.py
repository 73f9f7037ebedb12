"""Inlined helpers: one with an early return, one taking another as a constexpr, one returning a tuple, defaults.

A return inside a helper ends the helper and not the kernel.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def sign_of(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@triton.jit
def square(x):
    return x * x


@triton.jit
def negate(x):
    return -x


@triton.jit
def apply_twice(function: tl.constexpr, x, ROUNDS: tl.constexpr = 2):
    for _ in tl.static_range(ROUNDS):
        x = function(x)
    return x


@triton.jit
def nested_functions_kernel(x, signs, powers, FUNCTION: tl.constexpr):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    tl.store(signs + pid, sign_of(value))
    tl.store(powers + pid, apply_twice(FUNCTION, value) + apply_twice(FUNCTION, value, ROUNDS=1))


@case(function=[square, negate])
def nested_functions(function):
    n = 12

    def reference(x):
        once, twice = (x * x, x**4) if function is square else (-x, x)
        return {"signs": x.sign(), "powers": once + twice}

    return KernelCase(
        nested_functions_kernel,
        grid=(n,),
        args=dict(x=Buffer(n, "int32"), signs=empty(n, "int32"), powers=empty(n, "int32"), FUNCTION=function),
        reference=reference,
    )
