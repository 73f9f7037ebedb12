"""What a program's text says for every run: blocks, which reads are of bytes that somebody wrote on every way
there, which instructions may meet a transfer still under way, what is still wanted where, and which loops wait.

Places are scratchpad bytes and registers alike. Bytes that no tile tells apart are one cell; a set of places is a
whole number, a bit for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.npu.isa.program import Combiner, Instruction, Operand, Program, Register, Tile
from harness.npu.isa.transfers import DMA_OPCODES
from harness.npu.simulator.layout import Layout, covered
from harness.semantics.types import Array

_ENDS = frozenset({"halt", "jump", "branch"})
_ATOMIC = frozenset({"atomic", "compare_and_swap"})
_WITH_COMBINER = {"fold": 1, "scan": 1, "map": 0}  # which immediate names the combiner
_EVERYTHING = -1
LINE = 64  # bytes of a cache line


def is_synchronising(instruction: Instruction) -> bool:
    """Whether it sees what other programs do: an atomic, or a volatile load."""
    if instruction.opcode in _ATOMIC:
        return True
    return instruction.opcode in ("scalar_load", "dma_load", "dma_gather") and bool(instruction.immediates[-1])


class Places:
    """Sets of places. `parts[n]` are all cells of part n of the layout."""

    def __init__(self, tiles: Iterable[Tile], layout: Layout, registers: int) -> None:
        found = {tile: layout.footprint(tile) for tile in tiles}
        by_part: dict[int, list[Tile]] = {}
        for tile in found:
            by_part.setdefault(layout.part_of(tile), []).append(tile)
        self._masks: dict[Tile, int] = {}
        self.lines = 0  # of the cache that the tiles of one program touch
        self.parts = [0] * len(layout.row_bytes)
        base = 0
        for part, members in by_part.items():
            bounds = np.unique(np.concatenate([ends for tile in members for ends in found[tile]]))
            for tile in members:
                mask = _cells(*found[tile], bounds) << base
                self._masks[tile] = mask
                self.parts[part] |= mask
            base += bounds.size
            self.lines += _lines([found[tile] for tile in members], layout.row_bytes[part])
        self._first_register = base
        self.count = base + registers
        self.cells = (1 << base) - 1  # all scratchpad bytes

    def of(self, operands: Iterable[Operand | None]) -> int:
        mask = 0
        for operand in operands:
            if isinstance(operand, Tile):
                mask |= self._masks.get(operand, 0)
            elif isinstance(operand, Register):
                mask |= 1 << self._first_register + operand.number
        return mask

    def registers(self, mask: int) -> list[int]:
        """The registers of a set."""
        return list(bits(mask >> self._first_register))

    def numbers(self, mask: int) -> Array:
        """The places of a set as an array of numbers."""
        return np.array(list(bits(mask)), np.int64)

    def is_register(self, number: int) -> bool:
        return number >= self._first_register

    def register(self, number: int) -> int:
        return number - self._first_register


def _cells(firsts: Array, lasts: Array, bounds: Array) -> int:
    """The cells between the bounds that the intervals cover."""
    inside = covered(np.searchsorted(bounds, firsts), np.searchsorted(bounds, lasts), bounds.size)
    return int.from_bytes(np.packbits(inside, bitorder="little").tobytes(), "little")


def _lines(found: Sequence[tuple[Array, Array]], size: int) -> int:
    """How many cache lines of a part the intervals of its tiles touch."""
    firsts, lasts = (np.concatenate(ends) for ends in zip(*found, strict=True))
    return int(covered(firsts // LINE, (lasts - 1) // LINE + 1, size // LINE + 1).sum())


def bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass
class Effect:
    """What an instruction does to places. `uses`: what it reads, or what the transfers that it waits for read."""

    reads: int
    writes: int
    uses: int


@dataclass
class Block:
    """Instructions [start, end) that run one after the other; `successors` are block numbers, the one of a branch
    that is taken first."""

    start: int
    end: int
    successors: tuple[int, ...] = ()
    predecessors: list[int] = field(default_factory=list)


@dataclass
class Analysis:
    """unproven    instructions that may read what nobody wrote
    conflicts   per instruction that may meet them, the transfers (by the instruction that starts them)
    live        per block, the places whose contents somebody may want from its start on
    spins       blocks that end in the back edge of a loop that waits for other programs
    """

    blocks: list[Block]
    effects: list[Effect]
    unproven: frozenset[int]
    conflicts: dict[int, frozenset[int]]
    live: list[int]
    spins: frozenset[int]


def analysed(program: Program, places: Places, broken: frozenset[int]) -> Analysis:
    """`broken` are instructions that trap whenever they are reached: they touch nothing."""
    instructions = program.instructions
    blocks = _blocks(instructions)
    effects = [
        Effect(0, 0, 0) if pc in broken else _effect(instruction, program, places)
        for pc, instruction in enumerate(instructions)
    ]
    _add_waits(instructions, effects, places.cells)
    unproven = _unproven(blocks, effects)
    conflicts = _conflicts(blocks, instructions, effects, places.cells)
    return Analysis(blocks, effects, unproven, conflicts, _live(blocks, effects), _spins(blocks, instructions, effects))


def _blocks(instructions: Sequence[Instruction]) -> list[Block]:
    count = len(instructions)
    leaders = {0}
    for pc, instruction in enumerate(instructions):
        if instruction.opcode in _ENDS:
            leaders.add(pc + 1)
            leaders.update(target for target in instruction.immediates[:1] if 0 <= target < count)
    starts = sorted(leader for leader in leaders if leader < count)
    number = {start: index for index, start in enumerate(starts)}
    blocks = [Block(start, end) for start, end in zip(starts, (*starts[1:], count), strict=True)]
    for index, block in enumerate(blocks):
        last = instructions[block.end - 1]
        targets = list(last.immediates[:1]) if last.opcode in ("jump", "branch") else []
        if last.opcode not in ("halt", "jump") and block.end < count:
            targets.append(block.end)
        block.successors = tuple(number[target] for target in targets if target in number)
        for successor in block.successors:
            blocks[successor].predecessors.append(index)
    return blocks


def _effect(instruction: Instruction, program: Program, places: Places) -> Effect:
    reads = places.of(instruction.operands)
    at = _WITH_COMBINER.get(instruction.opcode)
    if at is not None:
        reads |= _captured(program.combiners[instruction.immediates[at]], places)
    return Effect(reads, places.of(instruction.results), reads)


def _captured(combiner: Combiner, places: Places) -> int:
    """The registers that a combiner reads."""
    return places.of([operand for instruction in combiner.instructions for operand in instruction.operands])


def _add_waits(instructions: Sequence[Instruction], effects: list[Effect], cells: int) -> None:
    """A transfer reads its tiles until it has been waited for; its registers when it starts."""
    by_tag: dict[int, int] = {}
    for instruction, effect in zip(instructions, effects, strict=True):
        if instruction.opcode in DMA_OPCODES:
            tag = instruction.immediates[0]
            by_tag[tag] = by_tag.get(tag, 0) | effect.reads & cells
    everything = 0
    for reads in by_tag.values():
        everything |= reads
    for instruction, effect in zip(instructions, effects, strict=True):
        if instruction.opcode == "wait":
            effect.uses |= by_tag.get(instruction.immediates[0], 0)
        elif instruction.opcode == "halt":
            effect.uses |= everything


def _unproven(blocks: Sequence[Block], effects: Sequence[Effect]) -> frozenset[int]:
    """Forward: what is written on every way to a block."""
    written = [_EVERYTHING] * len(blocks)
    made = [_union(effects[pc].writes for pc in range(block.start, block.end)) for block in blocks]
    pending = [0]
    while pending:
        number = pending.pop()
        block = blocks[number]
        before = 0 if number == 0 else _EVERYTHING
        for predecessor in block.predecessors:
            before &= written[predecessor]
        after = before | made[number]
        if after != written[number]:
            written[number] = after
            pending.extend(block.successors)
    found = set()
    for number, block in enumerate(blocks):
        known = 0 if number == 0 else _EVERYTHING
        for predecessor in block.predecessors:
            known &= written[predecessor]
        for pc in range(block.start, block.end):
            if effects[pc].reads & ~known:
                found.add(pc)
            known |= effects[pc].writes
    return frozenset(found)


def _union(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def _conflicts(
    blocks: Sequence[Block], instructions: Sequence[Instruction], effects: Sequence[Effect], cells: int
) -> dict[int, frozenset[int]]:
    """Forward: the transfers that may be under way, a bit for each starting instruction."""
    starts = [pc for pc, instruction in enumerate(instructions) if instruction.opcode in DMA_OPCODES]
    if not starts:
        return {}
    bit = {pc: 1 << number for number, pc in enumerate(starts)}
    ended: dict[int, int] = {}
    for pc in starts:
        tag = instructions[pc].immediates[0]
        ended[tag] = ended.get(tag, 0) | bit[pc]

    def passed(pc: int, flying: int) -> int:
        if pc in bit:
            return flying | bit[pc]
        if instructions[pc].opcode == "wait":
            return flying & ~ended.get(instructions[pc].immediates[0], 0)
        return flying

    flying = _forward(blocks, 0, passed)
    found: dict[int, frozenset[int]] = {}
    for number, block in enumerate(blocks):
        now = flying[number]
        for pc in range(block.start, block.end):
            if now:
                met = frozenset(starts[one] for one in bits(now) if _meets(effects[pc], effects[starts[one]], cells))
                if met:
                    found[pc] = met
            now = passed(pc, now)
    return found


def _forward(blocks: Sequence[Block], entry: int, passed) -> list[int]:
    """Sets at the start of each block: the union over all ways there. `passed(pc, set)` is an instruction's part."""
    before = [0] * len(blocks)
    before[0] = entry
    pending = list(range(len(blocks)))[::-1]
    while pending:
        number = pending.pop()
        now = before[number]
        for pc in range(blocks[number].start, blocks[number].end):
            now = passed(pc, now)
        for successor in blocks[number].successors:
            if now & ~before[successor]:
                before[successor] |= now
                pending.append(successor)
    return before


def _meets(effect: Effect, transfer: Effect, cells: int) -> bool:
    """Whether an instruction touches what a transfer writes, or writes what it reads."""
    touched = (effect.reads | effect.writes) & transfer.writes | effect.writes & transfer.reads
    return bool(touched & cells)


def _live(blocks: Sequence[Block], effects: Sequence[Effect]) -> list[int]:
    """Backward: what somebody may read before it is written."""
    live = [0] * len(blocks)
    pending = list(range(len(blocks)))
    while pending:
        number = pending.pop()
        block = blocks[number]
        now = _union(live[successor] for successor in block.successors)
        for pc in range(block.end - 1, block.start - 1, -1):
            now = now & ~effects[pc].writes | effects[pc].uses
        if now != live[number]:
            live[number] = now
            pending.extend(block.predecessors)
    return live


# --- loops that wait -------------------------------------------------------------------------------------------------


def _spins(blocks: Sequence[Block], instructions: Sequence[Instruction], effects: Sequence[Effect]) -> frozenset[int]:
    """Back edges of loops that leave when memory says so: what an atomic or a volatile load gave decides a branch
    out of the loop, or round it."""
    sources = frozenset(pc for pc, instruction in enumerate(instructions) if is_synchronising(instruction))
    if not sources:
        return frozenset()
    decided: set[int] = set()  # instructions under a condition that such values decide
    while True:
        branches = _decided_branches(blocks, instructions, effects, sources | decided)
        under = {pc for branch in branches for pc in range(branch + 1, _join(branch, instructions))}
        if under <= decided:
            break
        decided |= under
    found = set()
    for number, block in enumerate(blocks):
        for successor in block.successors:
            first, last = blocks[successor].start, block.end
            if first >= last or successor > number:
                continue
            inside = any(first <= pc < last for pc in sources)
            if inside and any(first <= pc < last and _leaves(pc, instructions, first, last) for pc in branches):
                found.add(number)
    return frozenset(found)


def _leaves(branch: int, instructions: Sequence[Instruction], first: int, last: int) -> bool:
    """Whether a branch inside [first, last) goes out of it, or round it, or skips what does."""
    target = instructions[branch].immediates[0]
    if target <= first or target >= last:
        return True
    skipped = instructions[branch + 1 : target]
    return any(one.opcode == "jump" and not first < one.immediates[0] < last for one in skipped)


def _join(branch: int, instructions: Sequence[Instruction]) -> int:
    """Where the two ways of a forward branch meet, taking it for structured code; the next instruction of others."""
    target = instructions[branch].immediates[0]
    if not branch < target <= len(instructions):
        return branch + 1
    before = instructions[target - 1]
    if before.opcode == "jump" and before.immediates[0] > target:
        return min(before.immediates[0], len(instructions))
    return target


def _decided_branches(
    blocks: Sequence[Block],
    instructions: Sequence[Instruction],
    effects: Sequence[Effect],
    sources: frozenset[int] | set[int],
) -> set[int]:
    """Branches on values that come from the sources."""

    def passed(pc: int, tainted: int) -> int:
        effect = effects[pc]
        if pc in sources or effect.reads & tainted:
            return tainted | effect.writes
        return tainted & ~effect.writes

    before = _forward(blocks, 0, passed)
    found = set()
    for number, block in enumerate(blocks):
        now = before[number]
        for pc in range(block.start, block.end):
            if instructions[pc].opcode == "branch" and effects[pc].reads & now:
                found.add(pc)
            now = passed(pc, now)
    return found
