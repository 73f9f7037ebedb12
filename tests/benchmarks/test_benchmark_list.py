"""Every benchmark that `python -m benchmarks` knows describes a run: found out here, and not after an hour."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path

import pytest

from benchmarks.__main__ import as_json, main
from benchmarks.benchmark import Located, choose, kernel_modules
from benchmarks.measure import Plan
from benchmarks.results import HEADLINE, Row
from harness.cases.kernel_case import validate
from harness.errors import UsageError

ALL = choose([], kernel_modules())


def test_there_are_enough_and_each_has_its_own_name() -> None:
    names = [located.benchmark.name for located in ALL]
    assert len(names) == len(set(names)) >= 14
    assert HEADLINE in names


@pytest.mark.parametrize("located", ALL, ids=lambda one: one.benchmark.name)
def test_a_benchmark_describes_a_run_and_its_double(located: Located) -> None:
    benchmark = located.benchmark
    case, doubled = benchmark.case(1), benchmark.case(2)
    validate(case)
    assert case.reference is not None
    assert set(inspect.signature(benchmark.eager).parameters) <= set(case.buffers)
    assert math.prod(doubled.grid) == pytest.approx(2 * math.prod(case.grid), rel=0.05)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no benchmark .sofmax..*softmax"):
        choose(["sofmax"], kernel_modules())


def test_mistakes_in_the_command_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kernel", "sofmax"]) == 2
    assert main(["--kernel", "softmax", "--json", str(tmp_path / "missing" / "file.json")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.startswith("error: ") for line in errors] == [True, True]


def test_json_holds_what_the_table_says() -> None:
    row = Row("one", "4", grid=(4,), npu_seconds=0.5, torch_seconds=0.25)
    written = json.loads(json.dumps(as_json([row], Plan(), {"cores": "2"})))
    assert written["kernels"][0]["slower_than_torch"] == 2.0
    assert written["kernels"][0]["interpreter_seconds"] is None
    assert written["plan"]["repeat"] == 5
