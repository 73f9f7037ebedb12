"""Skipping trips changes no cycle, and what timing costs does not depend on how many there are."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from timing_assembly import Assembly

from harness.npu.isa.program import Function, Program, Register, Tile
from harness.npu.machine import Machine, load_machine
from harness.npu.timing import Timing, time_program
from harness.npu.timing.linear import FOREVER, Line, trips_linear
from harness.npu.timing.values import Registers

TINY = load_machine("tiny")
_ELEMENTS = ("f32", "bf16", "i8")
_MOST = 12  # of a value, so that as a trip count it can be stepped through


def compared(timing: Timing) -> tuple[object, ...]:
    """What must not depend on skipping; sums of fractions only to rounding."""
    return timing.cycles, timing.bytes_in, timing.bytes_out, timing.operations, timing.busy


def random_program(seed: int, trips: int) -> Program:
    """Loops in loops over transfers, vector instructions and products on tiles that share bytes, with bounds and
    trip counts that depend on the program's number and on outer counters; about `trips` trips at most, altogether."""
    choose = random.Random(seed)
    code = Assembly(f"random-{seed}", lanes=8)
    tiles = [code.tile(8, 8, element=choose.choice(_ELEMENTS), address=64 * choose.randrange(6)) for _ in range(5)]
    scalars = [code.argument(0), code.argument(1), code.program_id(0), code.program_id(1)]
    _body(code, choose, tiles, scalars, trips)
    return code.build()


def _body(code: Assembly, choose: random.Random, tiles: list[Tile], scalars: list[Register], trips: int) -> None:
    for number in range(choose.randrange(1, 4)):
        _statement(code, choose, tiles, scalars)
        if trips > 4 and choose.random() < 0.6:
            trips //= 2
            _loop(code, choose, tiles, list(scalars), trips, number)


def _loop(
    code: Assembly, choose: random.Random, tiles: list[Tile], scalars: list[Register], trips: int, number: int
) -> None:
    name = f"loop-{number}-{len(code.program.instructions)}"
    fixed = choose.randrange(3, trips + 2)
    upper = choose.choice([fixed, choose.choice(scalars)]) if trips > _MOST else fixed
    scalars.append(code.loop(name, upper, choose.randrange(1, 3)))
    _body(code, choose, tiles, scalars, trips // (_MOST if isinstance(upper, Register) else upper))
    code.end(name)


def _statement(code: Assembly, choose: random.Random, tiles: list[Tile], scalars: list[Register]) -> None:
    kind = choose.randrange(6)
    tile, other = choose.choice(tiles), choose.choice(tiles)
    if kind == 0:
        code.load(tile, choose.randrange(3), upper=choose.choice([None, choose.choice(scalars)]))
    elif kind == 1:
        code.store(tile, choose.randrange(3), upper=choose.choice([None, choose.choice(scalars)]))
    elif kind == 2:
        code.wait(choose.randrange(3))
    elif kind == 3:
        code.vector(choose.choice(["arith.negf", "math.exp", "math.atan"]), code.tile(8, 8), tile)
    elif kind == 4:
        code.matmul(tile, other, other)
    else:
        scalars.append(_scalar(code, choose, scalars))


def _scalar(code: Assembly, choose: random.Random, scalars: list):
    names = ["addi", "subi", "muli", "minsi", "maxsi", "divsi", "remsi", "andi", "shrsi"]
    name = choose.choice(names)
    right = choose.choice([1, 2, 3, 7]) if name in ("divsi", "remsi", "andi", "shrsi") else choose.choice(scalars)
    value = code.scalar(f"arith.{name}", choose.choice(scalars), right)
    return code.scalar("arith.minsi", value, _MOST)


# Of programs on one core, of rows, of planes; and how long each program may be.
_GRIDS = (((1, 1, 1), 800), ((40, 1, 1), 30), ((3, 14, 1), 20), ((5, 4, 3), 20), ((1, 2, 20), 20))


@examples(30)
@given(
    seed=st.integers(0, 10**9),
    launch=st.sampled_from(_GRIDS),
    arguments=st.tuples(st.integers(-2, _MOST), st.integers(0, 9)),
    cores=st.integers(1, 3),
    queue=st.sampled_from([1, 2, 4]),
)
def test_skipping_trips_changes_nothing(
    seed: int, launch: tuple[tuple[int, int, int], int], arguments: tuple[int, int], cores: int, queue: int
):
    grid, trips = launch
    scalar = dataclasses.replace(TINY.scalar, queue_depth=queue)
    machine = dataclasses.replace(TINY, cores=cores, scalar=scalar)
    program = random_program(seed, trips)
    skipped = time_program(program, machine, grid, arguments)
    stepped = time_program(program, machine, grid, arguments, skipping=False)
    assert compared(skipped) == compared(stepped)
    assert skipped.roofline == pytest.approx(stepped.roofline)
    assert skipped.stepped <= stepped.stepped


def test_the_random_programs_have_steady_states():
    """Else the test above would compare stepping with stepping."""
    runs = [
        [
            time_program(random_program(seed, 800), TINY, (1,), (12, 5), skipping=skipping).stepped
            for skipping in (True, False)
        ]
        for seed in range(12)
    ]
    assert sum(skipped < 0.7 * stepped for skipped, stepped in runs) >= 4


def nested(machine: Machine, grid: tuple[int, ...], outer: int, inner: int) -> Timing:
    """A loop of products in a loop of folds, with the last block of each row cut."""
    code = Assembly("nested", lanes=machine.lanes)
    trips, size = code.argument(0), code.argument(1)
    code.scalar("arith.muli", code.program_id(), 8)
    a, b, c = (code.tile(8, 8) for _ in range(3))
    row = code.loop("outer", trips)
    left = code.scalar("arith.subi", size, code.scalar("arith.muli", row, 2))
    code.load(a, 0, upper=left)
    column = code.loop("inner", code.argument(2))
    code.load(b, 1, upper=code.scalar("arith.subi", code.argument(2), column))
    code.wait(0)
    code.wait(1)
    code.matmul(c, a, b)
    code.end("inner")
    code.vector("math.exp", c, c)
    code.store(c, 2)
    code.end("outer")
    return time_program(code.build(), machine, grid, [outer, 2 * outer, inner])


def test_what_timing_costs_does_not_depend_on_trip_counts():
    few = nested(TINY, (1,), 100, 100)
    many = nested(TINY, (1,), 100_000, 1_000_000)
    assert many.cycles > 1_000_000 * few.cycles
    assert many.stepped <= 1.1 * few.stepped


def rows_of_blocks(machine: Machine, grid: tuple[int, ...]) -> Timing:
    """A loop over the blocks of a row, the last of which is cut."""
    code = Assembly("rows", lanes=machine.lanes)
    code.scalar("arith.muli", code.program_id(0), 8)
    x, y = code.tile(8, 8), code.tile(8, 8)
    block = code.loop("blocks", 12)
    code.load(x, 0, upper=code.scalar("arith.subi", 91, code.scalar("arith.muli", block, 8)))
    code.wait(0)
    code.vector("math.exp", y, x)
    code.store(y, 1)
    code.end("blocks")
    return time_program(code.build(), machine, grid)


def test_what_timing_costs_does_not_depend_on_the_grid():
    few, many = rows_of_blocks(TINY, (100,)), rows_of_blocks(TINY, (1_000_000,))
    assert many.stepped <= 1.1 * few.stepped
    planes = rows_of_blocks(TINY, (4096, 2048, 16))
    assert planes.stepped <= 30 * few.stepped
    assert planes.cycles == pytest.approx(many.cycles * (4096 * 2048 * 16 / 1_000_000), rel=1e-3)


def test_a_value_that_was_skipped_and_is_needed_after_all_is_found():
    """The number of trips of the second loop is a checksum that the first one computes."""
    code = Assembly("checksum", lanes=8)
    total = code.argument(1)
    counter = code.loop("first", code.argument(0))
    squared = code.scalar("arith.muli", counter, counter)
    code.scalar("arith.xori", total, squared, into=total)
    code.end("first")
    small = code.scalar("arith.remsi", total, 13)
    code.loop("second", small)
    code.vector("arith.negf", code.tile(8), code.tile(8))
    code.end("second")
    program = code.build()
    assert compared(time_program(program, TINY, (1,), [57, 0])) == compared(
        time_program(program, TINY, (1,), [57, 0], skipping=False)
    )


_TWO = ("addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui", "divsi", "divui", "remsi", "remui", "floordivsi")
_MORE = ("shli", "shrsi", "shrui", "andi", "ori", "xori")
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FUNCTIONS = [
    *(Function(f"arith.{name}", (), ("i8", "i8"), ("i8",)) for name in (*_TWO, *_MORE)),
    *(Function("arith.cmpi", (("predicate", name),), ("i8", "i8"), ("i1",)) for name in _PREDICATES),
    *(Function(f"arith.{name}", (), ("i8",), ("i16",)) for name in ("extsi", "extui")),
    Function("arith.trunci", (), ("i16",), ("i8",)),
    Function("arith.select", (), ("i1", "i8", "i8"), ("i8",)),
]


@examples(400)
@given(function=st.sampled_from(_FUNCTIONS), data=st.data())
def test_a_rule_never_promises_more_trips_than_hold(function: Function, data: st.DataObject):
    """Against the meaning of the op, value by value, until an operand leaves its type."""
    registers = Registers([function])
    ranges = {"i1": (0, 1), "i8": (-128, 127), "i16": (-400, 400)}
    starts = [data.draw(st.integers(*ranges[element])) for element in function.operands]
    steps = [data.draw(st.integers(-5, 5)) if element != "i1" else 0 for element in function.operands]
    results = []
    for trip in range(60):
        values = [start + trip * step for start, step in zip(starts, steps, strict=True)]
        pairs = zip(values, function.operands, strict=True)
        if any(not ranges[element][0] <= value <= ranges[element][1] for value, element in pairs):
            break
        results.append(registers.apply(0, list(values)))
    if len(results) < 3:
        return
    lines = [Line(start + step, step) for start, step in zip(starts, steps, strict=True)]
    promised = trips_linear(function, lines, Line(results[1], results[1] - results[0]))
    step = results[1] - results[0]
    held = next((n for n, (a, b) in enumerate(itertools.pairwise(results[1:])) if b - a != step), None)
    assert held is None or promised <= held


def test_an_addition_of_counters_is_a_line_until_it_overflows():
    function = Function("arith.addi", (), ("i8", "i8"), ("i8",))
    assert trips_linear(function, [Line(10, 3), Line(20, 1)], Line(30, 4)) == (127 - 30) // 4
    assert trips_linear(function, [Line(10, 0), Line(20, 0)], Line(30, 0)) == FOREVER
    assert trips_linear(function, [Line(10, 3), Line(20, 1)], Line(30, 5)) == 0
