"""More of a resource never makes a program slower."""

from __future__ import annotations

import dataclasses

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from timing_assembly import Assembly

from harness.npu.isa.program import Program
from harness.npu.machine import Machine, load_machine
from harness.npu.timing import time_program

TINY = load_machine("tiny")

# Section, key, and whether more of it is better. Cores change what each core does, the clock what a cycle is, and
# lanes what every instruction costs.
_RESOURCES = (
    *(("", key, True) for key in ("cores", "clock_mhz", "lanes")),
    *(("vector", "register_bits", True), ("vector", "latency", False), ("vector", "software_operations", False)),
    *(("scalar", "latency", False), ("scalar", "queue_depth", True)),
    *(("special", "elements_per_cycle", True), ("special", "latency", False)),
    *(("special", "divisions_per_cycle", True), ("special", "division_latency", False)),
    *(("matrix", key, better) for key, better in (("rows", True), ("columns", True), ("latency", False))),
    *(("matrix", "load_cycles", False), ("exchange", "bits", True), ("exchange", "latency", False)),
    *(("dma", "engines", True), ("dma", "bytes_per_cycle", True), ("dma", "elements_per_cycle", True)),
    *(("dma", "latency", False), ("dma", "setup_cycles", False)),
    *(("dram", "gigabytes_per_second", True), ("dram", "latency_ns", False), ("dram", "atomic_ns", False)),
)


def changed(machine: Machine, section: str, key: str, factor: float) -> Machine:
    part = getattr(machine, section) if section else machine
    value = getattr(part, key) * factor
    new = dataclasses.replace(part, **{key: max(1, int(value)) if isinstance(getattr(part, key), int) else value})
    return dataclasses.replace(machine, **{section: new}) if section else new


def everything(lanes: int, buffers: int, lane_axis: int) -> Program:
    """Transfers of every kind, elementwise and special functions, products, folds, a scan and changes of layout."""
    code = Assembly("everything", lanes)
    x = [code.tile(16, 32, lane_axis=lane_axis) for _ in range(buffers)]
    y, z = code.tile(16, 32, lane_axis=lane_axis), code.tile(16, 32, lane_axis=1 - lane_axis)
    weights, product = code.tile(32, 16), code.tile(16, 16)
    row, column = code.tile(32, lane_axis=None), code.tile(16, lane_axis=None)
    pointers = code.tile(16, 32, element="i64", lane_axis=lane_axis)
    code.load(weights, 7)
    code.wait(7)
    block = code.loop("blocks", code.argument(0), buffers)
    for buffer in range(buffers):
        code.load(x[buffer], buffer, upper=code.scalar("arith.subi", 40, block))
        code.wait(buffer)
        code.vector("arith.divf", y, x[buffer], x[buffer])
        code.vector("math.exp", y, y)
        code.vector("math.atan", y, y)
        code.emit("relayout", (z,), (y,), ())
        code.matmul(product, z, weights)
        code.emit("fold", (row,), (y,), (0, code.sum_combiner()))
        code.emit("fold", (column,), (y,), (1, code.sum_combiner()))
        code.emit("scan", (z,), (z,), (1, code.sum_combiner(), 0))
        code.emit("dma_gather", (y,), (pointers, None, None), (6, 0))
        code.emit("atomic", (None,), (pointers, y, None), (0, 0, 0))
        code.wait(6)
    code.store(product, 8)
    code.end("blocks")
    return code.build()


@examples(30)
@given(
    resource=st.sampled_from(_RESOURCES),
    start=st.lists(st.tuples(st.sampled_from(_RESOURCES), st.sampled_from([0.25, 0.5, 2, 4])), max_size=4),
    programs=st.integers(1, 9),
    trips=st.integers(1, 40),
    buffers=st.integers(1, 2),
    lane_axis=st.integers(0, 1),
)
def test_doubling_a_resource_never_makes_it_slower(
    resource: tuple[str, str, bool],
    start: list[tuple[tuple[str, str, bool], float]],
    programs: int,
    trips: int,
    buffers: int,
    lane_axis: int,
):
    machine = TINY
    for (section, key, _), factor in start:
        machine = changed(machine, section, key, factor)
    section, key, more = resource
    better = changed(machine, section, key, 2 if more else 0.5)
    seconds = [
        time_program(everything(one.lanes, buffers, lane_axis), one, (programs,), [trips]).seconds
        for one in (machine, better)
    ]
    assert seconds[1] <= seconds[0] * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["neighbour", "none"])
def test_the_exchange_of_lanes_only_gets_slower_with_less_of_it(kind: str):
    less = dataclasses.replace(TINY, exchange=dataclasses.replace(TINY.exchange, kind=kind))
    program = everything(8, 2, 1)
    assert time_program(program, less, (3,), [9]).cycles > time_program(program, TINY, (3,), [9]).cycles
