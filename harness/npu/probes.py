"""What two runs of one lowered kernel compute, value by value: the executor's beside the simulator's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32
from xdsl.ir import Operation

from harness.cases.location import SourceLocation
from harness.ir import operation_name, source_location
from harness.ir.dialects.npu import ProbeOp, Token
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

# Sums in another order: relative to the largest magnitude of the value, in units of its precision.
_ROUNDINGS = 64.0
_MOST_KEPT = 1 << 26  # elements altogether: a run that is longer is looked at from its start only


def with_probes(module: ModuleOp) -> tuple[ModuleOp, dict[Operation, int]]:
    """A copy of the module that shows every tile an op makes, and the number of each op of the module itself."""
    copy = module.clone()
    numbers: dict[Operation, int] = {}
    for number, (original, twin) in enumerate(zip(module.walk(), list(copy.walk()), strict=True)):
        if not _makes_a_tile(original):
            continue
        numbers[original] = number
        block = twin.parent
        assert block is not None
        probe = ProbeOp.create(operands=[twin.results[0]], properties={"number": IntegerAttr(number, i32)})
        probe.location = twin.location
        block.insert_op_after(probe, twin)
    return copy, numbers


def _makes_a_tile(operation: Operation) -> bool:
    """Of a transfer that was started the wait shows the tile."""
    if not operation.results or any(isinstance(result.type, Token) for result in operation.results):
        return False
    return isinstance(operation.results[0].type, TensorType) and not operation.regions


class Seen(NamedTuple):
    """A value that an op made for a program, by the op's number; `pc` wrote it, in a program's run."""

    number: int
    program: int
    value: Array
    pc: int | None


@dataclass(frozen=True)
class Difference:
    """The first element of a value that two runs do not agree on, and the op that makes it; `pc` is the instruction
    that wrote it, where one run was a program's."""

    op: str
    where: SourceLocation | None
    program: int
    index: tuple[int, ...]
    got: str
    want: str
    pc: int | None = None


@dataclass
class Probes:
    """The values of a run in the order they came.

    ops       by number, the op that makes the value
    numbers   by instruction, the number of the op it comes from (of a program's run)
    """

    ops: Mapping[int, Operation]
    numbers: Mapping[int, int] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    kept: int = 0

    def of_executor(self, number: int, programs: Array, values: Array) -> None:
        self._keep(number, programs, values, None)

    def of_simulator(self, pc: int, programs: Array, values: Sequence[Array]) -> None:
        number = self.numbers.get(pc)
        if number is not None:
            self._keep(number, programs, values[0], pc)

    def _keep(self, number: int, programs: Array, values: Array, pc: int | None) -> None:
        self.kept += values.size
        if self.kept > _MOST_KEPT:
            return
        values = np.broadcast_to(values, (programs.size, *values.shape[1:]))
        self.seen += [
            Seen(number, int(program), value.copy(), pc) for program, value in zip(programs, values, strict=True)
        ]


Key = Callable[[Probes, Seen], Hashable]


def by_number(probes: Probes, one: Seen) -> Hashable:
    """The same op of the same module."""
    return one.number


def by_place(probes: Probes, one: Seen) -> Hashable:
    """Ops of two modules that make values alike of the same place in the kernel."""
    return source_location(probes.ops[one.number]), one.value.shape, one.value.dtype.str


def first_difference(wanted: Probes, got: Probes, key: Key) -> Difference | None:
    """In the order of `got`. What comes more often in one run than in the other is not compared."""
    theirs, ours = _sequences(wanted, key), _sequences(got, key)
    done: dict[Hashable, int] = defaultdict(int)
    for one in got.seen:
        name = (key(got, one), one.program)
        at, done[name] = done[name], done[name] + 1
        if len(theirs.get(name, ())) != len(ours[name]) or theirs[name][at].shape != one.value.shape:
            continue
        want = theirs[name][at]
        index = _first_apart(one.value, want)
        if index is not None:
            op = got.ops[one.number]
            got_text, want_text = str(one.value[index]), str(want[index])
            where = source_location(op)
            return Difference(operation_name(op), where, one.program, index, got_text, want_text, one.pc)
    return None


def _sequences(probes: Probes, key: Key) -> dict[Hashable, list[Array]]:
    found: dict[Hashable, list[Array]] = defaultdict(list)
    for one in probes.seen:
        found[key(probes, one), one.program].append(one.value)
    return found


def _first_apart(got: Array, want: Array) -> tuple[int, ...] | None:
    apart = ~_close(got, want)
    if not apart.any():
        return None
    first = np.unravel_index(int(apart.reshape(-1).argmax()), apart.shape)
    return tuple(int(one) for one in first)


def is_close(got: Array, want: Array, kind: str | None) -> bool:
    """Whether bytes hold the same elements of a type, floats but for the order of sums; of no type: the same bytes."""
    if np.array_equal(got, want):
        return True
    dtype = None if kind is None else numpy_dtype(kind)
    if dtype is None or dtype.kind in "iub" or got.size % dtype.itemsize:
        return False
    return bool(_close(got.view(dtype), want.view(dtype)).all())


def _close(got: Array, want: Array) -> Array:
    if got.dtype.kind in "iub":
        return got == want
    precision = float(np.finfo(np.float32).eps) if got.dtype.itemsize >= 4 else 2.0**-7
    if got.dtype == np.float64:
        precision = float(np.finfo(np.float64).eps)
    wide, wanted = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    bound = _ROUNDINGS * precision * (float(finite.max()) if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(wide - wanted) <= bound
    return near | (wide == wanted) | (np.isnan(wide) & np.isnan(wanted))
