"""What is computed from the samples, and how it is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.results import InterpreterTime, Row, geometric_mean, targets
from benchmarks.table import milliseconds, render

FAST = Row(
    "softmax",
    "4096x1000",
    grid=(4096,),
    npu_seconds=0.004,
    executor_seconds=0.0038,
    torch_seconds=0.002,
    interpreter=InterpreterTime(first=0.11, several=0.21, count=11, programs=4096),
    buffer_bytes=32_000_000,
    peak_bytes=100_000_000,
    doubled_seconds=0.0082,
)
SLOW = Row(
    "sort",
    "2x2",
    grid=(1, 2),
    npu_seconds=0.4,
    executor_seconds=0.4,
    torch_seconds=0.02,
    buffer_bytes=1_000_000,
    peak_bytes=303_000_000,
    why="A network of selects.",
)
BROKEN = Row("gemm", "1", error="npu: WrongResult: out is wrong")


def test_the_interpreter_s_launch_cost_is_not_multiplied() -> None:
    time = InterpreterTime(first=1.1, several=1.5, count=5, programs=101)
    assert time.seconds == pytest.approx(1.0 + 101 * 0.1)
    assert InterpreterTime(0.5, 2.0, count=4, programs=4).seconds == 2.0


def test_geometric_mean_is_of_what_was_measured() -> None:
    assert geometric_mean([2.0, None, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([None]) is None


def test_milliseconds_have_three_digits() -> None:
    assert [milliseconds(value) for value in (0.0012345, 0.012345, 0.12345, 12.3456, None)] == [
        "1.23", "12.3", "123", "12,346", "",
    ]  # fmt: skip


def test_targets_say_what_was_reached_and_what_was_not_measured() -> None:
    found = {target.what: target for target in targets([FAST, SLOW, BROKEN])}
    assert [target.met for target in found.values()] == [True, False, True, True, True, False]
    assert found["peak memory above twice the buffers"].measured == "301 MB (sort)"
    assert [target.met for target in targets([BROKEN])] == [None] * 6


def test_a_slow_kernel_without_a_reason_is_a_target_missed() -> None:
    missed = targets([replace(SLOW, why="")])[3]
    assert (missed.met, missed.measured) == (False, "1, without a reason: sort")


def test_plain_columns_line_up_and_empty_ones_are_left_out() -> None:
    text = render([FAST, SLOW, BROKEN], ["A note."], {"cores": "2"}, markdown=False)
    table = text.split("\n\n")[0].splitlines()
    assert len(table) == 6
    assert table[1] == "  ".join("-" * len(part) for part in table[1].split("  "))
    assert "twice the programs" in table[0]
    assert "twice the programs" not in render([SLOW], [], {}, markdown=False).splitlines()[0]
    assert "- sort: A network of selects." in text
    assert "- gemm: npu: WrongResult: out is wrong" in text
    assert "- A note." in text


def test_markdown_has_a_cell_for_every_column() -> None:
    text = render([FAST, SLOW], [], {"cores": "2"}, markdown=True)
    table = text.split("\n\n")[0].splitlines()
    assert len({line.count("|") for line in table}) == 1
    assert table[1].startswith("| --- | --- | --- | ---: |")
    assert table[2].startswith("| softmax | 4096x1000 | 4096 | 4.00 | 3.80 | 2.00 | ~")
    assert table[-1].startswith("| geometric mean |")
