"""Transfers between DRAM and the scratchpads, scalar accesses, and atomics.

A transfer takes its scalars along when it starts. Its reads and writes, of DRAM and of tiles, happen when it starts
("earliest") or when it is waited for ("latest"): whoever depends on which has a race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from harness.errors import IllegalInstruction
from harness.executor import access as accesses
from harness.executor.atomics import compare_and_swap, read_modify_write
from harness.executor.clocks import RELAXED, Ordering
from harness.executor.values import Affine, Box, Pointer, bounded, dense
from harness.ir.enums import ATOMIC_OPERATION, MEMORY_SCOPE, MEMORY_SEMANTIC
from harness.npu.isa.program import Constant, Instruction, Operand, Register, Tile
from harness.npu.isa.transfers import Transfer, transfer_of
from harness.npu.simulator import dram
from harness.npu.simulator.functions import constant_value, element_of
from harness.npu.simulator.layout import is_merged
from harness.npu.simulator.loader import Loader, Read, Step, opcode
from harness.npu.simulator.state import State, Underway
from harness.semantics.arith import truncating_remainder
from harness.semantics.types import INTEGER_BITS, Array

Latched = tuple[Any, ...]


# --- descriptors -----------------------------------------------------------------------------------------------------


class _Descriptor:
    """Where the elements of a strided transfer are, and which of them take part."""

    def __init__(self, loader: Loader, transfer: Transfer, itemsize: int) -> None:
        self.extents = transfer.tile.extents
        rank = len(self.extents)
        loader.expect(rank <= loader.machine.dma.dimensions, f"a descriptor of {rank} axes")
        loader.expect(transfer.base.element == "ptr", f"a base of type {transfer.base.element}")
        for operand in transfer.scalars[1:]:
            loader.expect(operand is None or operand.element in INTEGER_BITS, "strides and bounds are integers")
        self._itemsize = itemsize
        scalars = transfer.scalars
        self.reads = [loader.optional(operand) for operand in scalars]
        self._bounded = any(operand is not None for operand in (*transfer.lower, *transfer.upper))
        self._wraps = [axis for axis, start in enumerate(transfer.wrap_starts) if start is not None]
        self._fixed = tuple(
            int(constant_value(stride)[0]) if isinstance(stride, Constant) else None for stride in transfer.strides
        )
        self._mask = None if transfer.mask is None else self._reader_of_mask(loader, transfer.mask)

    def _reader_of_mask(self, loader: Loader, mask: Operand) -> Read:
        loader.expect(mask.element == "i1", f"a mask of type {mask.element}")
        if isinstance(mask, Tile):
            fits = len(mask.extents) == len(self.extents) and all(
                one in (1, n) for one, n in zip(mask.extents, self.extents, strict=True)
            )
            loader.expect(fits, f"a mask of {mask.extents} for a tile of {self.extents}")
        return loader.read(mask, len(self.extents))

    def latched(self, state: State) -> Latched:
        return tuple(None if read is None else read(state) for read in self.reads)

    def offsets(self, latched: Latched) -> Callable[[Array], Affine]:
        """From byte offsets of the base to those of all elements."""
        rank = len(self.extents)
        strides = latched[1 : 1 + rank]
        starts, sizes = latched[1 + 3 * rank : 1 + 4 * rank], latched[1 + 4 * rank :]

        def spread(base: Array) -> Affine:
            uniform = [0] * rank
            rest: Array | None = None
            for axis, extent in enumerate(self.extents):
                fixed = self._fixed[axis]
                if fixed is None:
                    values = strides[axis]
                    same = values.size == 1 or (values == values[0]).all()
                    fixed = int(values[0]) if same else None
                index: Array | None = None
                if axis in self._wraps:
                    start, size = (one.astype(np.int64) for one in (starts[axis], sizes[axis]))
                    if (start >= 0).all() and (start + extent <= size).all():
                        base = base + start * self._bytes(fixed, strides[axis])
                    else:
                        numbers = start[:, None] + np.arange(extent, dtype=np.int64)
                        index = truncating_remainder(numbers, np.broadcast_to(size[:, None], numbers.shape))
                if index is None and fixed is not None:
                    uniform[axis] = fixed * self._itemsize if extent > 1 else 0
                    continue
                if index is None:
                    index = np.arange(extent, dtype=np.int64)[None, :]
                shape = [1] * (rank + 1)
                part = index * np.reshape(self._bytes(fixed, strides[axis]), (-1, 1))
                shape[0], shape[axis + 1] = part.shape
                part = part.reshape(shape)
                rest = part if rest is None else rest + part
            return Affine(base, tuple(uniform), self.extents, 0, 0, rest)

        return spread

    def _bytes(self, fixed: int | None, stride: Array) -> Any:
        """The stride of an axis in bytes."""
        return np.int64(fixed * self._itemsize) if fixed is not None else stride.astype(np.int64) * self._itemsize

    def mask(self, state: State, latched: Latched) -> Any:
        """The elements that take part: None (all), Box, Both or bools."""
        box = self._box(latched) if self._bounded else None
        if self._mask is None:
            return box
        bits = self._mask(state)
        if box is None:
            return bits
        both = bounded(box, bits)
        return bits & box.array() if both is None else both

    def _box(self, latched: Latched) -> Box:
        rank = len(self.extents)
        sides: list[dict[int, Array]] = []
        for side in (latched[1 + rank : 1 + 2 * rank], latched[1 + 2 * rank : 1 + 3 * rank]):
            sides.append(
                {
                    axis: np.minimum(np.maximum(bound.astype(np.int64, copy=False), 0), self.extents[axis])
                    for axis, bound in enumerate(side)
                    if bound is not None
                }
            )
        return Box(self.extents, *sides)


def _transfer(instruction: Instruction) -> Transfer:
    try:
        return transfer_of(instruction)
    except ValueError as error:
        raise IllegalInstruction(str(error)) from error


def _starter(pc: int, tag: int, reads: Sequence[Read | None], perform: Callable[[State, Latched], None]) -> Step:
    def start(state: State) -> None:
        latched = tuple(None if read is None else read(state) for read in reads)
        state.begin(tag, Underway(pc, latched, perform))

    return start


@opcode("dma_load")
def _dma_load(loader: Loader, pc: int, instruction: Instruction) -> Step:
    transfer = _transfer(instruction)
    tile = transfer.tile
    access = dram.access_type(loader, pc, "load", tile.element, tile.extents, dram.volatile(transfer.volatile))
    descriptor = _Descriptor(loader, transfer, access.dtype.itemsize)
    other = _other(loader, transfer.other, tile)
    write = loader.write(tile)
    straight = loader.view(tile) if is_merged(tile, loader.lanes) and tile.element != "i1" else None

    def perform(state: State, latched: Latched) -> None:
        context = state.context
        mask = descriptor.mask(state, latched)
        fill = other(state)
        parts = list(dram.pointers(latched[0], None, state.buffers, descriptor.offsets(latched)))
        if straight is not None and len(parts) == 1:
            dram.load_into(state.views[straight], parts[0][0], mask, fill, access, context)
            return
        combined = _with_mask(parts, mask, len(tile.extents))
        write(state, dram.from_memory(dram.load(combined, fill, access, context), tile.element))

    return _starter(pc, transfer.tag, descriptor.reads, perform)


def _with_mask(parts: list[tuple[Pointer, Any]], mask: Any, rank: int) -> Iterator[tuple[Pointer, Any]]:
    """The parts of an access by buffer, each under the mask of the whole as well."""
    if len(parts) == 1:
        return iter([(parts[0][0], mask)])
    whole = np.ones(1, np.bool_) if mask is None else dense(mask)
    column = (-1, *(1,) * rank)
    return iter([(pointer, chosen.reshape(column) & whole) for pointer, chosen in parts])


def _other(loader: Loader, other: Operand | None, tile: Tile) -> Callable[[State], Array | None]:
    """What the elements get that do not take part, as memory holds it; None for zero."""
    if other is None:
        return lambda state: None
    loader.expect(other.element == tile.element, f"elements of type {other.element} instead of {tile.element}")
    if isinstance(other, Tile):
        loader.expect(other.extents == tile.extents, f"{other.extents} elements instead of {tile.extents}")
    read, element = loader.read(other, len(tile.extents)), tile.element
    if element != "i1":
        return read
    return lambda state: dram.to_memory(read(state), element)


@opcode("dma_store")
def _dma_store(loader: Loader, pc: int, instruction: Instruction) -> Step:
    transfer = _transfer(instruction)
    tile = transfer.tile
    access = dram.access_type(loader, pc, "store", tile.element, tile.extents, None)
    descriptor = _Descriptor(loader, transfer, access.dtype.itemsize)
    read = loader.read(tile, 0)

    def perform(state: State, latched: Latched) -> None:
        context = state.context
        mask = descriptor.mask(state, latched)
        parts = list(dram.pointers(latched[0], None, state.buffers, descriptor.offsets(latched)))
        dram.store(
            _with_mask(parts, mask, len(tile.extents)), dram.to_memory(read(state), tile.element), access, context
        )

    return _starter(pc, transfer.tag, descriptor.reads, perform)


# --- gather and scatter lists -----------------------------------------------------------------------------------------


def _lists(loader: Loader, pointers: Operand | None, mask: Operand | None, tile: Tile) -> tuple[Read, Any]:
    """Readers of the pointers and of the mask (None where there is none)."""
    lists = loader.tile(pointers, "the list of pointers")
    loader.expect(lists.element == "ptr", f"pointers of type {lists.element}")
    loader.expect(lists.extents == tile.extents, f"{lists.extents} pointers for {tile.extents} elements")
    if mask is not None:
        loader.expect(mask.element == "i1", f"a mask of type {mask.element}")
        if isinstance(mask, Tile):
            loader.expect(mask.extents == tile.extents, f"a mask of {mask.extents} for {tile.extents} elements")
    return loader.read(lists, 0), None if mask is None else loader.read(mask, len(tile.extents))


@opcode("dma_gather")
def _dma_gather(loader: Loader, pc: int, instruction: Instruction) -> Step:
    tile = loader.tile(instruction.results[0], "the result")
    pointers, mask, other = instruction.operands
    tag, flag = instruction.immediates
    access = dram.access_type(loader, pc, "load", tile.element, tile.extents, dram.volatile(flag))
    read, read_mask = _lists(loader, pointers, mask, tile)
    fill, write, as_offset = _other(loader, other, tile), loader.write(tile), dram.gathered(tile.extents)

    def perform(state: State, latched: Latched) -> None:
        context = state.context
        chosen = None if read_mask is None else read_mask(state)
        parts = dram.pointers(read(state), chosen, state.buffers, as_offset)
        write(state, dram.from_memory(dram.load(parts, fill(state), access, context), tile.element))

    return _starter(pc, tag, (), perform)


@opcode("dma_scatter")
def _dma_scatter(loader: Loader, pc: int, instruction: Instruction) -> Step:
    pointers, value, mask = instruction.operands
    tile = loader.tile(value, "the value")
    access = dram.access_type(loader, pc, "store", tile.element, tile.extents, None)
    read, read_mask = _lists(loader, pointers, mask, tile)
    read_value, as_offset = loader.read(tile, 0), dram.gathered(tile.extents)

    def perform(state: State, latched: Latched) -> None:
        context = state.context
        chosen = None if read_mask is None else read_mask(state)
        parts = dram.pointers(read(state), chosen, state.buffers, as_offset)
        dram.store(parts, dram.to_memory(read_value(state), tile.element), access, context)

    return _starter(pc, instruction.immediates[0], (), perform)


@opcode("wait")
def _wait(loader: Loader, pc: int, instruction: Instruction) -> Step:
    tag = instruction.immediates[0]
    return lambda state: state.end(tag)


# --- scalars -------------------------------------------------------------------------------------------------------


@opcode("scalar_load")
def _scalar_load(loader: Loader, pc: int, instruction: Instruction) -> Step:
    (target,) = instruction.results
    pointer, mask, other = instruction.operands
    loader.expect(isinstance(target, Register), "the result is no register")
    loader.expect(dram_element(pointer) == "ptr", "the address is no pointer")
    loader.expect(other is None or other.element == target.element, "the other value has the result's type")
    access = dram.access_type(loader, pc, "load", target.element, (), dram.volatile(instruction.immediates[0]))
    read, read_mask, read_other = loader.scalar(pointer), loader.optional(mask), loader.optional(other)
    write, kind = loader.write(target), target.element

    def run(state: State) -> None:
        context = state.context
        chosen = None if read_mask is None else read_mask(state)
        fill = None if read_other is None else dram.to_memory(read_other(state), kind)
        parts = dram.pointers(read(state), chosen, state.buffers, dram.scalar_offset)
        write(state, dram.from_memory(dram.load(parts, fill, access, context), kind))

    return run


def dram_element(operand: Operand | None) -> str:
    return element_of(operand) or ""


@opcode("scalar_store")
def _scalar_store(loader: Loader, pc: int, instruction: Instruction) -> Step:
    pointer, value, mask = instruction.operands
    loader.expect(dram_element(pointer) == "ptr", "the address is no pointer")
    kind = dram_element(value)
    access = dram.access_type(loader, pc, "store", kind, (), None)
    read, read_value, read_mask = loader.scalar(pointer), loader.scalar(value), loader.optional(mask)

    def run(state: State) -> None:
        context = state.context
        chosen = None if read_mask is None else read_mask(state)
        parts = dram.pointers(read(state), chosen, state.buffers, dram.scalar_offset)
        dram.store(parts, dram.to_memory(read_value(state), kind), access, context)

    return run


# --- atomics -------------------------------------------------------------------------------------------------------


def _ordering(order: int, scope: int) -> Ordering:
    """One program is what PTX calls a cta: a scope of cta reaches no other program."""
    keyword = MEMORY_SEMANTIC.keywords.get(order, "relaxed")
    if MEMORY_SCOPE.keywords.get(scope) == "cta":
        return RELAXED
    return Ordering(keyword in ("acquire", "acq_rel"), keyword in ("release", "acq_rel"))


def _atomic_step(
    loader: Loader, pc: int, instruction: Instruction, values: Sequence[Operand | None], mask: Operand | None, do: Any
) -> Step:
    """`do(pointer, values, mask, access, context)` gives the old elements."""
    pointer = instruction.operands[0]
    first = values[0]
    loader.expect(dram_element(pointer) == "ptr" and first is not None, "an atomic needs a pointer and a value")
    kind = dram_element(first)
    extents = pointer.extents if isinstance(pointer, Tile) else ()
    for operand in (*values, mask, *instruction.results):
        if isinstance(operand, Tile):
            loader.expect(operand.extents == extents, f"{operand.extents} beside {extents} pointers")
    loader.expect(all(one is not None and one.element == kind for one in (*values, *instruction.results)), "one type")
    order, scope = instruction.immediates[-2:]
    access = dram.access_type(loader, pc, "atomic", kind, extents, _ordering(order, scope))
    rank = len(extents)
    read, reads = loader.read(pointer, rank), [loader.read(value, rank) for value in values]
    read_mask = None if mask is None else loader.read(mask, rank)
    write = loader.write(instruction.results[0]) if instruction.results else None
    as_offset = dram.gathered(extents) if isinstance(pointer, Tile) else dram.scalar_offset

    def run(state: State) -> None:
        context = state.context
        chosen = None if read_mask is None else read_mask(state)
        given = [dram.to_memory(one(state), kind) for one in reads]
        old: Array | None = None
        for where, part in dram.atomic_parts(read(state), chosen, state, access, as_offset):
            result = _noting_changes(do, where, given, part, access, context)
            old = result if old is None else np.where(dense(part), result, old)
        if write is not None and old is not None:
            write(state, dram.from_memory(old, kind))

    return run


def _noting_changes(do: Any, pointer: Pointer, given: list[Array], mask: Any, access: Any, context: Any) -> Array:
    """Where programs wait for one another, whether memory changed decides who is stuck."""
    if context.pause is None:
        return do(pointer, given, mask, access, context)
    before = accesses.load(pointer, mask, None, access, context)
    old = do(pointer, given, mask, access, context)
    context.changed |= before.tobytes() != accesses.load(pointer, mask, None, access, context).tobytes()
    return old


@opcode("atomic")
def _atomic(loader: Loader, pc: int, instruction: Instruction) -> Step:
    _, value, mask = instruction.operands
    kind = ATOMIC_OPERATION.keywords.get(instruction.immediates[0])
    loader.expect(kind is not None, f"atomic operation {instruction.immediates[0]}")
    wanted, name = bool(instruction.results), kind or ""

    def do(pointer: Pointer, given: list[Array], chosen: Any, access: Any, context: Any) -> Array:
        return read_modify_write(pointer, given[0], chosen, name, access, context, wanted)

    return _atomic_step(loader, pc, instruction, [value], mask, do)


@opcode("compare_and_swap")
def _compare_and_swap(loader: Loader, pc: int, instruction: Instruction) -> Step:
    _, expected, value = instruction.operands

    def do(pointer: Pointer, given: list[Array], chosen: Any, access: Any, context: Any) -> Array:
        return compare_and_swap(pointer, given[0], given[1], chosen, access, context)

    return _atomic_step(loader, pc, instruction, [expected, value], None, do)
