"""What two runs of one lowered kernel compute, value by value: the executor's beside the simulator's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32
from xdsl.ir import Operation

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


@dataclass(frozen=True)
class Difference:
    """The first element of a value that two runs do not agree on; `pc` is the instruction that wrote it."""

    pc: int
    program: int
    index: tuple[int, ...]
    got: str
    want: str


@dataclass
class Probes:
    """The values of a run, per op and program, in the order they came.

    numbers   by instruction, the number of the op it comes from (of the simulator's run)
    order     (op, program, instruction) as they came, of the simulator's run
    """

    numbers: Mapping[int, int] = field(default_factory=dict)
    values: dict[tuple[int, int], list[Array]] = field(default_factory=lambda: defaultdict(list))
    order: list[tuple[int, int, int]] = field(default_factory=list)
    kept: int = 0

    def of_executor(self, number: int, programs: Array, values: Array) -> None:
        self._keep(number, programs, values)

    def of_simulator(self, pc: int, programs: Array, values: Sequence[Array]) -> None:
        number = self.numbers.get(pc)
        if number is None or not self._keep(number, programs, values[0]):
            return
        self.order += [(number, int(program), pc) for program in programs]

    def _keep(self, number: int, programs: Array, values: Array) -> bool:
        self.kept += values.size
        if self.kept > _MOST_KEPT:
            return False
        values = np.broadcast_to(values, (programs.size, *values.shape[1:]))
        for program, value in zip(programs, values, strict=True):
            self.values[number, int(program)].append(value.copy())
        return True


def first_difference(wanted: Probes, got: Probes) -> Difference | None:
    """In the order of `got`. An op whose instructions write more often than it runs is not compared."""
    seen: dict[tuple[int, int], int] = defaultdict(int)
    for number, program, pc in got.order:
        key = (number, program)
        at, seen[key] = seen[key], seen[key] + 1
        theirs, ours = wanted.values.get(key, []), got.values[key]
        if len(theirs) < len(ours) or at >= len(theirs) or theirs[at].shape != ours[at].shape:
            continue
        index = _first_apart(ours[at], theirs[at])
        if index is not None:
            return Difference(pc, program, index, str(ours[at][index]), str(theirs[at][index]))
    return None


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
