"""`harness disasm` and `harness time`: a kernel's program on a machine, and its cycles."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.chosen import chosen_instances
from harness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from harness.cases.kernel_case import CaseInstance
    from harness.npu.isa.program import Program
    from harness.npu.session import LaunchRecord
    from harness.targets.machine_run import Wanted

DEFAULT_MACHINE = "default"

_DISASM = """The machine program of a kernel, one line an instruction.

    harness disasm coverage_kernels/reduce/softmax.py
    harness disasm 'coverage_kernels/reduce/softmax.py::softmax[fp32-62x1000]' --machine tiny
    harness disasm PROGRAM.npu

CASE is a file of kernel cases, or a node id with or without its [..] part; a .npu file is a program as the compiler
leaves it in Triton's cache.
"""

_TIME = """How long a case's launches take on a machine: cycles, busy engines, roofline. No value is computed.

    harness time coverage_kernels/reduce/softmax.py --machine wide
    harness time 'coverage_kernels/gemm/tails.py::tails[fp32-64x64x64]' --trace tails.json

The trace opens in ui.perfetto.dev. Where the way through a kernel depends on what it loads, --values runs it first.
A case without a time (it is refused, or needs --values) is named with the reason; the others are timed all the same,
and the exit status is 1.
"""


def register(subcommands: Any) -> None:
    disasm = _command(subcommands, "disasm", "the machine program of a kernel, one line an instruction", _DISASM)
    disasm.add_argument("case", metavar="CASE|FILE.npu")
    disasm.set_defaults(run=run_disasm, compiles=True)
    time = _command(subcommands, "time", "the cycles of a case's launches on a machine, without their values", _TIME)
    time.add_argument("case", metavar="CASE")
    time.add_argument("--values", action="store_true", help="compute them first: for loops that depend on them")
    time.add_argument("--trace", type=Path, metavar="FILE", help="write what every engine did, for Perfetto")
    time.set_defaults(run=run_time, compiles=True)


def _command(subcommands: Any, name: str, summary: str, description: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = subcommands.add_parser(
        name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--machine", default=DEFAULT_MACHINE, metavar="NAME", help="or a .toml file [%(default)s]")
    return command


def run_disasm(options: argparse.Namespace) -> int:
    """Exit status 1 where a case has no program. Raises UsageError for a case, file or machine that is none."""
    from harness.npu.isa.disassembly import disassemble
    from harness.targets.machine_run import Wanted

    file = Path(options.case)
    if file.suffix == ".npu":
        print(disassemble(_read(file)))
        return 0
    records, failed = _launches(options, Wanted())
    programs = [record.program for record in records if record.program is not None]
    for at, program in enumerate(programs):
        if program not in programs[:at]:
            print(disassemble(program))
    return _status(failed)


def run_time(options: argparse.Namespace) -> int:
    """Exit status 1 where a case has no time. Raises as `run_disasm` does."""
    from harness.npu.timing import Timing, timing_table, write_trace
    from harness.targets.machine_run import Wanted

    wanted = Wanted(values=options.values, timing=True, events=options.trace is not None)
    records, failed = _launches(options, wanted)
    timings = [record.timing for record in records if isinstance(record.timing, Timing)]
    if timings:
        print("\n".join(timing_table(timings)))
    if options.trace is not None:
        write_trace(options.trace, timings)
        print(f"trace: {options.trace}")
    return _status(failed)


def _status(failed: Sequence[str]) -> int:
    """Says which cases have nothing to show, and why."""
    for line in failed:
        print(f"harness: {line}", file=sys.stderr)
    return 1 if failed else 0


def _read(file: Path) -> Program:
    from harness.npu.isa.encoding import decode

    try:
        return decode(file.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error


def _launches(options: argparse.Namespace, wanted: Wanted) -> tuple[list[LaunchRecord], list[str]]:
    """Of every instance that is meant, one after the other; and a sentence for each that failed, its case named."""
    from harness.npu.machine import load_machine
    from harness.targets.machine_run import run_on_machine

    load_machine(options.machine)
    file, _, name = options.case.partition("::")
    if not Path(file).is_file() or Path(file).suffix != ".py":
        hint = "CASE is FILE.py, FILE.py::CASE or a node id"
        raise UsageError(f"{file or options.case!r} is no file of kernel cases", hint=hint)
    records, failed = [], []
    for instance in chosen_instances(Path(file), name):
        try:
            launched = _in_a_sentence(instance, partial(run_on_machine, instance, options.machine, wanted))
        except HarnessError as error:
            failed.append(f"{_node_id(file, instance)}: {error}")
            continue
        records += launched
        failed += [f"{_node_id(file, instance)}: {reason}" for reason in dict.fromkeys(_untimed(launched))]
    return records, failed


def _untimed(records: Sequence[LaunchRecord]) -> Iterator[str]:
    from harness.npu.session import Untimed

    for record in records:
        if isinstance(record.timing, Untimed):
            yield f"the cycles depend on values: {record.timing.reason} (give --values)"


def _node_id(file: str, instance: CaseInstance) -> str:
    inside = f"[{instance.parameter_id}]" if instance.parameter_id else ""
    return f"{file}::{instance.template.name}{inside}"


def _in_a_sentence(instance: CaseInstance, launch: Callable[[], list[LaunchRecord]]) -> list[LaunchRecord]:
    """What compiling or running raised that is not ours (Triton's errors, the case's own) as one of our sentences."""
    from harness.bisect.run_case import failure_in

    try:
        return launch()
    except HarnessError:
        raise
    except Exception as error:
        failure = failure_in(error, "compile", "", instance)
        raise UsageError(failure.message, failure.where, failure.hint) from error
