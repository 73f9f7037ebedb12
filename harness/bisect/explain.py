"""What a bisection found, for a person: what changed, what the pass did, and files to go on with."""

from __future__ import annotations

import linecache
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from harness.bisect.diff import ModuleDiff, module_diff
from harness.bisect.evidence import Culprit
from harness.bisect.pipelines import flag
from harness.bisect.results import Bisection, LaunchBisection
from harness.bisect.stages import CompilerFailure, Stage
from harness.cases.evidence import BufferEvidence
from harness.reports.artifacts import FailureArtifacts
from harness.reports.record import write_text

_MOST_LINES = 60  # of a diff on a terminal
_MOST_PLACES = 6
_MOST_OPS = 12
_SECONDS = 120


def explanation(bisection: Bisection, culprit: Culprit) -> list[str]:
    """The pass, what is wrong after it, which ops and kernel lines it touched, and the difference of the IR."""
    lines = [_headline(bisection, culprit)]
    for buffer in culprit.after.buffers:
        lines += _against_golden(buffer)
    if not any(buffer.mismatch for buffer in culprit.after.buffers):
        lines.append(f"  {culprit.after.reason}")
    lines += [f"  {one.kind}: {one.message} ({one.where} and {one.other})" for one in culprit.after.findings]
    if culprit.before is None:
        return lines
    lines += _against_before(bisection, culprit)
    diff = _diff_of(culprit)
    lines += _touched(diff)
    cut = len(diff.lines) - _MOST_LINES
    shown = [f"  {line}" for line in diff.lines[:_MOST_LINES]] + ([f"  ... {cut} more lines"] if cut > 0 else [])
    return [*lines, "  the IR, without locations and renumbered values:", *shown]


def failures(bisection: Bisection) -> list[tuple[LaunchBisection, CompilerFailure]]:
    """The launches whose pipeline did not get through."""
    return [(one, one.capture.failure) for one in bisection.launches if one.capture.failure is not None]


def save(folder: Path, bisection: Bisection, culprit: Culprit | None) -> None:
    """Writes what to go on with. Raises UsageError where the folder cannot be written.

    ttir.mlir       what the front end made of the kernel
    buffers/        before the launches, after the bad stage (where there is one), and as they should be
    last-PASS.mlir  the module that the guilty, or failing, pass was given; reproduce.sh runs the pass on it
    after.mlir, change.diff, change.txt  what it left behind, where it left something
    """
    broken = next((number for number, one in enumerate(bisection.launches) if one.capture.failure), None)
    number = broken if culprit is None else culprit.launch
    if number is None:
        return
    stages = bisection.launches[number].capture.stages
    buffers = bisection.buffers(number, None if culprit is None else culprit.after)
    FailureArtifacts(ttir=stages[0].text if stages else "", buffers=buffers).save(folder)
    if culprit is not None and culprit.before is not None:
        _save_given(folder, stages[culprit.after.number - 1])
        write_text(folder / "after.mlir", culprit.after.stage.text)
        write_text(folder / "change.diff", "\n".join(_diff_of(culprit).lines) + "\n")
        write_text(folder / "change.txt", "\n".join(explanation(bisection, culprit)) + "\n")
    elif broken is not None and (given := bisection.launches[broken].capture.stages):
        _save_given(folder, given[-1])


def reproduce_command(folder: Path, stage: Stage) -> list[str]:
    """What runs the stage's pass alone on the module it was given, with the options that the pipeline gave it."""
    return ["harness", "opt", str(folder / _given(stage)), flag(stage)]


def reproduces(folder: Path, stage: Stage) -> bool:
    """Whether the pass alone fails on the module it was given."""
    command = [sys.executable, "-m", "harness.cli", *reproduce_command(folder, stage)[1:]]
    try:
        ran = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode not in (0, 2)  # 2: this wheel has no such flag


def _given(stage: Stage) -> str:
    return f"last-{stage.pass_name}.mlir"


def _save_given(folder: Path, stage: Stage) -> None:
    FailureArtifacts(last_ir=stage.text, last_ir_stage=stage.pass_name).save(folder)
    command = shlex.join(["harness", "opt", _given(stage), flag(stage)])
    write_text(folder / "reproduce.sh", f'#!/bin/sh\ncd "$(dirname "$0")" || exit\n{command}\n')


def _headline(bisection: Bisection, culprit: Culprit) -> str:
    kernel = bisection.launches[culprit.launch].capture.kernel
    number = culprit.after.number
    if not culprit.suspects:
        return f"{kernel}: wrong at stage {number} already, before any pass that could be blamed"
    if len(culprit.suspects) == 1:
        return f"{kernel}: changed by {culprit.changed_by}, between stages {number - 1} and {number}"
    between = ", ".join(culprit.suspects)
    return f"{kernel}: changed by one of {between}: the stages between them were not executed"


def _against_golden(buffer: BufferEvidence) -> list[str]:
    wrong = buffer.mismatch
    if wrong is None:
        return []
    return [
        f"  {buffer.name}: {wrong.wrong} of {wrong.total} differ from the golden ({wrong.error_shape}),"
        f" first at {list(wrong.first_index)}: got {wrong.got}, want {wrong.want}"
    ]


def _against_before(bisection: Bisection, culprit: Culprit) -> list[str]:
    """Each buffer that the pass changed, bit for bit, against the stage before."""
    assert culprit.before is not None
    before = bisection.buffers(culprit.launch, culprit.before)
    after = bisection.buffers(culprit.launch, culprit.after)
    lines = []
    for one, other in zip(before, after, strict=True):
        was, now = one.got, other.got
        assert was is not None and now is not None
        different = torch.nonzero(_bits(was) != _bits(now))
        if len(different):
            at = tuple(int(index) for index in different[0])
            lines.append(
                f"  {one.name}: {len(different)} of {was.numel()} differ from the stage before,"
                f" first at {list(at)}: {_element(was, at)} became {_element(now, at)}"
            )
    return lines


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor if tensor.dtype == torch.bool else tensor.view(integers[tensor.element_size()])


def _element(tensor: torch.Tensor, at: tuple[int, ...]) -> str:
    value = tensor[at]
    return f"{value.float().item():.8g}" if value.is_floating_point() else str(value.item())


def _diff_of(culprit: Culprit) -> ModuleDiff:
    assert culprit.before is not None
    return module_diff(culprit.before.stage.text, culprit.after.stage.text)


def _touched(diff: ModuleDiff) -> list[str]:
    lines = [f"  ops: {', '.join(_capped(diff.ops(), _MOST_OPS))}"] if diff.ops() else []
    places = diff.places()
    if places:
        lines.append("  kernel lines:")
    for place in places[:_MOST_PLACES]:
        lines.append(f"    {place.file}:{place.line}: {linecache.getline(place.file, place.line).strip()}")
    return lines


def _capped(items: Sequence[str], most: int) -> list[str]:
    return [*items[:most], *([f"{len(items) - most} more"] if len(items) > most else [])]
