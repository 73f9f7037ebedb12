"""What instructions cost on a machine: the cycles for which they occupy engines, and how long their results take.

Here are the instructions whose cost the program's text decides; transfers are in `transfers`. `docs/npu.md` has
every rule in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.errors import IllegalInstruction
from harness.npu.isa.opcodes import OPCODES, Engine
from harness.npu.isa.program import Constant, Function, Instruction, Operand, Program, Register, Tile
from harness.npu.machine import Machine
from harness.npu.products import passes_of, scaled_element
from harness.semantics import numpy_dtype


@dataclass(frozen=True)
class Stage:
    """The part of an instruction that one engine does: it is busy for `occupancy` cycles from its start, and its
    results are there `latency` cycles after that."""

    engine: Engine
    occupancy: int
    latency: int


@dataclass(frozen=True)
class Cost:
    """Of one instruction: its stages, each of which starts when the one before has ended, and its work.

    bytes_in, bytes_out   moved from and to DRAM, whole bursts
    ideal   cycles that an engine of one core would need for the work alone, all its lanes full
    operations   multiplications, additions and elementary functions of single elements
    """

    stages: tuple[Stage, ...]
    bytes_in: int = 0
    bytes_out: int = 0
    ideal: tuple[tuple[Engine, float], ...] = ()
    operations: int = 0


_DIVISIONS = frozenset(
    [f"arith.{name}" for name in ("divf", "divsi", "divui", "remf", "remsi", "remui", "ceildivsi", "ceildivui")]
    + ["arith.floordivsi", "tt.precise_divf", "tt.approx_divf"]
)
# Elementary functions that a unit computes under another name, or as another function of it.
_COMPUTED_BY = {"expm1": "exp", "log10": "log2", "log1p": "log", "erfc": "erf", "precise_sqrt": "sqrt"}
# Functions of `math` that are one vector instruction.
_PLAIN_MATH = frozenset(
    [f"math.{name}" for name in ("absf", "absi", "ceil", "copysign", "floor", "fma", "round", "roundeven", "trunc")]
    + ["math.ctlz", "math.ctpop", "math.cttz"]
)


def bits_of(element: str) -> int:
    """Of an element in a scratchpad; an i1 is a byte."""
    return 8 * numpy_dtype(element).itemsize


def lane_extents(tile: Tile, lanes: int) -> tuple[int, ...]:
    """The extents at one lane: those of the tile, the lane axis counting its runs of `lanes` indices."""
    return tuple(math.ceil(n / lanes) if axis == tile.lane_axis else n for axis, n in enumerate(tile.extents))


def elements_per_lane(tile: Tile, lanes: int) -> int:
    """That the busiest lane holds; all of them for a uniform tile."""
    return math.prod(lane_extents(tile, lanes))


def tiles_of(operands: tuple[Operand | None, ...]) -> tuple[Tile, ...]:
    return tuple(operand for operand in operands if isinstance(operand, Tile))


@dataclass
class _Amount:
    """Cycles of the vector and of the special function unit, one after the other, and the longer latency."""

    cycles: dict[Engine, float] = field(default_factory=dict)
    latency: int = 0

    def add(self, engine: Engine, cycles: float, latency: int) -> None:
        self.cycles[engine] = self.cycles.get(engine, 0) + cycles
        self.latency += latency


class Costs:
    """The costs of the instructions of one program on one machine."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self._makers: dict[str, Callable[[Instruction], Cost]] = {
            "vector": self._vector,
            "copy": self._plain,
            "iota": self._plain,
            "assert": self._assert,
            "relayout": self._relayout,
            "fold": self._fold,
            "scan": self._scan,
            "lookup": self._lookup,
            "histogram": self._histogram,
            "map": self._map,
            "inline_assembly": self._assembly,
            "matmul": self._matmul,
            "matmul_scaled": self._matmul_scaled,
        }

    def of(self, instruction: Instruction) -> Cost | None:
        """The cost, or None where the scalar unit alone or a transfer engine carries the instruction out.

        Raises Refusal for a product that the array does not compute, IllegalInstruction for operands that are none.
        """
        maker = self._makers.get(instruction.opcode)
        if maker is None or (instruction.opcode == "assert" and not tiles_of(instruction.operands)):
            return None
        return maker(instruction)

    # Elementwise

    def _vector(self, instruction: Instruction) -> Cost:
        tile = _tile(instruction.results)
        return self._elementwise(tile, [self.program.functions[instruction.immediates[0]]], 1)

    def _plain(self, instruction: Instruction) -> Cost:
        tile = _tile(instruction.results)
        return self._elementwise(tile, [_move(tile.element)], 1)

    def _assert(self, instruction: Instruction) -> Cost:
        tile = tiles_of(instruction.operands)[0]
        return self._elementwise(tile, [_move(tile.element)], 1)

    def _map(self, instruction: Instruction) -> Cost:
        """Of `pack` elements at a time; each result is one of the region's."""
        combiner, pack = instruction.immediates
        tile = _tile(instruction.results)
        return self._elementwise(tile, self._functions(combiner), 1 / max(1, pack))

    def _assembly(self, instruction: Instruction) -> Cost:
        """As many vector instructions as the text has, on `pack` elements each."""
        text, _, pack = instruction.immediates
        count = max(1, sum(bool(line.strip()) for line in self.program.texts[text].replace("\n", ";").split(";")))
        tile = _tile(instruction.results or instruction.operands)
        return self._elementwise(tile, [_move(tile.element)] * count, 1 / max(1, pack))

    def _elementwise(self, tile: Tile, functions: list[Function], share: float) -> Cost:
        uniform = tile.lane_axis is None
        count = elements_per_lane(tile, self.machine.lanes) * share
        amount = _Amount()
        for function in functions:
            self._apply(amount, function, count, 1 if uniform else 0)
        return self._cost(amount, functions, math.prod(tile.extents) * share)

    def _apply(self, amount: _Amount, function: Function, count: float, at_most: int) -> None:
        """Adds what a function of `count` elements at each lane takes; `at_most` elements a cycle, 0: no limit."""
        engine, rate, times, latency = self._rate(function)
        rate = min(rate, at_most) if at_most else rate
        amount.add(engine, times * math.ceil(count / rate), times * latency)

    def _rate(self, function: Function) -> tuple[Engine, float, int, int]:
        """The engine, the elements that it takes a cycle and lane, how often they go through, and the latency."""
        special, vector = self.machine.special, self.machine.vector
        width = max(bits_of(element) for element in (*function.operands, *function.results))
        halves = max(1, width // 32)  # the special function unit is 32 bits wide
        if function.name in _DIVISIONS:
            return Engine.SPECIAL, special.divisions_per_cycle / halves, 1, special.division_latency
        if self._computes(function):
            return Engine.SPECIAL, special.elements_per_cycle / halves, 1, special.latency
        times = vector.software_operations if _is_elementary(function) else 1
        return Engine.VECTOR, max(1, vector.register_bits // width), times, vector.latency

    def _computes(self, function: Function) -> bool:
        """Whether the special function unit does."""
        if not _is_elementary(function):
            return False
        name = dict(function.attributes).get("symbol", function.name)
        short = str(name).split(".")[-1].removeprefix("__nv_").removeprefix("__ocml_").removeprefix("fast_")
        short = short.removesuffix("_f32").removesuffix("_f64")
        candidates = (short, short.removesuffix("f"))
        return any(_COMPUTED_BY.get(one, one) in self.machine.special.functions for one in candidates)

    def _cost(self, amount: _Amount, functions: list[Function], elements: float) -> Cost:
        """Of functions applied to `elements` elements altogether."""
        ideal: dict[Engine, float] = {}
        for function in functions:
            engine, rate, times, _ = self._rate(function)
            ideal[engine] = ideal.get(engine, 0) + times * elements / (rate * self.machine.lanes)
        order = [engine for engine in (Engine.SPECIAL, Engine.VECTOR) if engine in amount.cycles]
        stages = tuple(
            Stage(engine, math.ceil(amount.cycles[engine]), amount.latency if engine is order[-1] else 0)
            for engine in order
        )
        return Cost(stages, ideal=tuple(ideal.items()), operations=math.ceil(elements * len(functions)))

    def _functions(self, combiner: int) -> list[Function]:
        """Of a combiner's region; one that only hands on a value moves it. Assertions are for the host."""
        region = self.program.combiners[combiner]
        scalars = [instruction for instruction in region.instructions if instruction.opcode == "scalar"]
        functions = [self.program.functions[instruction.immediates[0]] for instruction in scalars]
        return functions or [_move(region.arguments[0])]

    # Along an axis

    def _fold(self, instruction: Instruction) -> Cost:
        """Halving: each step combines half of the elements that are left."""
        axis, combiner = instruction.immediates
        source = _tile(instruction.operands)
        steps = _steps(source.extents[axis])
        counts = [math.prod(source.extents) >> step for step in range(1, steps + 1)]
        return self._along(instruction, axis, self._functions(combiner), counts)

    def _scan(self, instruction: Instruction) -> Cost:
        """Kogge and Stone: each step combines nearly all elements."""
        axis, combiner, _ = instruction.immediates
        source = _tile(instruction.operands)
        counts = [math.prod(source.extents)] * _steps(source.extents[axis])
        return self._along(instruction, axis, self._functions(combiner), counts)

    def _along(self, instruction: Instruction, axis: int, functions: list[Function], counts: list[int]) -> Cost:
        """Of steps that combine `counts` elements each, and move them between lanes along the lane axis."""
        source = _tile(instruction.operands)
        uniform = source.lane_axis is None
        spread = 1 if uniform else min(self.machine.lanes, source.extents[source.lane_axis or 0])
        per_lane = [max(1, math.ceil(count / spread)) for count in counts]
        amount = _Amount()
        for count in per_lane:
            for function in functions:
                self._apply(amount, function, count, 1 if uniform else 0)
        if not counts:
            return self._elementwise(source, [_move(source.element)], 1)
        combined = self._cost(amount, functions, sum(counts))
        if uniform or axis != source.lane_axis:
            return combined
        bits = sum(bits_of(tile.element) for tile in tiles_of(instruction.operands))
        hops = [min(self.machine.lanes, source.extents[axis]) >> step for step in range(1, len(counts) + 1)]
        moves = [self._exchange(count, bits, max(1, hop)) for count, hop in zip(per_lane, hops, strict=True)]
        return _joined(moves, combined)

    def _exchange(self, elements: int, bits: int, hops: int) -> Cost:
        """Elements of each lane, moved to a lane `hops` further."""
        machine, exchange = self.machine, self.machine.exchange
        words = math.ceil(elements * bits / exchange.bits)
        if exchange.kind == "full":
            return Cost((Stage(Engine.VECTOR, words, exchange.latency),))
        if exchange.kind == "neighbour":
            return Cost((Stage(Engine.VECTOR, words * hops, exchange.latency * hops),))
        size = elements * machine.lanes * bits // 8
        cycles = math.ceil(size / min(machine.dma.bytes_per_cycle, machine.dram_bytes_per_cycle))
        latency = machine.dma.latency + machine.dram_latency
        cycles = max(cycles, machine.dma.setup_cycles)
        stages = (Stage(Engine.DMA_OUT, cycles, latency), Stage(Engine.DMA_IN, cycles, latency))
        return Cost(stages, bytes_in=size, bytes_out=size)

    def _relayout(self, instruction: Instruction) -> Cost:
        """A copy where every element stays in its lane."""
        source, tile = _tile(instruction.operands), _tile(instruction.results)
        if source.lane_axis == tile.lane_axis and source.extents == tile.extents:
            return self._plain(instruction)
        return self._moved(source, tile)

    def _lookup(self, instruction: Instruction) -> Cost:
        """One element a cycle and lane; between lanes where the axis is spread over them."""
        (axis,) = instruction.immediates
        source, tile = _tile(instruction.operands), _tile(instruction.results)
        if source.lane_axis == axis:
            return self._moved(source, tile)
        count = elements_per_lane(tile, self.machine.lanes)
        return Cost((Stage(Engine.VECTOR, count, self.machine.vector.latency),), operations=math.prod(tile.extents))

    def _moved(self, source: Tile, tile: Tile) -> Cost:
        counts = (elements_per_lane(one, self.machine.lanes) for one in (source, tile))
        return self._exchange(max(counts), bits_of(tile.element), max(1, self.machine.lanes // 2))

    def _histogram(self, instruction: Instruction) -> Cost:
        """One element a cycle into the bins that each lane keeps, which are then added up across lanes."""
        source, tile = _tile(instruction.operands), _tile(instruction.results)
        count = elements_per_lane(source, self.machine.lanes)
        counted = Cost(
            (Stage(Engine.VECTOR, count, self.machine.vector.latency),), operations=math.prod(source.extents)
        )
        if source.lane_axis is None:
            return counted
        bins, across = math.prod(tile.extents), source.extents[source.lane_axis]
        hops = [min(self.machine.lanes, across) >> step for step in range(1, _steps(across) + 1)]
        moves = [self._exchange(bins, bits_of(tile.element), max(1, hop)) for hop in hops]
        return _joined(moves, counted)

    # Products

    def _matmul(self, instruction: Instruction) -> Cost:
        a, b = tiles_of(instruction.operands[:2])
        passes = passes_of(instruction, self.machine)
        return self._product(a.extents[:-2], a.extents[-2], a.extents[-1], b.extents[-1], passes)

    def _matmul_scaled(self, instruction: Instruction) -> Cost:
        a, b = instruction.operands[0], instruction.operands[2]
        if not isinstance(a, Tile) or not isinstance(b, Tile):
            raise IllegalInstruction("the operands of a product are tiles")
        passes = passes_of(instruction, self.machine)
        result = _tile(instruction.results)
        packed = 2 if scaled_element(instruction.immediates[0]) == "f4E2M1FN" and instruction.immediates[3] else 1
        rows, columns = result.extents[-2:]
        return self._product(a.extents[:-2], rows, a.extents[-1] * packed, columns, passes)

    def _product(self, batch: tuple[int, ...], m: int, k: int, n: int, passes: int) -> Cost:
        """Each chunk of b stays in the array while the rows of a pass; the next one is loaded meanwhile."""
        matrix = self.machine.matrix
        chunks = math.prod(batch) * math.ceil(k / matrix.rows) * math.ceil(n / matrix.columns)
        occupancy = passes * chunks * max(m, matrix.load_cycles)
        multiplications = math.prod(batch) * m * k * n
        ideal = passes * multiplications / (matrix.rows * matrix.columns)
        stage = Stage(Engine.MATRIX, occupancy, matrix.load_cycles + matrix.latency)
        return Cost((stage,), ideal=((Engine.MATRIX, ideal),), operations=2 * multiplications)


def engine_of(instruction: Instruction) -> Engine:
    """That its opcode names; costs say it more closely."""
    return OPCODES[instruction.opcode].engine


def element_of(operand: Operand) -> str:
    return operand.element


def is_scalar(operand: Operand | None) -> bool:
    """Whether the scalar unit reads it when it issues the instruction."""
    return isinstance(operand, Register | Constant)


def _tile(operands: tuple[Operand | None, ...]) -> Tile:
    """The first tile. Raises IllegalInstruction where there is none."""
    tiles = tiles_of(operands)
    if not tiles:
        raise IllegalInstruction("an instruction of the vector or matrix unit without a tile")
    return tiles[0]


def _move(element: str) -> Function:
    return Function("copy", (), (element,), (element,))


def _is_elementary(function: Function) -> bool:
    """Whether it is more than an arithmetic instruction or two."""
    names = ("math.", "tt.extern_elementwise", "tt.precise_sqrt")
    return function.name.startswith(names) and function.name not in _PLAIN_MATH


def _steps(extent: int) -> int:
    return max(0, math.ceil(math.log2(extent)))


def _joined(moves: list[Cost], combined: Cost) -> Cost:
    """Movements between lanes and the work between them, engine by engine: occupancies and latencies added up."""
    cycles: dict[Engine, list[int]] = {}
    for stage in (stage for cost in (*moves, combined) for stage in cost.stages):
        entry = cycles.setdefault(stage.engine, [0, 0])
        entry[0] += stage.occupancy
        entry[1] += stage.latency
    stages = tuple(Stage(engine, occupancy, latency) for engine, (occupancy, latency) in cycles.items())
    size_in, size_out = sum(cost.bytes_in for cost in moves), sum(cost.bytes_out for cost in moves)
    return Cost(stages, size_in, size_out, combined.ideal, combined.operations)
