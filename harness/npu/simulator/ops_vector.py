"""Elementwise instructions on tiles, and those that move elements about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.executor.ops_inline_asm import known_assembly
from harness.npu.isa.program import Instruction, Operand, Tile
from harness.npu.simulator.functions import element_of, is_cast
from harness.npu.simulator.layout import is_merged, span_of
from harness.npu.simulator.loader import Loader, Read, Step, opcode
from harness.npu.simulator.state import State
from harness.semantics import numpy_dtype
from harness.semantics.types import Array


def check_placement(loader: Loader, result: Tile, operands: Sequence[Operand | None]) -> None:
    """Raises IllegalInstruction unless every tile has the result's extents and lies in the same lanes, or is uniform
    and does not vary along the lane axis."""
    for operand in operands:
        if not isinstance(operand, Tile):
            continue
        loader.expect(
            operand.extents == result.extents, f"a tile of {operand.extents} beside a result of {result.extents}"
        )
        if operand.lane_axis == result.lane_axis:
            continue
        loader.expect(
            operand.lane_axis is None,
            f"the lanes are axis {operand.lane_axis} of an operand and axis {result.lane_axis} of the result",
        )
        axis = result.lane_axis
        varies = axis is not None and operand.extents[axis] > 1 and operand.strides[axis] != 0
        loader.expect(not varies, f"a uniform operand varies along the lane axis {axis}")


def _aligned_reads(loader: Loader, result: Tile, operands: Sequence[Operand | None]) -> tuple[int, list[Read]]:
    """(number of the result's view, readers of the operands), all of one shape."""
    tiles = [result, *(operand for operand in operands if isinstance(operand, Tile))]
    split = None if all(is_merged(tile, loader.lanes) for tile in tiles) else result.lane_axis
    rank = len(result.extents) + (split is not None)
    reads: list[Read] = []
    for operand in operands:
        if isinstance(operand, Tile):
            number = loader.view(operand, split)
            reads.append(lambda state, number=number: state.views[number])
        else:
            reads.append(loader.spread(operand, rank))
    return loader.view(result, split), reads


@opcode("vector")
def _vector(loader: Loader, pc: int, instruction: Instruction) -> Step:
    function, compute = loader.function(instruction.immediates[0])
    result = loader.tile(instruction.results[0], "the result")
    operands = instruction.operands
    elements = tuple(element_of(operand) for operand in operands)
    loader.expect(elements == function.operands, f"{function.name} takes {function.operands}, not {elements}")
    loader.expect(function.results == (result.element,), f"{function.name} gives {function.results}")
    check_placement(loader, result, operands)
    place, reads = _aligned_reads(loader, result, operands)
    if isinstance(compute, np.ufunc):
        return _direct(compute, place, reads)
    if is_cast(function):
        return _copying(place, reads[0])
    if function.name == "arith.select" and not _overlaps(loader, result, operands[:2]):
        return _selecting(place, reads)
    if function.name == "arith.select" and operands[1] == result and not _overlaps(loader, result, operands[:1]):
        return _replacing(place, reads)
    if len(reads) == 2:
        left, right = reads

        def binary(state: State) -> None:
            state.views[place][...] = compute(left(state), right(state))

        return binary

    def run(state: State) -> None:
        state.views[place][...] = compute(*(read(state) for read in reads))

    return run


def _direct(compute: np.ufunc, place: int, reads: Sequence[Read]) -> Step:
    """A function of NumPy's that writes where the result lies."""
    if len(reads) == 1:
        (only,) = reads

        def unary(state: State) -> None:
            compute(only(state), out=state.views[place])

        return unary
    if len(reads) == 2:
        left, right = reads

        def binary(state: State) -> None:
            compute(left(state), right(state), out=state.views[place])

        return binary

    def run(state: State) -> None:
        compute(*(read(state) for read in reads), out=state.views[place])

    return run


def _copying(place: int, read: Read) -> Step:
    def run(state: State) -> None:
        np.copyto(state.views[place], read(state), casting="unsafe")

    return run


def _selecting(place: int, reads: Sequence[Read]) -> Step:
    """Two copies; the result overlaps neither the condition nor what the condition picks."""
    condition, left, right = reads

    def run(state: State) -> None:
        target = state.views[place]
        np.copyto(target, right(state))
        np.copyto(target, left(state), where=condition(state))

    return run


def _replacing(place: int, reads: Sequence[Read]) -> Step:
    """One copy: what the condition picks is there already."""
    condition, _, right = reads

    def run(state: State) -> None:
        np.copyto(state.views[place], right(state), where=np.logical_not(condition(state)))

    return run


def _overlaps(loader: Loader, result: Tile, operands: Sequence[Operand | None]) -> bool:
    """Whether the result may share bytes with the operands."""
    end = result.address + span_of(result, loader.lanes)
    tiles = [operand for operand in operands if isinstance(operand, Tile)]
    return any(
        tile.address < end and result.address < tile.address + span_of(tile, loader.lanes)
        for tile in tiles
        if (tile.lane_axis is None) == (result.lane_axis is None)
    )


@opcode("copy")
def _copy(loader: Loader, pc: int, instruction: Instruction) -> Step:
    result, source = loader.tile(instruction.results[0], "the result"), instruction.operands[0]
    loader.expect(element_of(source) == result.element, f"copy of {element_of(source)} to {result.element}")
    check_placement(loader, result, [source])
    place, (read,) = _aligned_reads(loader, result, [source])

    def run(state: State) -> None:
        np.copyto(state.views[place], read(state))

    return run


@opcode("iota")
def _iota(loader: Loader, pc: int, instruction: Instruction) -> Step:
    result = loader.tile(instruction.results[0], "the result")
    start, axis = instruction.immediates
    loader.expect(0 <= axis < len(result.extents), f"iota along axis {axis} of {len(result.extents)}")
    shape = [1] * (len(result.extents) + 1)
    shape[axis + 1] = result.extents[axis]
    numbers = np.arange(start, start + result.extents[axis]).astype(numpy_dtype(result.element)).reshape(shape)
    write = loader.write(result)
    return lambda state: write(state, numbers)


@opcode("relayout")
def _relayout(loader: Loader, pc: int, instruction: Instruction) -> Step:
    result = loader.tile(instruction.results[0], "the result")
    source = loader.tile(instruction.operands[0], "the source")
    loader.expect(source.element == result.element, f"relayout of {source.element} to {result.element}")
    counts = [int(np.prod(tile.extents)) for tile in (source, result)]
    loader.expect(counts[0] == counts[1], f"relayout of {counts[0]} elements to {counts[1]}")
    read, write = loader.read(source, 0), loader.write(result)
    if source.extents == result.extents:
        return lambda state: write(state, read(state))
    extents = result.extents
    return lambda state: write(state, read(state).reshape(-1, *extents))


@opcode("lookup")
def _lookup(loader: Loader, pc: int, instruction: Instruction) -> Step:
    result = loader.tile(instruction.results[0], "the result")
    source, indices = (loader.tile(operand, "an operand") for operand in instruction.operands)
    axis = instruction.immediates[0]
    loader.expect(result.extents == indices.extents, "lookup gives a tile of the indices' extents")
    loader.expect(source.element == result.element, f"lookup of {source.element} to {result.element}")
    loader.expect(
        len(source.extents) == len(indices.extents) and 0 <= axis < len(source.extents)
        and all(n <= m for a, (n, m) in enumerate(zip(indices.extents, source.extents, strict=True)) if a != axis),
        f"lookup along axis {axis} of {source.extents} by indices of {indices.extents}",
    )  # fmt: skip
    read, read_indices, write = loader.read(source, 0), loader.read(indices, 0), loader.write(result)
    limit = source.extents[axis]

    def run(state: State) -> None:
        # An index outside is undefined; it reads the nearest element rather than somebody else's.
        inside = np.clip(read_indices(state).astype(np.int64), 0, limit - 1)
        write(state, np.take_along_axis(read(state), inside, axis + 1))

    return run


@opcode("histogram")
def _histogram(loader: Loader, pc: int, instruction: Instruction) -> Step:
    result = loader.tile(instruction.results[0], "the result")
    source, mask = instruction.operands
    loader.expect(len(result.extents) == 1 and len(loader.tile(source, "the source").extents) == 1, "of one axis each")
    bins, dtype = result.extents[0], numpy_dtype(result.element)
    read, write = loader.read(source, 1), loader.write(result)
    read_mask = None if mask is None else loader.read(mask, 1)

    def run(state: State) -> None:
        values = read(state)
        programs = values.shape[0]
        # A value outside the bins is undefined; it is counted nowhere.
        counted = (values >= 0) & (values < bins)
        if read_mask is not None:
            counted &= read_mask(state)
        flat = (values.astype(np.int64) + np.arange(programs, dtype=np.int64)[:, None] * bins)[counted]
        write(state, np.bincount(flat, minlength=programs * bins).reshape(programs, bins).astype(dtype))

    return run


@opcode("inline_assembly")
def _inline_assembly(loader: Loader, pc: int, instruction: Instruction) -> Step:
    """Only what Triton's own library writes, known by its text."""
    loader.expect(len(instruction.results) == 1 and len(instruction.operands) == 1, "of one source and one result")
    result = loader.tile(instruction.results[0], "the result")
    source = instruction.operands[0]
    check_placement(loader, result, [source])
    kinds = (element_of(source) or "", result.element)
    convert: Callable[[Array], Array] = known_assembly(loader.text(instruction.immediates[0]), kinds)
    read, write, extents = loader.read(source, len(result.extents)), loader.write(result), result.extents

    def run(state: State) -> None:
        values = read(state)
        write(state, convert(np.ascontiguousarray(np.broadcast_to(values, (values.shape[0], *extents)))))

    return run
