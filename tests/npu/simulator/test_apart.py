"""`apart`: whether the buffers of two arguments have a byte in common, for values and for cycles."""

from __future__ import annotations

import numpy as np
import pytest
from machine_kit import Assembly, Buffers, launched, machine

from harness.errors import IllegalInstruction
from harness.executor.api import DescriptorArgument, PointerArgument
from harness.executor.memory import Allocation
from harness.npu.timing import time_program


def asking(*arguments: str, first: int = 1, second: int = 2) -> Assembly:
    """Stores the answer to where argument 0 points."""
    code = Assembly(*arguments)
    answer, number = code.register("i1"), code.register("i32")
    code.emit("apart", [answer], [], first, second)
    code.emit("scalar", [number], [answer], code.function("arith.extui", ("i1",), "i32"))
    code.emit("scalar_store", [], [code.argument(0), number, None])
    code.emit("halt")
    return code


def place(address: int, size: int) -> Allocation:
    return Allocation(f"at {address}", np.zeros(size, np.uint8), address, 4)


ONE, BEHIND, OVER, AFAR = place(4096, 64), place(4160, 64), place(4152, 64), place(9000, 64)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (ONE, ONE, False),
        (ONE, BEHIND, True),
        (BEHIND, ONE, True),
        (ONE, OVER, False),
        (OVER, ONE, False),
        (ONE, AFAR, True),
    ],
)
@pytest.mark.parametrize("described", [False, True])
def test_buffers_with_a_byte_in_common_are_not_apart(
    one: Allocation, other: Allocation, apart: bool, described: bool
) -> None:
    """Wherever in them the pointers point to, and a descriptor's base too."""
    left, right = PointerArgument(one, 60), PointerArgument(other, 4)
    second = DescriptorArgument(right, (15,), (1,)) if described else right
    out = np.full(1, 7, np.int32)
    launched(asking("ptr", "ptr", "ptr"), (1, 1, 1), Buffers(out=out), left, second)
    assert out.tolist() == [apart]


@pytest.mark.parametrize(("second", "message"), [(2, "argument 2 is no pointer but i32"), (3, "argument 3 of 3")])
def test_what_is_no_pointer_traps(second: int, message: str) -> None:
    code = asking("ptr", "ptr", "i32", second=second)
    with pytest.raises(IllegalInstruction, match=message):
        launched(code, (1, 1, 1), Buffers(out=np.zeros(1, np.int32)), PointerArgument(ONE), 5)


def test_cycles_follow_the_launch() -> None:
    """The branch that is taken where the two are apart skips work."""
    code = Assembly("ptr", "ptr")
    answer = code.register("i1")
    code.emit("apart", [answer], [], 1, 0)  # in either order
    branch = code.emit("branch", [], [answer], 0)
    for _ in range(9):
        code.emit("iota", [code.tile("i32", (64,))], [], 0, 0)
    code.aim(branch, code.emit("halt"))
    arguments = [PointerArgument(ONE), PointerArgument(AFAR)], [PointerArgument(ONE), PointerArgument(OVER)]
    apart, shared = (time_program(code.program, machine(), (1,), given).cycles for given in arguments)
    assert apart < shared
