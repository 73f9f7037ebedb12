"""`while` whose condition depends on data: the length of the Collatz path, a different number of trips per program.

The condition is evaluated before the first trip (1 needs none), and the carried values are a pair.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def while_loop_kernel(x, steps, peak):
    at = tl.program_id(0)
    value = tl.load(x + at)
    count = 0
    top = value
    while value != 1 and count < 100:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        top = tl.maximum(top, value)
        count += 1
    tl.store(steps + at, count)
    tl.store(peak + at, top)


def collatz(value: int) -> tuple[int, int]:
    count, top = 0, value
    while value != 1 and count < 100:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count, top = count + 1, max(top, value)
    return count, top


@case(dtype=["int32", "int64"], numbers=[(1,), (1, 2, 3, 6, 7, 27, 97, 9)])
def while_loop(dtype, numbers):
    n = len(numbers)

    def reference(x):
        pairs = [collatz(int(value)) for value in x]
        return {"steps": x.new_tensor([p[0] for p in pairs]).int(), "peak": x.new_tensor([p[1] for p in pairs])}

    return KernelCase(
        while_loop_kernel,
        grid=(n,),
        args=dict(x=Buffer(n, dtype, fill=Values(numbers)), steps=empty(n, "int32"), peak=empty(n, dtype)),
        reference=reference,
    )
