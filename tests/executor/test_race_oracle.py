"""Races on random traces, against happens-before by brute force: the same bytes race, to the last one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.executor import Allocation, ExecutorOptions, LaunchResult, Memory
from harness.executor.atomics import compare_and_swap, read_modify_write
from harness.executor.bounds import AccessType
from harness.executor.checks import Shadow
from harness.executor.clocks import RELAXED, Ordering
from harness.executor.context import Context
from harness.executor.ops_memory import load_through, store_through
from harness.executor.values import Pointer, affine_from_rest

PROGRAMS, SIZE = 5, 48
ADDRESS = 0x1004  # elements of eight bytes are aligned at odd multiples of four
ORDERINGS = {
    "relaxed": RELAXED,
    "acquire": Ordering(True, False),
    "release": Ordering(False, True),
    "acq_rel": Ordering(True, True),
}
PLAIN = ("load", "store")
VALUES = (0, 0, 1, 2)
DATA, FLAGS = (0, 2, 5), (8, 8, 8, 8, 9)
# What an op is for: its kinds, the elements it touches, their size, its orderings, lanes and programs that take part.
# Plain data behind flags, plain and atomic accesses to both, and elements of twice the size over the flags.
ROLES = {
    "data": (("load", "load", "load", "store"), DATA, 4, ("relaxed",), (1, 2, 3), (1, 1, 1, 2)),
    "take": (("add", "add", "cas"), FLAGS, 4, ("acquire", "acq_rel"), (1,), (1,)),
    "give": (("add", "exch", "cas"), FLAGS, 4, ("release", "acq_rel"), (1, 1, 2), (1,)),
    "weak": (("add", "exch", "cas", "volatile"), (*DATA[:2], *FLAGS), 4, tuple(ORDERINGS), (1, 2), (1, 4)),
    "bytes": (("load", "store"), (*range(4), *range(32, 37)), 1, ("relaxed",), (1, 2), (1, 2)),
    "wide": (("load", "store", "exch"), (3, 4), 8, tuple(ORDERINGS), (1,), (1,)),
}
# A program takes a flag, touches data, gives the flag; or does not, so that most but not all accesses are ordered.
TURNS = (
    *[("take", "data", "give")] * 12,
    *[("take", "data"), ("data", "give")] * 2,
    ("weak",),
    *[("bytes",)] * 2,
    ("wide",),
)


@dataclass(frozen=True)
class Op:
    """One op of a batch: lanes (program, element, value, expected, takes part), as many for each program, in order."""

    kind: str
    ordering: Ordering
    itemsize: int
    programs: tuple[int, ...]
    lanes: tuple[tuple[tuple[int, int, int, bool], ...], ...]

    def offset(self, element: Any) -> Any:
        return element * self.itemsize + -ADDRESS % self.itemsize


def random_op(random: Random, role: str, program: int) -> Op:
    """An op by a program, and perhaps by others in the same batch."""
    kinds, elements, itemsize, orderings, widths, counts = ROLES[role]
    kind, width = random.choice(kinds), random.choice(widths)
    others = random.sample([number for number in range(PROGRAMS) if number != program], random.choice(counts) - 1)
    lanes = tuple(
        tuple(
            (random.choice(elements), random.choice(VALUES), random.choice(VALUES), random.random() < 0.8)
            for _ in range(width)
        )
        for _ in range(1 + len(others))
    )
    ordering = ORDERINGS[random.choice(orderings)] if kind in ("add", "exch", "cas") else RELAXED
    return Op(kind, ordering, itemsize, tuple(sorted((program, *others))), lanes)


def random_trace(seed: int) -> list[Op]:
    random = Random(seed)
    trace = []
    for _ in range(random.randint(4, 14)):
        program = random.randrange(PROGRAMS)
        trace += [random_op(random, role, program) for role in random.choice(TURNS)]
    return trace


# --- the detector ---------------------------------------------------------------------------------------------


def perform(op: Op, allocation: Allocation, memory: Memory, shadow: Shadow) -> None:
    number = np.array(op.programs, np.int32)
    none = np.zeros_like(number)
    grid = (PROGRAMS, 1, 1)
    context = Context((number, none, none), grid, memory, ExecutorOptions(), LaunchResult(PROGRAMS), shadow)
    element, value, expected, mask = (
        np.array([[lane[field] for lane in lanes] for lanes in op.lanes]) for field in range(4)
    )
    dtype = np.dtype(f"i{op.itemsize}")
    extents = (element.shape[1],)
    plain = op.kind in PLAIN
    access = AccessType(op.kind, dtype, extents, None, None if plain else op.ordering)
    pointer = Pointer(allocation, affine_from_rest(op.offset(element), extents))
    value, expected = value.astype(dtype), expected.astype(dtype)
    if op.kind in ("load", "volatile"):
        load_through(pointer, mask, None, access, context)
    elif op.kind == "store":
        store_through(pointer, value, mask, access, context)
    elif op.kind == "cas":
        compare_and_swap(pointer, expected, value, mask, access, context)
    else:
        read_modify_write(pointer, value, mask, op.kind, access, context, wanted=False)


def detected(trace: list[Op], synchronises: bool) -> tuple[set[int], bytes, bool]:
    memory = Memory()
    allocation = memory.add(Allocation("x", np.zeros(SIZE, np.uint8), ADDRESS, 4))
    shadow = Shadow((PROGRAMS, 1, 1), synchronises)
    for op in trace:
        perform(op, allocation, memory, shadow)
    raced = shadow.raced().get("x", np.zeros(SIZE, np.bool_))
    return set(np.flatnonzero(raced).tolist()), allocation.bytes.tobytes(), bool(shadow.findings)


# --- the oracle -----------------------------------------------------------------------------------------------


class Oracle:
    """Carries out a trace lane by lane. A node is what one program does in one op; edges are program order, and
    from each release to the acquires that find it, directly or through atomics that came between."""

    def __init__(self) -> None:
        self.memory = bytearray(SIZE)
        self.programs: list[int] = []
        self.edges: list[tuple[int, int]] = []
        self.accesses: list[list[tuple[int, str]]] = [[] for _ in range(SIZE)]
        self.released: dict[tuple[int, int], list[int]] = {}  # (offset, itemsize) -> nodes
        self.raced: set[int] = set()

    def run(self, op: Op) -> None:
        stored_by: dict[int, set[int]] = {}  # in this op
        for program, lanes in zip(op.programs, op.lanes, strict=True):
            node = len(self.programs)
            previous = [n for n, other in enumerate(self.programs) if other == program]
            self.edges += [(n, node) for n in previous[-1:]]
            self.programs.append(program)
            live = [
                (op.offset(element), value, expected) for element, value, expected, takes_part in lanes if takes_part
            ]
            if op.ordering.acquire:
                self.edges += [(n, node) for at, *_ in live for n in self.released.get((at, op.itemsize), [])]
            written = [at for at, value, expected in live if self._lane(op, node, at, value, expected, stored_by)]
            if op.ordering.release:
                for at in written:
                    self.released.setdefault((at, op.itemsize), []).append(node)

    def _lane(self, op: Op, node: int, at: int, value: int, expected: int, stored_by: dict[int, set[int]]) -> bool:
        """Whether the lane wrote."""
        bytes_ = range(at, at + op.itemsize)
        old = int.from_bytes(self.memory[at : at + op.itemsize], "little")
        if op.kind in ("load", "volatile"):
            self._access(bytes_, node, "load" if op.kind == "load" else "atomic load")
            return False
        writes = op.kind != "cas" or old == expected
        new = old if not writes else old + value if op.kind == "add" else value
        raw = (new % 256**op.itemsize).to_bytes(op.itemsize, "little")
        changed = [b for b in bytes_ if self.memory[b] != raw[b - at]]
        self.memory[at : at + op.itemsize] = raw
        if op.kind == "store":
            self._access(changed, node, "store")
            self._break(changed, 0)
            program = self.programs[node]
            self.raced |= {b for b in changed if stored_by.get(b, set()) - {program}}
            for byte in bytes_:
                stored_by.setdefault(byte, set()).add(program)
            return False
        self._access(changed, node, "atomic store")
        self._access([b for b in bytes_ if b not in changed], node, "atomic load")
        if writes:
            self._break(bytes_, op.itemsize)
        return writes

    def _access(self, bytes_: Any, node: int, kind: str) -> None:
        for byte in bytes_:
            self.accesses[byte].append((node, kind))

    def _break(self, bytes_: Any, but: int) -> None:
        for at, size in list(self.released):
            if size != but and any(at <= byte < at + size for byte in bytes_):
                del self.released[at, size]

    def racing(self) -> set[int]:
        count = len(self.programs)
        before = np.zeros((count, count), np.bool_)
        for first, second in self.edges:
            before[first, second] = True
        for middle in range(count):
            before |= before[:, middle, None] & before[None, middle]
        raced = set(self.raced)
        for byte, accesses in enumerate(self.accesses):
            for i, (first, kind) in enumerate(accesses):
                for second, other in accesses[i + 1 :]:
                    apart = self.programs[first] != self.programs[second] and not before[first, second]
                    if apart and conflict(kind, other):
                        raced.add(byte)
        return raced


def conflict(first: str, second: str) -> bool:
    changes = "store" in first or "store" in second
    plain = not (first.startswith("atomic") and second.startswith("atomic"))
    return changes and plain


@examples(500)
@given(st.integers(0, 2**32 - 1))
def test_the_same_bytes_race_as_by_brute_force(seed: int) -> None:
    """Traces of a seed: there, rare orders of many programs come up far more often than in drawn lists."""
    trace = random_trace(seed)
    oracle = Oracle()
    for op in trace:
        oracle.run(op)
    want = oracle.racing()
    got, memory, found = detected(trace, synchronises=True)
    assert memory == bytes(oracle.memory), trace
    assert got == want and found == bool(want), trace
    if all(op.ordering == RELAXED for op in trace):
        assert detected(trace, synchronises=False)[0] == want, trace
