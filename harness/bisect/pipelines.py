"""The options that a pipeline gives its passes: the dump of modules does not tell them, Triton's reproducers do.

Where `TRITON_REPRODUCER_PATH` is set, Triton writes a file before each pass manager it runs, with all its passes:
`any(tritongpu-coalesce,tritongpu-pipeline{dump-intermediate-steps=false num-stages=3},...)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness.bisect.stages import Stage

VARIABLE = "TRITON_REPRODUCER_PATH"
_FILE = "pipeline"
_PIPELINE = re.compile(r'pipeline: "(.*?)"[,\n]', re.DOTALL)
_NAME = re.compile(r"[\w.-]+")
_OURS = ("dump-intermediate-steps=true", "dump-intermediate-steps=false")  # on because the capture dumps


def path_in(folder: Path) -> str:
    """What the variable is to be."""
    return str(folder / _FILE)


def passes_in(folder: Path, ignored: str = "") -> list[tuple[str, str]]:
    """(pass, its options) of every pass manager that ran, in order, but those whose file's name holds `ignored`."""
    files = sorted(folder.glob(f"{_FILE}*"), key=lambda path: path.stat().st_mtime_ns)
    kept = (path.read_text(errors="replace") for path in files if not ignored or f".{ignored}." not in path.name)
    return [one for text in kept for found in _PIPELINE.finditer(text) for one in passes_of(found[1])]


def passes_of(pipeline: str) -> Iterator[tuple[str, str]]:
    """The passes of a textual pipeline, and the text between the braces of each."""
    at = 0
    while (match := _NAME.search(pipeline, at)) is not None:
        at = match.end()
        if pipeline[at : at + 1] == "(":
            continue  # the op that what follows runs on
        end = _closing(pipeline, at) if pipeline[at : at + 1] == "{" else at
        yield match[0], " ".join(pipeline[at + 1 : end].split())
        at = max(at, end)


def _closing(text: str, at: int) -> int:
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def with_options(stages: Sequence[Stage], passes: Sequence[tuple[str, str]]) -> list[Stage]:
    """The stages, each with the options of its pass. A pass that no list names, such as those that the inliner runs
    by itself, has none."""
    found, at = [], 0
    for stage in stages:
        if at < len(passes) and passes[at][0] == stage.pass_name:
            stage = replace(stage, options=passes[at][1].replace(*_OURS))
            at += 1
        found.append(stage)
    return found


def flag(stage: Stage) -> str:
    """The argument of `harness opt` that runs the stage's pass with its options."""
    return f"--{stage.pass_name}={stage.options}" if stage.options else f"--{stage.pass_name}"
