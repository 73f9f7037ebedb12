"""What scalar and vector instructions compute: the meanings of `harness.semantics`, and those of pointers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.errors import HarnessError, IllegalInstruction
from harness.npu.isa.program import Combiner, Constant, Formal, Function, Instruction, Operand, Program, Register
from harness.semantics import Signature, elementwise_function, numpy_dtype
from harness.semantics.types import Array

TAG_SHIFT = 48  # a pointer holds the number of its buffer above its address
ADDRESS_BITS = (1 << TAG_SHIFT) - 1

Meaning = Callable[..., Array]


def _moved(function: Function) -> Meaning:
    size = np.int64(dict(function.attributes)["size"])
    return lambda pointer, index: pointer + index.astype(np.int64) * size


def _untagged(function: Function) -> Meaning:
    dtype = numpy_dtype(function.results[0])
    return lambda pointer: (pointer & ADDRESS_BITS).astype(dtype)


def _extended(function: Function) -> Meaning:
    return lambda values: values.astype(np.int64)


def _same(function: Function) -> Meaning:
    return lambda values: values


_POINTERS: dict[tuple[str, str, str], Callable[[Function], Meaning]] = {
    ("tt.addptr", "ptr", "ptr"): _moved,
    ("tt.ptr_to_int", "ptr", "i64"): _untagged,
    ("tt.int_to_ptr", "i64", "ptr"): _extended,
    ("tt.bitcast", "ptr", "ptr"): _same,
}


def meaning(function: Function) -> Meaning:
    """The function on arrays. Raises IllegalInstruction for one that nobody knows, or of types it cannot have."""
    if not function.operands or len(function.results) != 1:
        raise IllegalInstruction(f"function {function.name} takes {function.operands} and gives {function.results}")
    special = _POINTERS.get((function.name, function.operands[0], function.results[0]))
    try:
        if special is not None:
            return special(function)
        for element in (*function.operands, *function.results):
            numpy_dtype(element)
        signature = Signature(function.name, function.operands, function.results, dict(function.attributes))
        return elementwise_function(signature)
    except (HarnessError, KeyError) as error:
        what = error.what if isinstance(error, HarnessError) else f"it lacks the attribute {error}"
        raise IllegalInstruction(f"function {function.name} is unknown: {what}") from error


# A change of type that rounds once: NumPy converts straight into the result.
_EXACT_CASTS = frozenset({"i8", "i16", "i32", "i64", "index", "f32", "f64"})
_CASTS = {
    "arith.extsi": _EXACT_CASTS,
    "arith.trunci": _EXACT_CASTS,
    "arith.index_cast": _EXACT_CASTS,
    "arith.sitofp": _EXACT_CASTS,
    "arith.extf": frozenset({"f16", "bf16", "f32", "f64"}),
    "arith.truncf": frozenset({"f16", "bf16", "f32"}),
}


def is_cast(function: Function) -> bool:
    """Whether the function is what NumPy's own conversion of the types does."""
    if len(function.operands) != 1 or len(function.results) != 1:
        return False
    source, target = function.operands[0], function.results[0]
    known = _CASTS.get(function.name, frozenset())
    if function.name == "arith.truncf" and source != "f32" and target != "f32":
        return False  # from f64 to a narrow float takes care to round once
    if function.name == "arith.extf" and target not in ("f32", "f64"):
        return False
    return source in known | {"f64"} and target in known


def constant_value(constant: Constant) -> Array:
    """(1,). Raises IllegalInstruction where the bits are not those of one element."""
    try:
        dtype = numpy_dtype(constant.element)
    except HarnessError as error:
        raise IllegalInstruction(error.what) from error
    if len(constant.bits) != dtype.itemsize:
        raise IllegalInstruction(f"a constant of {len(constant.bits)} bytes is no {constant.element}")
    if dtype == np.bool_:
        return np.array([constant.bits != b"\0"])
    return np.frombuffer(constant.bits, dtype)


def element_of(operand: Operand | None) -> str | None:
    return None if operand is None else operand.element


Check = Callable[[Array, str], None]  # of an assertion's condition, and its message
Combine = Callable[[list[Array], Callable[[Register], Array], Check], list[Array]]


def combine_function(combiner: Combiner, program: Program, rank: int) -> Combine:
    """The combiner on arrays of `rank` axes: its arguments, a reader of registers and what to do about assertions, to
    its results.

    Raises IllegalInstruction where it is not well-formed.
    """
    steps: list[tuple[Meaning | str, tuple[Any, ...]]] = []  # a text: an assertion
    known = list(combiner.arguments)

    def source(operand: Operand | None) -> Any:
        if isinstance(operand, Formal):
            if not 0 <= operand.number < len(known) or known[operand.number] != operand.element:
                raise IllegalInstruction(f"a combiner has no value {operand.number} of type {operand.element}")
            return operand.number
        if isinstance(operand, Constant):
            return constant_value(operand).reshape((1,) * rank)
        if isinstance(operand, Register):
            return operand
        raise IllegalInstruction("a combiner works on values, registers and constants")

    for instruction in combiner.instructions:
        if instruction.opcode == "assert":
            steps.append((_assertion(instruction, program), tuple(source(one) for one in instruction.operands)))
            continue
        number = instruction.immediates[0] if instruction.opcode == "scalar" else -1
        if not 0 <= number < len(program.functions):
            raise IllegalInstruction(f"a combiner holds {instruction.opcode} {instruction.immediates}")
        function = program.functions[number]
        if tuple(element_of(one) for one in instruction.operands) != function.operands:
            raise IllegalInstruction(f"operands of {function.name} in a combiner are not {function.operands}")
        steps.append((meaning(function), tuple(source(one) for one in instruction.operands)))
        known.append(function.results[0])
    results = tuple(source(one) for one in combiner.results)

    def combine(arguments: list[Array], register: Callable[[Register], Array], check: Check) -> list[Array]:
        values = list(arguments)

        def value(place: Any) -> Array:
            if isinstance(place, int):
                return values[place]
            return register(place) if isinstance(place, Register) else place

        for compute, places in steps:
            given = [value(place) for place in places]
            if isinstance(compute, str):
                check(given[0], compute)
            else:
                values.append(compute(*given))
        return [value(place) for place in results]

    return combine


def _assertion(instruction: Instruction, program: Program) -> str:
    """Its message. Raises IllegalInstruction where it is not well-formed."""
    number = instruction.immediates[0] if len(instruction.immediates) == 1 else -1
    if not 0 <= number < len(program.texts) or [element_of(one) for one in instruction.operands] != ["i1"]:
        raise IllegalInstruction(f"a combiner asserts {instruction.operands} with text {instruction.immediates}")
    return program.texts[number]
