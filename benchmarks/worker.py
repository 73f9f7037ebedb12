"""`python -m benchmarks.worker MODULE NAME SIDE`: one side of one benchmark, in a process of its own.

Every line on standard input asks for a sample; the end of input ends the process. Every answer is a line
of JSON with one key: "ready" once (the problem, as the case states it), then a "sample" for each request,
or "error" (one sentence), which is the last.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from typing import Any, TextIO

from benchmarks.benchmark import find_benchmark
from benchmarks.sides import SIDES, Setting
from harness.errors import HarnessError
from harness.process_end import leave


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    answers = _claim_output()
    try:
        _serve(options, answers)
    except HarnessError as error:
        _answer(answers, "error", f"{type(error).__name__}: {error}")
        return 1
    except Exception as error:
        traceback.print_exc()
        _answer(answers, "error", f"{type(error).__name__}: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker", description=__doc__)
    parser.add_argument("module")
    parser.add_argument("name")
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--machine", default="")
    return parser


def _claim_output() -> TextIO:
    """Standard output for answers alone: what a kernel or a library prints goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _serve(options: argparse.Namespace, answers: TextIO) -> None:
    benchmark = find_benchmark(options.module, options.name)
    setting = Setting(benchmark, options.scale, options.threads, options.machine)
    with SIDES[options.side].open(setting) as sampler:
        _answer(answers, "ready", {"grid": list(benchmark.case(options.scale).grid)})
        for _ in sys.stdin:
            _answer(answers, "sample", sampler())


def _answer(answers: TextIO, key: str, value: Any) -> None:
    answers.write(json.dumps({key: value}) + "\n")
    answers.flush()


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
