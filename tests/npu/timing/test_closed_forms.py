"""Cycles that can be worked out on paper, from the machine's numbers alone."""

from __future__ import annotations

import dataclasses
import math

import pytest
from timing_assembly import Assembly

from harness.errors import Deadlock, Refusal
from harness.npu.isa.opcodes import Engine
from harness.npu.isa.program import Program
from harness.npu.machine import Machine, load_machine
from harness.npu.timing import NeedsProfile, Profile, time_program

DEFAULT = load_machine("default")


def with_(machine: Machine, section: str = "", **changes: object) -> Machine:
    """The machine with other numbers in a section, or at its top."""
    if not section:
        return dataclasses.replace(machine, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(machine, **{section: dataclasses.replace(getattr(machine, section), **changes)})


ONE_CORE = with_(DEFAULT, cores=1)


def streaming_add(block: int) -> Program:
    """Two blocks in, one out; the last block may be cut."""
    code = Assembly("add")
    size, number = code.argument(0), code.program_id()
    left = code.scalar("arith.subi", size, code.scalar("arith.muli", number, block))
    x, y, total = (code.tile(block) for _ in range(3))
    code.load(x, 0, upper=left)
    code.load(y, 1, upper=left)
    code.wait(0)
    code.wait(1)
    code.vector("arith.addf", total, x, y)
    code.store(total, 2, upper=left)
    return code.build()


def buffered_add(block: int) -> Program:
    """One program that adds many blocks, each loaded while the one before is added."""
    code = Assembly("buffered-add")
    trips = code.argument(0)
    x, y, total = ([code.tile(block) for _ in range(2)] for _ in range(3))
    code.load(x[0], 0)
    code.load(y[0], 0)
    code.loop("blocks", trips, 2)
    for buffer in range(2):
        code.load(x[1 - buffer], 1 - buffer)
        code.load(y[1 - buffer], 1 - buffer)
        code.wait(buffer)
        code.vector("arith.addf", total[buffer], x[buffer], y[buffer])
        code.store(total[buffer], 2 + buffer)
    code.end("blocks")
    return code.build()


def double_buffered_matmul(rows: int, inner: int) -> Program:
    """acc[rows, 128] += a[rows, inner] b[inner, 128], twice a trip, with three buffers each."""
    code = Assembly("matmul")
    trips = code.argument(0)
    a = [code.tile(rows, inner, element="bf16") for _ in range(3)]
    b = [code.tile(inner, 128, element="bf16") for _ in range(3)]
    accumulator = code.tile(rows, 128)

    def load(buffer: int) -> None:
        code.load(a[buffer], 2 * buffer)
        code.load(b[buffer], 2 * buffer + 1)

    for buffer in range(2):
        load(buffer)
    code.loop("k", trips, 3)
    for buffer in range(3):
        load((buffer + 2) % 3)
        code.wait(2 * buffer)
        code.wait(2 * buffer + 1)
        code.matmul(accumulator, a[buffer], b[buffer])
    code.end("k")
    code.store(accumulator, 9)
    return code.build()


def test_a_streaming_add_runs_at_the_bandwidth_of_the_dma():
    """On one core the engine that brings in two thirds of the bytes is what limits."""
    block, trips = 65536, 1000
    timing = time_program(buffered_add(block), ONE_CORE, (1,), [trips])
    assert (timing.bytes_in, timing.bytes_out) == (2 * 4 * block * (trips + 1), 4 * block * trips)
    at_least = timing.bytes_in / ONE_CORE.dma.bytes_per_cycle
    assert at_least <= timing.cycles <= 1.001 * at_least
    assert timing.busy[Engine.DMA_IN] == pytest.approx(1, abs=0.001)


def test_with_one_buffer_each_program_waits_for_the_one_before_to_read_it():
    """A program then costs its transfers, their latency, the addition, and what issuing them takes."""
    block, programs = 65536, 1000
    timing = time_program(streaming_add(block), ONE_CORE, (programs,), [block * programs])
    latency = ONE_CORE.dma.latency + ONE_CORE.dram_latency
    addition = block // 128 // 8
    per_program = timing.cycles / programs
    floor = 2 * block * 4 / 512 + latency + addition
    assert floor <= per_program < floor + 10


def test_cores_that_ask_for_more_than_the_dram_gives_share_what_it_gives():
    block, programs = 65536, 1000
    machine = with_(DEFAULT, cores=8)
    timing = time_program(streaming_add(block), machine, (programs,), [block * programs])
    moved = timing.bytes_in + timing.bytes_out
    assert timing.cycles == math.ceil(moved / machine.dram_bytes_per_cycle)
    assert timing.seconds == pytest.approx(moved / 900e9, rel=1e-3)
    assert (timing.bound, round(timing.achieved, 4)) == ("dram", 1)


def test_one_large_product_takes_its_rows_and_the_fill_and_drain_of_the_array():
    code = Assembly(lanes=128)
    rows, inner, columns = 1024, 512, 256
    a, b = code.tile(rows, inner, element="bf16"), code.tile(inner, columns, element="bf16")
    code.matmul(code.tile(rows, columns), a, b, code.tile(rows, columns))
    timing = time_program(code.build(), ONE_CORE, (1,))
    matrix = ONE_CORE.matrix
    ideal = rows * inner * columns / (matrix.rows * matrix.columns)
    assert ideal == 1024 * 4 * 2
    issue = 1
    assert timing.cycles == issue + matrix.load_cycles + ideal + matrix.latency


def test_a_loop_of_products_reaches_the_peak_of_the_array_within_its_fill_and_drain():
    program, trips = double_buffered_matmul(512, 128), 3000
    timing = time_program(program, ONE_CORE, (1,), [trips])
    ideal = 512 * trips
    first_loads = 2 * (512 + 128) * 128 * 2 / ONE_CORE.dma.bytes_per_cycle
    matrix, dma = ONE_CORE.matrix, ONE_CORE.dma
    around = first_loads + matrix.load_cycles + matrix.latency + 2 * (dma.latency + ONE_CORE.dram_latency) + 512
    assert ideal < timing.cycles < ideal + 2 * around
    assert timing.achieved > 0.99
    assert timing.bound == "matrix"


@pytest.mark.parametrize(("element", "passes"), [("bf16", 1), ("f32", 6), ("i8", 1)])
def test_a_product_costs_the_passes_of_its_type(element: str, passes: int):
    code = Assembly()
    a, b = code.tile(256, 128, element=element), code.tile(128, 128, element=element)
    code.matmul(code.tile(256, 128), a, b, code.tile(256, 128))
    timing = time_program(code.build(), ONE_CORE, (1,))
    assert timing.busy[Engine.MATRIX] * timing.cycles == pytest.approx(256 * passes)


def test_a_type_that_the_array_does_not_multiply_is_refused():
    code = Assembly()
    a = code.tile(128, 128, element="f64")
    code.matmul(code.tile(128, 128, element="f64"), a, a)
    machine = with_(DEFAULT, "matrix", passes=(("bf16", 1),))
    with pytest.raises(Refusal, match="does not multiply f64"):
        time_program(code.build(), machine, (1,))


def test_a_chain_of_dependent_instructions_adds_up_their_latencies():
    code, length = Assembly(), 20
    x = code.tile(1024)
    for _ in range(length):
        code.vector("arith.addf", x, x, x)
    timing = time_program(code.build(), ONE_CORE, (1,))
    cycles = 1024 / 128 / (256 / 32)
    assert timing.cycles == 1 + length * (cycles + ONE_CORE.vector.latency)


def test_independent_instructions_hide_the_latency():
    code, length = Assembly(), 20
    for _ in range(length):
        code.vector("arith.negf", code.tile(8192), code.tile(8192))
    timing = time_program(code.build(), ONE_CORE, (1,))
    assert timing.cycles == 1 + length * 8192 / 128 / 8 + ONE_CORE.vector.latency


def test_engines_run_side_by_side():
    """An exponential of one tile and a sum of another take as long as the exponential alone."""
    code = Assembly()
    code.vector("math.exp", code.tile(8192), code.tile(8192))
    alone = time_program(code.program, ONE_CORE, (1,)).cycles
    code.vector("arith.negf", code.tile(1024), code.tile(1024))
    assert alone == 1 + 8192 / 128 / ONE_CORE.special.elements_per_cycle + ONE_CORE.special.latency
    assert time_program(code.program, ONE_CORE, (1,)).cycles == alone


def test_a_scalar_chain_adds_up_its_latencies():
    code, length = Assembly(), 10
    value = code.argument(0)
    for _ in range(length):
        value = code.scalar("arith.addi", value, 1)
    code.scalar("arith.addi", value, 1)
    timing = time_program(code.build(), ONE_CORE, (1,), [3])
    assert timing.cycles == (length + 1) * ONE_CORE.scalar.latency + 2  # the last one's issue, and halt's


def test_two_cores_halve_it():
    program = double_buffered_matmul(512, 128)
    one = time_program(program, ONE_CORE, (64,), [300])
    two = time_program(program, with_(DEFAULT, cores=2), (64,), [300])
    assert two.cycles == pytest.approx(one.cycles / 2, rel=0.01)
    assert two.operations == one.operations


def test_a_transfer_takes_its_latency_and_its_bytes():
    code = Assembly()
    tile = code.tile(16384)
    code.load(tile, 0)
    code.wait(0)
    timing = time_program(code.build(), ONE_CORE, (1,))
    latency = ONE_CORE.dma.latency + ONE_CORE.dram_latency
    assert timing.cycles == 1 + 16384 * 4 / 512 + latency + 2  # the wait's issue, and halt's


def test_a_transfer_of_nothing_does_not_wait_for_dram():
    """As a loop's last load ahead, of the trip that does not come."""
    code = Assembly()
    code.load(code.tile(16384), 0, upper=0)
    code.wait(0)
    timing = time_program(code.build(), ONE_CORE, (1,))
    assert timing.cycles == 1 + ONE_CORE.dma.setup_cycles + ONE_CORE.dma.latency + 2
    assert timing.bytes_in == 0


def test_bytes_are_whole_bursts():
    """One f32 from every row of 64 costs a burst each; rows that adjoin are one run."""
    code = Assembly()
    code.load(code.tile(64, 1), 0, strides=(64, 1))
    code.load(code.tile(8, 64), 1)
    timing = time_program(code.build(), ONE_CORE, (1,))
    assert timing.bytes_in == 64 * ONE_CORE.dram.burst_bytes + 8 * 64 * 4


@pytest.mark.parametrize(("left", "rows"), [(8, 8), (5, 5), (-3, 0), (99, 8)])
def test_bounds_cut_what_is_moved(left: int, rows: int):
    code = Assembly()
    code.load(code.tile(8, 64), 0, upper=code.argument(0))
    assert time_program(code.build(), ONE_CORE, (1,), [left]).bytes_in == rows * 64 * 4


def test_a_fold_inside_a_lane_halves_and_one_across_lanes_exchanges():
    inside, across = Assembly(), Assembly()
    for code, axis in ((inside, 0), (across, 1)):
        source = code.tile(64, 128)
        result = code.tile(*(n for place, n in enumerate((64, 128)) if place != axis), lane_axis=None)
        code.emit("fold", (result,), (source,), (axis, code.sum_combiner()))
    vector, exchange = ONE_CORE.vector, ONE_CORE.exchange
    halves = [32, 16, 8, 4, 2, 1]
    expected = 1 + sum(math.ceil(half / 8) for half in halves) + len(halves) * vector.latency
    assert time_program(inside.build(), ONE_CORE, (1,)).cycles == expected
    combined = sum(math.ceil(half / 8) for half in (32, 16, 8, 4, 2, 1, 1)) + 7 * vector.latency
    moved = 32 + 16 + 8 + 4 + 2 + 1 + 1 + 7 * exchange.latency
    assert time_program(across.build(), ONE_CORE, (1,)).cycles == 1 + combined + moved


def test_a_fold_of_one_element_into_a_register_is_a_copy():
    code = Assembly()
    code.emit("fold", (code.register("f32"),), (code.tile(1, lane_axis=None),), (0, code.sum_combiner()))
    assert time_program(code.build(), ONE_CORE, (1,)).cycles == 1 + 1 + ONE_CORE.vector.latency


@pytest.mark.parametrize(("kind", "hops"), [("full", 1), ("neighbour", 64)])
def test_a_relayout_costs_by_how_lanes_exchange(kind: str, hops: int):
    """Eight lanes hold all of the source, 128 words each, which is what has to come out of them."""
    code = Assembly()
    code.emit("relayout", (code.tile(8, 128),), (code.tile(8, 128, lane_axis=0),), ())
    machine = with_(ONE_CORE, "exchange", kind=kind)
    assert time_program(code.build(), machine, (1,)).cycles == 1 + hops * (128 + machine.exchange.latency)


def test_a_relayout_without_exchange_goes_through_dram():
    code = Assembly()
    code.emit("relayout", (code.tile(128, 128),), (code.tile(128, 128, lane_axis=0),), ())
    timing = time_program(code.build(), with_(ONE_CORE, "exchange", kind="none"), (1,))
    assert timing.bytes_in == timing.bytes_out == 128 * 128 * 4
    latency = ONE_CORE.dma.latency + ONE_CORE.dram_latency
    assert timing.cycles == 1 + 2 * (128 * 128 * 4 / 512 + latency)


def test_a_function_that_no_unit_computes_is_software():
    cycles = []
    for functions in (("exp", "tanh"), ("exp",)):
        code = Assembly()
        code.vector("math.tanh", code.tile(8192), code.tile(8192))
        timing = time_program(code.build(), with_(ONE_CORE, "special", functions=functions), (1,))
        cycles.append((timing.busy[Engine.SPECIAL] * timing.cycles, timing.busy[Engine.VECTOR] * timing.cycles))
    assert cycles[0] == pytest.approx((64 / ONE_CORE.special.elements_per_cycle, 0))
    assert cycles[1] == pytest.approx((0, 8 * ONE_CORE.vector.software_operations))


def counted_by_memory() -> Program:
    """A loop that goes on while a word of memory says so."""
    code = Assembly()
    code.label("again")
    code.vector("arith.addf", *[code.tile(1024)] * 3)
    value = code.register("i1")
    code.emit("scalar_load", (value,), (code.argument(0, "ptr"), None, None), (0,))
    code.branch(value, "again")
    return code.build()


def test_a_branch_on_memory_needs_a_profile():
    program = counted_by_memory()
    with pytest.raises(NeedsProfile, match="depends on a value from memory"):
        time_program(program, ONE_CORE, (1,))
    branch = next(pc for pc, one in enumerate(program.instructions) if one.opcode == "branch")
    once = time_program(program, ONE_CORE, (1,), profile=Profile({branch: (0, 1)}))
    often = time_program(program, ONE_CORE, (1,), profile=Profile({branch: (999, 1)}))
    per_trip = (often.cycles - once.cycles) / 999
    # A trip: the word on its way, the branch's issue, and those of the next trip until its load starts.
    latency = ONE_CORE.dma.latency + ONE_CORE.dram_latency
    assert latency < per_trip < latency + 10
    assert often.operations == 1000 * once.operations
    oftener = time_program(program, ONE_CORE, (1,), profile=Profile({branch: (999_999, 1)}))
    assert oftener.stepped == often.stepped
    assert oftener.cycles - often.cycles == 999_000 * per_trip


def test_a_loop_that_never_ends_is_told():
    code = Assembly("spin")
    code.label("again")
    code.scalar("arith.addi", 1, 1, into=code.register())
    code.jump("again")
    with pytest.raises(Deadlock, match="spin has a loop that never ends"):
        time_program(code.build(), ONE_CORE, (1,))
