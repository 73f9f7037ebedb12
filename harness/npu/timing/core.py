"""One core running its programs: when each instruction starts and ends.

The scalar unit takes one instruction a cycle, in order, and hands those of the other engines to their queues. An
engine takes its instructions in order; each starts when its engine is free and the bytes that it reads and writes
are. Programs follow one another without a pause: the next one's transfers run under this one's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.cases.location import SourceLocation
from harness.errors import Deadlock, HarnessError
from harness.npu.isa.opcodes import OPCODES, Engine
from harness.npu.isa.program import Instruction, Operand, Program, Register, Tile
from harness.npu.isa.transfers import transfer_of
from harness.npu.machine import Machine
from harness.npu.timing.costs import Cost, Costs, Stage, tiles_of
from harness.npu.timing.footprints import Footprints
from harness.npu.timing.state import Branched, Clipped, Computed, Given, Key, Snapshot, State
from harness.npu.timing.steady import PERIODS, Frame, Steady
from harness.npu.timing.transfers import Box, atomic_cost, list_cost, scalar_access_cost, transfer_cost
from harness.npu.timing.values import UNKNOWN, Registers, Unknown, Value
from harness.npu.timing.work import CoreRun, Event, Work

# Instructions stepped through before a program counts as one that does not end.
WATCHDOG = 3_000_000
_RECORD = 1_000_000  # decisions remembered; a longer trip of a loop is not skipped
_LINEAR = -4  # where values keep the program's number in the grid; -1 to -3 are its x, y and z
_COUNTED = -10  # where they keep, downwards, the counts of a profile


class NeedsProfile(HarnessError):
    """A branch depends on a value that is only known in a run that computes values."""


class LostValue(Exception):
    """A register whose value was skipped with the trips of a loop is needed after all."""

    def __init__(self, register: int) -> None:
        super().__init__(register)
        self.register = register


class Core:
    """Runs one core's share of the grid once."""

    def __init__(
        self, program: Program, machine: Machine, work: Work, keep: frozenset[int], events: bool, skipping: bool
    ) -> None:
        self.program, self.machine, self.work = program, machine, work
        self.state = State()
        self.stepped = 0
        self.events: list[Event] | None = [] if events else None
        self._registers = Registers(program.functions)
        self._registers.values = self.state.values
        self._costs = Costs(program, machine)
        self._fixed: dict[int, Cost | None] = {}
        self._footprints = Footprints(program)
        self._steady = Steady(program, keep) if skipping else None
        self._loops: list[Frame] = []
        self._rows = [Frame(axis, axis) for axis in range(3)]
        self._latches = _latches(program)
        self._control: dict[str, Callable[[int, Instruction], int | None]] = {
            "halt": self._halt,
            "jump": self._jump,
            "branch": self._branch,
            "wait": self._wait,
            "scalar": self._scalar,
            "extract": self._extract,
        }
        for engine in Engine:
            self.state.queues["starts", engine.value] = [0] * machine.scalar.queue_depth
            units = machine.dma.engines if engine in (Engine.DMA_IN, Engine.DMA_OUT) else 1
            self.state.queues["units", engine.value] = [0] * units
        self.state.clocks["issue",] = 0

    def run(self) -> CoreRun:
        """Raises NeedsProfile, LostValue, Deadlock, and what costs raise."""
        number: int | None = self.work.core
        while number is not None:
            self._place(number)
            self._loops.clear()
            pc: int | None = 0
            while pc is not None:
                pc = self._step(pc)
            number = self._next_program(number)
        ends = [time for key, time in self.state.clocks.items() if key[0] == "end"]
        cycles = max([self.state.clocks["issue",], *ends])
        return CoreRun(cycles, self.state.totals.values, self.events or [], self.stepped)

    # Programs of the grid

    def _place(self, number: int) -> None:
        x, y, _ = self.work.grid
        place = (number % x, number // x % y, number // (x * y))
        self.state.values.update({-1 - axis: where for axis, where in enumerate(place)})
        self.state.values[_LINEAR] = number

    def _next_program(self, number: int) -> int | None:
        """The core's next program; programs of a row of the grid, rows and planes are the trips of three loops."""
        following = number + self.work.cores
        if following >= self.work.grid[0] * self.work.grid[1] * self.work.grid[2]:
            return None
        before = [self.state.values[-1 - axis] for axis in range(3)]
        self._place(following)
        after = [self.state.values[-1 - axis] for axis in range(3)]
        level = 2 if before[2] != after[2] else 1 if before[1] != after[1] else 0
        for row in self._rows[:level]:
            row.boundaries.clear()
        self._loops.clear()
        self._end_trip(self._rows[level], [self._trips_in_row(level, period) for period in PERIODS])
        linear = self.state.values[_LINEAR]
        return linear if isinstance(linear, int) else None

    def _trips_in_row(self, level: int, period: int) -> float:
        """How often the last `period` programs, rows or planes can follow one another before the row ends."""
        boundaries = self._rows[level].boundaries
        if len(boundaries) < period:
            return 0
        then = boundaries[-period].values
        steps = [_whole(self.state.values[-1 - axis]) - _whole(then[-1 - axis]) for axis in range(3)]
        if steps[level] <= 0 or any(steps[axis] for axis in range(3) if axis != level):
            return 0
        left = self.work.grid[level] - 1 - _whole(self.state.values[-1 - level])
        return left // steps[level] + 1

    def _end_trip(self, frame: Frame, most: list[float]) -> None:
        if len(self.state.record) > _RECORD:
            self._forget()
        skip = self._steady.skip(frame, self.state, most) if self._steady else None
        if skip is None:
            return
        if skip.trips is None:
            raise Deadlock(f"{self.program.name} has a loop that never ends", self._where(frame.header))
        if self.events is not None:
            self._note_skip(skip.before, skip.trips)
        self.state.advance(skip.before, skip.trips, skip.lost)

    def _forget(self) -> None:
        self.state.record.clear()
        for frame in (*self._loops, *self._rows):
            frame.boundaries.clear()

    def _note_skip(self, before: Snapshot, trips: int) -> None:
        """One event an engine for the trips that are skipped: as long as its clock moves in them."""
        for engine in Engine:
            busy = ("busy", engine.value)
            if self.events is None or self.state.totals.values.get(busy, 0) == before.totals.get(busy, 0):
                continue
            start, then = self._free_at(engine), before.clocks["issue",]
            if engine is not Engine.SCALAR:
                then = max(time for key, time in before.clocks.items() if key[:2] == ("units", engine.value))
            self.events.append(Event(engine, 0, start, trips * (start - then), -1, trips))

    def _free_at(self, engine: Engine) -> int:
        if engine is Engine.SCALAR:
            return self.state.clocks["issue",]
        return max(self.state.queues["units", engine.value])

    # Instructions

    def _step(self, pc: int) -> int | None:
        """Returns the next pc, or None where the program ends."""
        self.stepped += 1
        if self.stepped > WATCHDOG:
            hint = "a loop without an end, or one whose trips all differ"
            raise Deadlock(f"timing {self.program.name} took {WATCHDOG} instructions", self._where(pc), hint)
        if not 0 <= pc < len(self.program.instructions):
            return None
        instruction = self.program.instructions[pc]
        control = self._control.get(instruction.opcode)
        if control is not None:
            return control(pc, instruction)
        try:
            cost = self._cost(pc, instruction)
        except HarnessError as error:
            raise type(error)(error.what, error.where or self._where(pc), error.hint) from error
        if cost is None:
            return self._on_scalar_unit(pc, instruction)
        self._on_engines(pc, instruction, cost)
        return pc + 1

    def _where(self, pc: int) -> SourceLocation | None:
        return self.program.origins[pc].where if pc < len(self.program.origins) else None

    def _issue(self, pc: int, instruction: Instruction, *times: int) -> int:
        """The cycle in which the scalar unit issues the instruction, with its registers ready."""
        operands = (*instruction.operands, *instruction.results)
        registers = [("register", one.number) for one in operands if isinstance(one, Register)]
        start = self.state.latest([("issue",), *registers], *times)
        self.state.clocks["issue",] = start + 1
        self.state.totals.add(("busy", Engine.SCALAR.value), 1)
        if self.events is not None:
            self.events.append(Event(Engine.SCALAR, 0, start, 1, pc))
        return start

    def _write(self, operand: Operand, value: Value, ready: int) -> None:
        if isinstance(operand, Register):
            self.state.values[operand.number] = value
            self.state.clocks["register", operand.number] = ready

    def _halt(self, pc: int, instruction: Instruction) -> None:
        self._issue(pc, instruction)

    def _jump(self, pc: int, instruction: Instruction) -> int:
        self._issue(pc, instruction)
        return self._to(pc, instruction.immediates[0])

    def _branch(self, pc: int, instruction: Instruction) -> int:
        self._issue(pc, instruction)
        value = self._registers.read(instruction.operands[0])
        if isinstance(value, Unknown):
            taken, counted = self._from_profile(pc, value)
        else:
            taken, counted = bool(value), None
        self.state.record.append(Branched(pc, taken, counted))
        return self._to(pc, instruction.immediates[0]) if taken else pc + 1

    def _to(self, pc: int, target: int) -> int:
        """A jump; one backwards ends a trip of a loop."""
        if target > pc:
            return target
        while self._loops and self._loops[-1].header != target and not self._encloses(self._loops[-1], target, pc):
            self._loops.pop()
        if not self._loops or self._loops[-1].header != target:
            self._loops.append(Frame(target, self._latches[target]))
        self._end_trip(self._loops[-1], [float("inf")] * len(PERIODS))
        return target

    def _encloses(self, frame: Frame, target: int, pc: int) -> bool:
        return frame.header < target and pc <= frame.last

    def _from_profile(self, pc: int, value: Unknown) -> tuple[bool, int]:
        """The frequent side as often in a row as the profile says, then the rare one once.

        Returns the side, and how often the frequent one is still to come.
        """
        taken, passed = self.work.profile.branches.get(pc, (0, 0)) if self.work.profile else (0, 0)
        if not taken + passed:
            if value.register is not None:
                raise LostValue(value.register)
            hint = "give the counts of a run that computed values"
            raise NeedsProfile("a branch depends on a value from memory", self._where(pc), hint)
        often, seldom = max(taken, passed), min(taken, passed)
        left, rest = _COUNTED - 2 * pc, _COUNTED - 2 * pc - 1
        if left not in self.state.values:
            self._new_count(left, rest, often, seldom)
        count = _whole(self.state.values[left])
        if count > 0 or not seldom:
            self.state.values[left] = count - 1 if seldom else count
            return taken >= passed, count
        self._new_count(left, rest, often, seldom)
        return taken < passed, count

    def _new_count(self, left: int, rest: int, often: int, seldom: int) -> None:
        total = often + _whole(self.state.values.get(rest, 0))
        self.state.values[left], self.state.values[rest] = divmod(total, seldom) if seldom else (1, 0)

    def _wait(self, pc: int, instruction: Instruction) -> int:
        tag = ("tag", instruction.immediates[0])
        self._issue(pc, instruction, self.state.clocks.get(tag, 0))
        return pc + 1

    def _scalar(self, pc: int, instruction: Instruction) -> int:
        start = self._issue(pc, instruction)
        operands = [self._registers.read(operand) for operand in instruction.operands]
        value = self._registers.apply(instruction.immediates[0], operands)
        self.state.record.append(Computed(pc, tuple(operands), value))
        self._write(instruction.results[0], value, start + self.machine.scalar.latency)
        return pc + 1

    def _on_scalar_unit(self, pc: int, instruction: Instruction) -> int:
        """Arguments and program ids; prints and assertions cost their issue."""
        reads = [key for tile in tiles_of(instruction.operands) for key in self._written(tile)]
        start = self._issue(pc, instruction, self.state.latest(reads, 0))
        for result in instruction.results:
            self.state.record.append(Given(pc))
            self._write(result, self._given(instruction), start + self.machine.scalar.latency)
        return pc + 1

    def _given(self, instruction: Instruction) -> Value:
        index = instruction.immediates[0] if instruction.immediates else 0
        if instruction.opcode == "program_id":
            return self.state.values[-1 - index]
        if instruction.opcode == "num_programs":
            return self.work.grid[index]
        if instruction.opcode == "apart":
            return int(tuple(sorted(instruction.immediates)) not in self.work.shared)
        if instruction.opcode != "argument" or instruction.immediates[1:] not in ((), (0,)):
            return UNKNOWN
        return self.work.arguments[index] if index < len(self.work.arguments) else UNKNOWN

    def _extract(self, pc: int, instruction: Instruction) -> int:
        """The scalar unit goes on; who reads the register waits."""
        start = self._issue(pc, instruction)
        tile = tiles_of(instruction.operands)[0]
        ready = self.state.latest(self._written(tile), start)
        self._raise(("read", self._footprints.number(tile)), ready)
        self.state.record.append(Given(pc))
        self._write(instruction.results[0], UNKNOWN, ready + self.machine.scalar.latency)
        return pc + 1

    # Engines

    def _cost(self, pc: int, instruction: Instruction) -> Cost | None:
        if instruction.opcode in ("dma_load", "dma_store"):
            return self._transfer_cost(instruction)
        if pc not in self._fixed:
            self._fixed[pc] = self._fixed_cost(instruction)
        return self._fixed[pc]

    def _fixed_cost(self, instruction: Instruction) -> Cost | None:
        machine, engine = self.machine, OPCODES[instruction.opcode].engine
        if instruction.opcode in ("dma_gather", "dma_scatter"):
            pointers = tiles_of(instruction.operands)[0]
            return list_cost(machine, engine, tiles_of((*instruction.results, *instruction.operands[1:]))[0], pointers)
        if instruction.opcode in ("scalar_load", "scalar_store"):
            value = instruction.results[0] if instruction.results else instruction.operands[1]
            return scalar_access_cost(machine, engine, value.element if value else "i64")
        if instruction.opcode in ("atomic", "compare_and_swap"):
            return atomic_cost(machine, instruction)
        return self._costs.of(instruction)

    def _transfer_cost(self, instruction: Instruction) -> Cost:
        transfer = transfer_of(instruction)
        extents = transfer.tile.extents
        lower = [self._clipped(one, extent, 0) for one, extent in zip(transfer.lower, extents, strict=True)]
        upper = [self._clipped(one, extent, extent) for one, extent in zip(transfer.upper, extents, strict=True)]
        spans = tuple(max(0, high - low) for low, high in zip(lower, upper, strict=True))
        strides = tuple(self._stride(one) for one in transfer.strides)
        return transfer_cost(self.machine, OPCODES[instruction.opcode].engine, transfer.tile, Box(spans, strides))

    def _clipped(self, operand: Operand | None, extent: int, otherwise: int) -> int:
        """A bound as an index of the tile; `otherwise` where there is none, or where it is not known."""
        if operand is None:
            return otherwise
        value = self._read_for_cost(operand, 0, extent)
        return otherwise if isinstance(value, Unknown) else min(max(int(value), 0), extent)

    def _stride(self, operand: Operand) -> int | None:
        value = self._read_for_cost(operand, 1, 0)
        return None if isinstance(value, Unknown) else int(value)

    def _read_for_cost(self, operand: Operand, low: int, high: int) -> Value:
        """A value on whose part between `low` and `high` a cost depends; on all of it where low exceeds high."""
        value = self._registers.read(operand)
        if isinstance(value, Unknown) and value.register is not None:
            raise LostValue(value.register)
        if isinstance(operand, Register):
            bounds = (low, high) if low <= high else (-(1 << 201), 1 << 201)
            self.state.record.append(Clipped(operand.number, value, *bounds))
        return value

    def _on_engines(self, pc: int, instruction: Instruction, cost: Cost) -> None:
        """Issues the instruction and books its engines, one stage after the other."""
        first = cost.stages[0].engine.value
        queue = self.state.queues["starts", first]
        issued = self._issue(pc, instruction, queue[0])
        begin = self.state.latest(self._hazards(instruction), issued + 1)
        finish = released = begin
        for stage in cost.stages:
            start = self._book(pc, stage, finish)
            if stage is cost.stages[0]:
                self.state.rotate(("starts", first), start)
            released, finish = start + stage.occupancy, start + stage.occupancy + stage.latency
        self._finish(pc, instruction, released, finish)
        self._account(cost)

    def _book(self, pc: int, stage: Stage, earliest: int) -> int:
        """The start of a stage on its engine's next unit."""
        units = ("units", stage.engine.value)
        start = self.state.latest((), earliest, self.state.queues[units][0])
        self.state.rotate(units, start + stage.occupancy)
        if self.events is not None:
            count = int(self.state.totals.values.get(("started", stage.engine.value), 0))
            unit = count % len(self.state.queues[units])
            self.events.append(Event(stage.engine, unit, start, stage.occupancy, pc))
        self.state.totals.add(("started", stage.engine.value), 1)
        self.state.totals.add(("busy", stage.engine.value), stage.occupancy)
        return start

    def _account(self, cost: Cost) -> None:
        self.state.totals.add(("bytes", "in"), cost.bytes_in)
        self.state.totals.add(("bytes", "out"), cost.bytes_out)
        self.state.totals.add(("operations",), cost.operations)
        for engine, cycles in cost.ideal:
            self.state.totals.add(("ideal", engine.value), cycles)

    def _hazards(self, instruction: Instruction) -> list[Key]:
        """The clocks that an instruction of an engine waits for: bytes it reads and writes, and DRAM in order."""
        accumulated = self._accumulated(instruction)
        keys: list[Key] = []
        for tile in tiles_of(instruction.operands):
            keys += self._written(tile, accumulated)
        for tile in tiles_of(instruction.results):
            keys += self._written(tile, accumulated)
            keys += [
                ("read", one) for one in self._footprints.sharing(self._footprints.number(tile)) if one != accumulated
            ]
        if OPCODES[instruction.opcode].engine in (Engine.DMA_IN, Engine.DMA_OUT):
            keys.append(("ordered",))
        return keys

    def _written(self, tile: Tile, accumulated: int | None = None) -> Iterable[Key]:
        """When the bytes of a tile were written. What the array adds to comes out of it in order, so that a product
        does not wait for the one before in the same accumulator."""
        sharing = self._footprints.sharing(self._footprints.number(tile))
        drained = [("drained", one) for one in sharing if one != accumulated]
        return [*(("written", one) for one in sharing), *drained]

    def _accumulated(self, instruction: Instruction) -> int | None:
        """The footprint that a product reads and writes as its accumulator."""
        if not instruction.opcode.startswith("matmul"):
            return None
        source, result = instruction.operands[-1], instruction.results[0]
        if not isinstance(source, Tile) or not isinstance(result, Tile):
            return None
        number = self._footprints.number(result)
        return number if self._footprints.number(source) == number else None

    def _finish(self, pc: int, instruction: Instruction, released: int, finish: int) -> None:
        """Notes when the operands are free and the results are there."""
        product = instruction.opcode.startswith("matmul")
        for operand in instruction.operands:
            if isinstance(operand, Tile):
                late = product and operand is instruction.operands[-1]
                self._raise(("read", self._footprints.number(operand)), finish if late else released)
        for result in instruction.results:
            if isinstance(result, Tile):
                self._raise(("drained" if product else "written", self._footprints.number(result)), finish)
            else:
                self.state.record.append(Given(pc))
                self._write(result, UNKNOWN, finish)
        if instruction.opcode.startswith("dma_"):
            self._raise(("tag", instruction.immediates[0]), finish)
        elif OPCODES[instruction.opcode].engine is Engine.DMA_OUT:
            self._raise(("ordered",), finish)
        self._raise(("end", OPCODES[instruction.opcode].engine.value), finish)

    def _raise(self, key: Key, time: int) -> None:
        self.state.clocks[key] = self.state.latest([key], time)


def _latches(program: Program) -> dict[int, int]:
    """By the target of each backward jump the last pc that jumps there."""
    latches: dict[int, int] = {}
    for pc, instruction in enumerate(program.instructions):
        if instruction.opcode in ("jump", "branch") and instruction.immediates[0] <= pc:
            latches[instruction.immediates[0]] = pc
    return latches


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0
