"""Programs that run together: their registers, scratchpads and transfers under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.executor.context import Context
from harness.executor.memory import Allocation
from harness.npu.simulator.bank import Bank, Views
from harness.npu.simulator.functions import TAG_SHIFT
from harness.semantics.types import Array

Registers = list[Any]  # arrays (P|1,), or None where nobody wrote
Perform = Callable[["State", tuple[Any, ...]], None]


@dataclass(frozen=True)
class Underway:
    """A transfer that was started. `latched` are the scalars of its descriptor, arrays (P|1,) or None."""

    pc: int
    latched: tuple[Any, ...]
    perform: Perform


@dataclass(frozen=True)
class Launch:
    """What all programs of a launch share.

    arguments   per kernel argument its parts, arrays (1,): the value, and of a descriptor whether it pads with NaN
    buffers     by the number (from 1) that pointers carry
    tracks      whether transfers under way are remembered until they are waited for
    observe     is told of each transfer that has happened, by the instruction that started it
    branches    counts, by the instruction of a branch, the programs that took it and those that did not; None where
                nobody asks. Not for several threads
    """

    arguments: tuple[tuple[Array, ...], ...]
    buffers: tuple[Allocation, ...]
    tracks: bool
    observe: Callable[[State, int], None] | None = None
    branches: dict[int, tuple[int, int]] | None = None

    def apart(self, first: int, second: int) -> Array:
        """Whether the buffers of two arguments, pointers or descriptors, have no byte in common: bool (1,)."""
        one, other = (self.buffers[(int(self.arguments[n][0][0]) >> TAG_SHIFT) - 1] for n in (first, second))
        return np.array([one.is_apart(other)])


class State:
    """Programs at one place of the program text.

    positions   of its programs in the batch, rising
    latest      whether transfers happen when they are waited for; else when they start
    underway    transfers by tag; kept only where somebody asks (see `Launch.tracks`)
    known       bool (P, places): what was written; None where the analysis has proven every read
    blamed      the instruction that an error is about, where it is not the one that runs
    """

    __slots__ = (
        "bank",
        "blamed",
        "context",
        "known",
        "latest",
        "launch",
        "positions",
        "registers",
        "steps",
        "underway",
        "views",
    )

    def __init__(self, bank: Bank, registers: Registers, context: Context, positions: Array, launch: Launch) -> None:
        self.bank = bank
        self.views: Views = bank.views
        self.registers = registers
        self.context = context
        self.positions = positions
        self.latest = context.options.copies == "latest"
        self.launch = launch
        self.blamed: int | None = None
        self.underway: dict[int, list[Underway]] = {}
        self.known: Array | None = None
        self.steps = 0

    @property
    def buffers(self) -> Sequence[Allocation]:
        return self.launch.buffers

    def begin(self, tag: int, transfer: Underway) -> None:
        """Starts a transfer: it happens now, or when it is waited for."""
        if not self.latest:
            self._perform(transfer)
        if self.launch.tracks:
            self.underway.setdefault(tag, []).append(transfer)

    def end(self, tag: int) -> None:
        """Waits for the transfers of a tag."""
        for transfer in self.underway.pop(tag, ()):
            if self.latest:
                self._perform(transfer)

    def end_all(self) -> None:
        for tag in list(self.underway):
            self.end(tag)

    def _perform(self, transfer: Underway) -> None:
        self.blamed = transfer.pc
        transfer.perform(self, transfer.latched)
        self.blamed = None
        if self.launch.observe is not None:
            self.launch.observe(self, transfer.pc)

    @property
    def schedule(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """What is under way, as something to compare."""
        return tuple(sorted((tag, tuple(one.pc for one in ones)) for tag, ones in self.underway.items() if ones))

    def subset(self, chosen: Array, live: Live) -> State:
        """The state of the programs at these places of the present one."""
        registers = list(self.registers)
        for number in range(len(registers)):
            registers[number] = narrowed(registers[number], chosen) if number in live.registers else None
        bank = self.bank.subset(chosen, live.parts)
        part = State(bank, registers, self.context.subset(chosen), self.positions[chosen], self.launch)
        part.steps = self.steps
        part.known = None if self.known is None else self.known[chosen]
        part.underway = {
            tag: [Underway(one.pc, tuple(narrowed(v, chosen) for v in one.latched), one.perform) for one in ones]
            for tag, ones in self.underway.items()
        }
        return part


@dataclass(frozen=True)
class Live:
    """What is wanted from a block on: registers, and parts of the scratchpads' layout."""

    registers: frozenset[int]
    parts: tuple[int, ...]


def narrowed(values: Any, chosen: Array) -> Any:
    return values if values is None or values.shape[0] == 1 else values[chosen]


def joined(states: Sequence[State], live: Live, whole: Context) -> State:
    """One state of all programs of states that have the same transfers under way; `whole` is the batch's context."""
    everyone = np.concatenate([state.positions for state in states])
    order = np.argsort(everyone)
    registers: Registers = [None] * len(states[0].registers)
    for number in live.registers:
        registers[number] = _merged([state.registers[number] for state in states], states, order)
    bank = Bank.merged([state.bank for state in states], order, live.parts)
    positions = everyone[order]
    context = whole if positions.size == whole.programs else whole.subset(positions)
    result = State(bank, registers, context, positions, states[0].launch)
    result.steps = max(state.steps for state in states)
    if states[0].known is not None:
        result.known = np.concatenate([state.known for state in states if state.known is not None])[order]
    for tag, ones in states[0].underway.items():
        result.underway[tag] = [
            Underway(one.pc, _latched([state.underway[tag][number] for state in states], states, order), one.perform)
            for number, one in enumerate(ones)
        ]
    return result


def _latched(transfers: Sequence[Underway], states: Sequence[State], order: Array) -> tuple[Any, ...]:
    columns = zip(*(transfer.latched for transfer in transfers), strict=True)
    return tuple(_merged(column, states, order) for column in columns)


def _merged(values: Sequence[Any], states: Sequence[State], order: Array) -> Any:
    first = values[0]
    if all(value is first for value in values) and (first is None or first.shape[0] == 1):
        return first
    present = [value for value in values if value is not None]
    dtype = present[0].dtype
    if any(value.dtype != dtype for value in present):
        present = [register_bits(value) for value in present]  # of another type on each way: nobody reads it
        dtype = np.dtype(np.int64)
    parts, left = [], iter(present)
    for value, state in zip(values, states, strict=True):
        programs = state.positions.size
        part = np.zeros(programs, dtype) if value is None else np.broadcast_to(next(left), programs)
        parts.append(part)
    return np.concatenate(parts)[order]


def register_bits(values: Array) -> Array:
    """The 64 bits of a register, as int64: narrower values are followed by zeros."""
    width = values.dtype.itemsize
    if width == 8:
        return values.view(np.int64)
    raw = np.zeros((values.size, 8), np.uint8)
    raw[:, :width] = np.ascontiguousarray(values).view(np.uint8).reshape(-1, width)
    return raw.view(np.int64).reshape(-1)


def register_value(values: Array, dtype: np.dtype[Any]) -> Array:
    """A register read as another type than it was written as: its low bytes."""
    if values.dtype == dtype:
        return values
    raw = register_bits(values).view(np.uint8).reshape(-1, 8)[:, : dtype.itemsize]
    value = np.ascontiguousarray(raw).view(dtype).reshape(-1)
    return np.ascontiguousarray(raw).reshape(-1) & 1 != 0 if dtype == np.bool_ else value
