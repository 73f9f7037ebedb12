"""Folds, scans and regions mapped over elements.

The order of combining is the machine's, and is the same wherever the elements lie:

* a fold halves its axis: x[0:n/2] and x[n/2:n] are combined element by element, then the halves of the result, until
  one is left;
* a scan goes by doubling distances d = 1, 2, 4, ... (Kogge and Stone): every x[i] with i >= d becomes the
  combination of x[i-d] and x[i].

What does not depend on the order (integers, the greatest and the least) is left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.executor.ops_control import check_assertion
from harness.executor.ops_reduce import accumulate, fold
from harness.npu.isa.program import Combiner as Region
from harness.npu.isa.program import Formal, Instruction, Register, Tile
from harness.npu.simulator.functions import element_of
from harness.npu.simulator.loader import Loader, Step, opcode
from harness.npu.simulator.state import State
from harness.semantics.tensor import Combiner, combiner_for
from harness.semantics.types import Array

Pairwise = Callable[[State, list[Array], list[Array]], list[Array]]

_ORDERED = frozenset({"arith.addf", "arith.mulf"})


def _sources(loader: Loader, instruction: Instruction) -> list[Tile]:
    tiles = [loader.tile(operand, "a source") for operand in instruction.operands]
    loader.expect(bool(tiles), f"{instruction.opcode} of nothing")
    loader.expect(all(tile.extents == tiles[0].extents for tile in tiles), "sources of one extent each")
    return tiles


def _check_types(loader: Loader, region: Region, instruction: Instruction, arguments: Sequence[str]) -> None:
    loader.expect(region.arguments == tuple(arguments), f"the combiner takes {region.arguments}, not {arguments}")
    given = tuple(element_of(operand) for operand in region.results)
    wanted = tuple(element_of(result) for result in instruction.results)
    loader.expect(len(given) >= len(wanted) and set(given) == set(wanted), f"the combiner gives {given}, not {wanted}")


def _pairwise(loader: Loader, pc: int, number: int, rank: int) -> Pairwise:
    """The combiner on arrays of `rank` axes, of which the first counts programs."""
    combine, where = loader.combiner(number, rank), loader.where(pc)
    column = (-1, *(1,) * (rank - 1))

    def pairwise(state: State, left: list[Array], right: list[Array]) -> list[Array]:
        shape = left[0].shape

        def register(operand: Register) -> Array:
            return loader.scalar(operand)(state).reshape(column)

        def check(holds: Array, message: str) -> None:
            check_assertion(state.context, holds, message, where)

        return [np.broadcast_to(part, shape) for part in combine([*left, *right], register, check)]

    return pairwise


def _single(loader: Loader, number: int, element: str) -> tuple[str, Combiner] | None:
    """(name, combiner) of a region that is one known op on its two arguments, whose order does not matter."""
    region = loader.program.combiners[number]
    if len(region.arguments) != 2 or len(region.instructions) != 1 or region.results != (Formal(2, element),):
        return None
    (only,) = region.instructions
    if set(only.operands) != {Formal(0, element), Formal(1, element)}:
        return None
    name = loader.program.functions[only.immediates[0]].name
    combiner = combiner_for(name, element)
    return None if combiner is None else (name, combiner)


@opcode("fold")
def _fold(loader: Loader, pc: int, instruction: Instruction) -> Step:
    tiles = _sources(loader, instruction)
    axis, number = instruction.immediates
    extents = tiles[0].extents
    loader.expect(0 <= axis < len(extents), f"fold along axis {axis} of {len(extents)}")
    loader.expect(len(instruction.results) == len(tiles), "as many results as sources")
    rest = (*extents[:axis], *extents[axis + 1 :])
    for result, tile in zip(instruction.results, tiles, strict=True):
        loader.expect((result.extents if isinstance(result, Tile) else ()) == rest, f"fold gives extents {rest}")
        loader.expect(result.element == tile.element, f"fold of {tile.element} to {result.element}")
    pairwise = _pairwise(loader, pc, number, len(extents) + 1)
    _check_types(loader, loader.program.combiners[number], instruction, [tile.element for tile in tiles] * 2)
    reads = [loader.read(tile, 0) for tile in tiles]
    writes = [loader.write(result) for result in instruction.results]
    single = _single(loader, number, tiles[0].element) if len(tiles) == 1 else None
    if single is not None:
        name, combiner = single
        (read,), (write,) = reads, writes
        if name not in _ORDERED:
            return lambda state: write(state, fold(read(state), axis + 1, combiner))
        pair = combiner.pair
        return lambda state: write(state, halved(read(state), axis + 1, pair))

    def run(state: State) -> None:
        parts = [read(state) for read in reads]
        while parts[0].shape[axis + 1] > 1:
            low, high = zip(*(_halves(part, axis + 1) for part in parts), strict=True)
            parts = pairwise(state, list(low), list(high))
        for write, part in zip(writes, parts, strict=True):
            write(state, part.reshape(part.shape[0], *rest))

    return run


def _halves(values: Array, axis: int) -> tuple[Array, Array]:
    half = values.shape[axis] // 2
    before = (slice(None),) * axis
    return values[(*before, slice(0, half))], values[(*before, slice(half, None))]


def halved(values: Array, axis: int, pair: np.ufunc) -> Array:
    """The elements along `axis` (a power of two of them) combined by halving; that axis is gone."""
    while values.shape[axis] > 1:
        values = pair(*_halves(values, axis))
    return values[(*(slice(None),) * axis, 0)]


@opcode("scan")
def _scan(loader: Loader, pc: int, instruction: Instruction) -> Step:
    tiles = _sources(loader, instruction)
    axis, number, reverse = instruction.immediates
    extents = tiles[0].extents
    loader.expect(0 <= axis < len(extents), f"scan along axis {axis} of {len(extents)}")
    loader.expect(len(instruction.results) == len(tiles), "as many results as sources")
    for result, tile in zip(instruction.results, tiles, strict=True):
        loader.expect(loader.tile(result, "a result").extents == extents, f"scan gives extents {extents}")
        loader.expect(result.element == tile.element, f"scan of {tile.element} to {result.element}")
    pairwise = _pairwise(loader, pc, number, len(extents) + 1)
    _check_types(loader, loader.program.combiners[number], instruction, [tile.element for tile in tiles] * 2)
    reads = [loader.read(tile, 0) for tile in tiles]
    writes = [loader.write(result) for result in instruction.results]
    single = _single(loader, number, tiles[0].element) if len(tiles) == 1 else None

    def turned(values: Array) -> Array:
        return np.flip(values, axis + 1) if reverse else values

    if single is not None and single[0] not in _ORDERED:
        (read,), (write,), combiner = reads, writes, single[1]
        return lambda state: write(state, turned(accumulate(turned(read(state)), axis + 1, combiner)))

    if single is not None:
        (read,), (write,), pair = reads, writes, single[1].pair
        return lambda state: write(state, turned(doubled(turned(read(state)), axis + 1, pair)))

    def run(state: State) -> None:
        parts = [turned(read(state)) for read in reads]
        before = (slice(None),) * (axis + 1)
        distance = 1
        while distance < extents[axis]:
            early = [part[(*before, slice(None, -distance))] for part in parts]
            late = [part[(*before, slice(distance, None))] for part in parts]
            combined = pairwise(state, early, late)
            parts = [
                np.concatenate((part[(*before, slice(None, distance))], one), axis=axis + 1)
                for part, one in zip(parts, combined, strict=True)
            ]
            distance *= 2
        for write, part in zip(writes, parts, strict=True):
            write(state, turned(part))

    return run


def doubled(values: Array, axis: int, pair: np.ufunc) -> Array:
    """Every prefix along `axis` combined, by doubling distances."""
    before = (slice(None),) * axis
    spare: list[Array] = []
    distance = 1
    while distance < values.shape[axis]:
        target = spare.pop() if spare else np.empty(values.shape, values.dtype)
        target[(*before, slice(None, distance))] = values[(*before, slice(None, distance))]
        early, late = values[(*before, slice(None, -distance))], values[(*before, slice(distance, None))]
        pair(early, late, out=target[(*before, slice(distance, None))])
        if distance > 1:
            spare.append(values)  # made here, and free again
        values, distance = target, distance * 2
    return values


@opcode("map")
def _map(loader: Loader, pc: int, instruction: Instruction) -> Step:
    """The region sees `pack` elements of each operand at a time: neighbours along the last axis."""
    tiles = _sources(loader, instruction)
    number, pack = instruction.immediates
    extents = tiles[0].extents
    loader.expect(bool(extents) and pack > 0 and extents[-1] % pack == 0, f"map of {pack} neighbours of {extents}")
    for result in instruction.results:
        loader.expect(loader.tile(result, "a result").extents == extents, f"map gives extents {extents}")
    pairwise = _pairwise(loader, pc, number, len(extents) + 1)
    arguments = [tile.element for tile in tiles for _ in range(pack)]
    region = loader.program.combiners[number]
    _check_types(loader, region, instruction, arguments)
    loader.expect(len(region.results) == pack * len(instruction.results), f"map gives {pack} values a result")
    reads = [loader.read(tile, 0) for tile in tiles]
    writes = [loader.write(result) for result in instruction.results]

    def run(state: State) -> None:
        packed = [values[..., part::pack] for values in (read(state) for read in reads) for part in range(pack)]
        given = pairwise(state, packed, [])
        for place, write in enumerate(writes):
            parts = np.stack(given[place * pack : (place + 1) * pack], axis=-1)
            write(state, parts.reshape(parts.shape[0], *extents))

    return run
