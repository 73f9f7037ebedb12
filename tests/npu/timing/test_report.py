"""What a timing is shown as: a table and a trace."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from timing_assembly import Assembly

from harness.errors import UsageError
from harness.npu.isa.opcodes import Engine
from harness.npu.machine import load_machine
from harness.npu.timing import Timing, time_program, timing_table, write_trace

TINY = load_machine("tiny")


def timed(name: str, events: bool = True, trips: int = 50, programs: int = 2) -> Timing:
    code = Assembly(name, lanes=8)
    x, y = code.tile(64), code.tile(64)
    code.loop("blocks", code.argument(0))
    code.load(x, 0)
    code.wait(0)
    code.vector("math.exp", y, x)
    code.store(y, 1)
    code.end("blocks")
    return time_program(code.build(), TINY, (programs,), [trips], events=events)


def test_the_table_has_a_line_a_launch_and_a_column_an_engine():
    timings = [timed("a"), timed("longer-name", trips=500)]
    header, *lines = timing_table(timings)
    for engine in Engine:
        assert engine.value in header
    assert [line.split()[:3] for line in lines] == [[one.program.name, "2", str(one.cycles)] for one in timings]
    assert lines[0].split()[-2] == timings[0].bound


def test_the_trace_has_a_track_an_engine_and_core_and_no_slice_over_another(tmp_path: Path):
    timings = [timed("first"), timed("second")]
    write_trace(tmp_path / "trace.json", timings)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {(one["pid"], one["args"]["name"]) for one in events if one["name"] == "thread_name"}
    used = ("scalar", "special", "dma in", "dma out")
    assert names == {(core, engine) for core in (0, 1) for engine in used}
    slices = [one for one in events if one["ph"] == "X"]
    for track in {(one["pid"], one["tid"]) for one in slices}:
        ordered = sorted((one for one in slices if (one["pid"], one["tid"]) == track), key=lambda one: one["ts"])
        for before, after in itertools.pairwise(ordered):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-6
    assert max(one["ts"] + one["dur"] for one in slices) <= sum(one.seconds for one in timings) * 1e6 + 1e-6
    assert any("more trips" in one["name"] for one in slices)
    stepped = next(one for one in slices if one["name"] == "dma_load")
    assert stepped["args"]["instruction"].startswith("f32[64*]")


def test_without_events_a_timing_is_the_same_and_keeps_none():
    bare, full = timed("a", events=False), timed("a")
    assert bare.tracks == ()
    assert (bare.cycles, bare.busy, bare.stepped) == (full.cycles, full.busy, full.stepped)


def test_a_grid_of_no_programs_takes_no_time(tmp_path: Path):
    timing = timed("none", programs=0)
    assert (timing.cycles, timing.seconds, timing.achieved, timing.stepped) == (0, 0, 0, 0)
    assert set(timing.busy.values()) == {0}
    assert timing_table([timing])[1].split()[:5] == ["none", "0", "0", "0", "ns"]
    write_trace(tmp_path / "trace.json", [timing, timed("some")])


def test_a_trace_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot write the trace"):
        write_trace(tmp_path / "missing" / "trace.json", [timed("a")])
