"""`python -m benchmarks`: the npu target beside Triton's interpreter and eager torch, from one run on one machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.benchmark import choose, kernel_modules
from benchmarks.machine import describe_machine, usable_cores
from benchmarks.measure import MOST_INTERPRETER_SAMPLES, Plan, measure
from benchmarks.results import Row, targets
from benchmarks.table import render
from harness.errors import HarnessError, UsageError
from harness.npu.machine import load_machine


def main(arguments: list[str]) -> int:
    """Returns the exit status: 0 when every kernel was measured, 1 when one was not, 2 for a mistake in the
    command, 130 when it was interrupted; what was measured until then is printed."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--kernel", nargs="+", default=[], metavar="NAME", help="only these; --list names all")
    parser.add_argument("--list", action="store_true", help="name the kernels and stop")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--repeat", type=_positive, default=5, metavar="N", help="samples of each side (default 5)")
    parser.add_argument(
        "--threads", type=_positive, default=usable_cores(), metavar="N", help="default: the usable cores (%(default)s)"
    )
    parser.add_argument("--no-interpreter", action="store_true", help="leave Triton's interpreter out")
    parser.add_argument("--scaling", action="store_true", help="also measure the problem with twice the programs")
    parser.add_argument(
        "--machine", nargs="?", const="default", default="", metavar="NAME", help="also lowered to it [default]"
    )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def _run(options: argparse.Namespace) -> int:
    chosen = choose(options.kernel, kernel_modules())
    if options.list:
        print("\n".join(f"{one.benchmark.name:16} {one.benchmark.size}" for one in chosen))
        return 0
    _check_writable(options.json)
    if options.machine:
        load_machine(options.machine)
    plan = Plan(options.repeat, options.threads, not options.no_interpreter, options.scaling, options.machine)
    machine = describe_machine(plan.threads)
    rows: list[Row] = []
    try:
        for one in chosen:
            rows.append(measure(one, plan, _tell))
    except KeyboardInterrupt:
        _report(rows, plan, machine, options)
        return 130
    _report(rows, plan, machine, options)
    return 1 if any(row.error for row in rows) else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _check_writable(path: Path | None) -> None:
    """Now, and not after an hour of measuring."""
    if path is None:
        return
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _report(rows: Sequence[Row], plan: Plan, machine: Mapping[str, str], options: argparse.Namespace) -> None:
    print(render(rows, notes_on(plan), machine, options.markdown), end="")
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(rows, plan, machine), indent=2) + "\n")


def notes_on(plan: Plan) -> list[str]:
    """How the numbers came about, one sentence each."""
    interpreted = (
        "The interpreter runs the first programs of the grid (`programs interpreted`); `~` marks a time that is"
        " estimated for the whole grid: that of one program, and for each further one the difference between a long"
        f" and a one-program run. Each is the least of at most {MOST_INTERPRETER_SAMPLES} samples."
    )
    return [
        f"Times are the least of {plan.repeat} samples of each side, taken in turn, each a warm-up call and as many"
        " calls as fit in 50 ms; every side runs in a process of its own, on the same threads.",
        "`npu` is `kernel[grid](...)` with the npu driver active, compiled and planned; `executor` is the part of it"
        " that is not Triton's own launch path.",
        "`torch` is eager, writing into the same buffers where torch has an `out=`; elsewhere its allocator keeps the"
        " pages warm.",
        "Every side's result was compared with the float64 reference before it was timed.",
        *([interpreted] if plan.interpreter else []),
        *([f"`{plan.machine}` is the npu target with the kernel lowered to that machine."] if plan.machine else []),
        "`peak` is the resident memory of a process's first run (compiling included), buffers included, above what"
        " the process held before it had any.",
    ]


def as_json(rows: Sequence[Row], plan: Plan, machine: Mapping[str, str]) -> dict[str, Any]:
    """The whole result: times in seconds, memory in bytes, ratios as the table prints them."""
    return {
        "machine": dict(machine),
        "plan": asdict(plan),
        "kernels": [_row_as_json(row) for row in rows],
        "targets": [asdict(one) for one in targets(rows)],
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    return {
        **asdict(row),
        "interpreter_seconds": row.interpreter.seconds if row.interpreter else None,
        "faster_than_interpreter": row.faster_than_interpreter,
        "slower_than_torch": row.slower_than_torch,
        "doubling": row.doubling,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
