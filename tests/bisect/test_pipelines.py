"""The options of a pipeline's passes: with them, a pass alone does what it did in its pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bisect.pipelines import flag, passes_of, with_options
from harness.bisect.run import bisect_case
from harness.bisect.stages import Stage
from harness.cases.loading import load_templates
from harness.cli import main

HERE = Path(__file__).parent


def test_a_textual_pipeline_is_taken_apart() -> None:
    text = "builtin.module(any(inline{op-pipelines={a,b} max-iterations=4 },cse),tt.func(tritongpu-pipeline{stages=3}))"
    assert list(passes_of(text)) == [
        ("inline", "op-pipelines={a,b} max-iterations=4"),
        ("cse", ""),
        ("tritongpu-pipeline", "stages=3"),
    ]


def test_a_pass_that_another_one_runs_has_no_options_of_the_pipeline() -> None:
    stages = [Stage(name, "", "ttir") for name in ("inline", "canonicalize", "cse", "canonicalize")]
    passes = [("inline", "a=1"), ("cse", ""), ("canonicalize", "b=2")]
    assert [stage.options for stage in with_options(stages, passes)] == ["a=1", "", "", "b=2"]


def opt(text: str, folder: Path, *flags: str) -> str:
    """What the flags' passes make of a module, its values renumbered."""
    given, left = folder / "given.mlir", folder / "left.mlir"
    given.write_text(text)
    assert main(["opt", str(given), *flags, "-o", str(left)]) == 0
    return left.read_text()


@pytest.mark.parametrize(
    ("target", "name", "option", "other"),
    [
        ("cuda:80", "tritongpu-assign-latencies", "num-stages=4", "num-stages=2"),
        ("cuda:80", "convert-triton-to-tritongpu", "num-warps=8", "num-warps=4"),
        ("hip:gfx942", "tritonamdgpu-schedule-loops", "num_stages=4", "num_stages=2"),
        ("hip:gfx942", "tritonamdgpu-accelerate-matmul", "=gfx942", "=gfx950"),
    ],
)
def test_a_pass_alone_does_what_it_did_in_its_pipeline(
    target: str, name: str, option: str, other: str, tmp_path: Path
) -> None:
    template = {one.name: one for one in load_templates(HERE / "bisect_cases.py")}["deep_matmul"]
    (launch,) = bisect_case(template.instances()[0], target).launches
    stages = launch.capture.stages
    (at,) = (number for number, stage in enumerate(stages) if stage.pass_name == name)
    stage, after = stages[at], opt(stages[at + 1].text, tmp_path)
    assert option in stage.options
    assert opt(stage.text, tmp_path, flag(stage)) == after
    assert opt(stage.text, tmp_path, f"--{name}={stage.options.replace(option, other)}") != after
