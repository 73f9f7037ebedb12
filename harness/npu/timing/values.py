"""The scalar slice of a program: the registers' values as far as arguments and program ids decide them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.npu.isa.program import Constant, Function, Operand, Register
from harness.semantics import ELEMENTWISE, Signature, elementwise_function, numpy_dtype

Number = int | float


@dataclass(frozen=True)
class Unknown:
    """The value of a register that the program's text, arguments and program ids do not decide: it comes from
    memory, or is a pointer. With `register` it does not: it was skipped with the trips of a loop, and a run that
    steps through them knows it."""

    register: int | None = None


UNKNOWN = Unknown()
Value = Number | Unknown


class Registers:
    """Values by register number. Registers that were never written are unknown."""

    def __init__(self, functions: list[Function]) -> None:
        self.values: dict[int, Value] = {}
        self._functions = functions
        self._compiled: dict[int, Callable[[list[Number]], Number] | None] = {}

    def read(self, operand: Operand | None) -> Value:
        """Of a register or a constant; anything else is unknown."""
        if isinstance(operand, Register):
            return self.values.get(operand.number, UNKNOWN)
        return constant_value(operand) if isinstance(operand, Constant) else UNKNOWN

    def apply(self, function: int, operands: list[Value]) -> Value:
        """What a function of the program's table gives; unknown where an operand is, or for pointers."""
        known = [value for value in operands if not isinstance(value, Unknown)]
        if len(known) < len(operands):
            lost = (one for one in operands if isinstance(one, Unknown) and one.register is not None)
            return next(lost, UNKNOWN)
        if function not in self._compiled:
            self._compiled[function] = _compiled(self._functions[function])
        compute = self._compiled[function]
        return UNKNOWN if compute is None else compute(known)


def constant_value(constant: Constant) -> Value:
    """Of an entry of the constant pool; pointers are unknown."""
    if constant.element == "ptr":
        return UNKNOWN
    dtype = numpy_dtype(constant.element)
    return _number(np.frombuffer(constant.bits[: dtype.itemsize], dtype)[0])


def _compiled(function: Function) -> Callable[[list[Number]], Number] | None:
    """The function on Python's numbers, through its one meaning on arrays; None for functions of pointers."""
    if "ptr" in (*function.operands, *function.results) or function.name not in ELEMENTWISE:
        return None
    signature = Signature(function.name, function.operands, function.results, dict(function.attributes))
    compute = elementwise_function(signature)
    dtypes = [numpy_dtype(element) for element in function.operands]

    def run(values: list[Number]) -> Number:
        with np.errstate(all="ignore"):
            return _number(compute(*(np.array([v], d) for v, d in zip(values, dtypes, strict=True)))[0])

    return run


def _number(value: Any) -> Number:
    """An integer of any width, a bool as 0 or 1, or a float of any width as Python's."""
    kind = np.dtype(type(value)).kind
    return int(value) if kind in "iub" else float(value)
