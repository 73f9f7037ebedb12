"""`harness bisect CASE --target cuda:90`: the first compiler pass after which the case is wrong.

    harness bisect coverage_kernels/reduce/softmax.py
    harness bisect 'coverage_kernels/reduce/softmax.py::softmax[cuda:90-fp32-62x1000]'

CASE is a file, or a node id with or without its [..] part, whatever target that names. The backend's own pipeline
compiles every launch, with no GPU; the module before each pass is executed and compared with the case's goldens.

Exit status: 0 clean (every stage executed matches), 1 found (a pass changed a buffer, or the compiler failed), 2
undecided (nothing could be executed, the kernel is wrong before any pass, or the case ended its process or ran out of
time), and for what cannot be done as asked.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cases.evidence import Evidence
from harness.cases.location import SourceLocation
from harness.cases.source_lines import innermost_line
from harness.commands.apart import Ended, apart
from harness.commands.chosen import chosen_instances
from harness.commands.numbers import positive
from harness.commands.project import REPORT, last_report
from harness.errors import UsageError
from harness.reports import folder_name
from harness.reports.stage_table import stage_table
from harness.reports.words import plural

if TYPE_CHECKING:
    from harness.cases.kernel_case import CaseInstance

CLEAN, FOUND, UNDECIDED = 0, 1, 2
# Of several cases, what is found outweighs what is undecided.
_WORST = (FOUND, UNDECIDED, CLEAN)
_WORD = {CLEAN: "clean", FOUND: "found", UNDECIDED: "undecided"}


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "bisect",
        help="the first compiler pass after which a case is wrong, with no GPU",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("case", metavar="CASE", help="FILE, FILE::CASE or a node id")
    command.add_argument("--target", default="cuda:90", metavar="BACKEND:ARCH", help="whose pipeline [%(default)s]")
    command.add_argument("--all", action="store_true", help="every row of the table")
    command.add_argument(
        "--case-timeout", type=positive, default=120.0, metavar="SECONDS", help="of one case [%(default)g]"
    )
    command.add_argument("--report-dir", type=Path, metavar="FOLDER", help=f"[{REPORT}]")
    command.set_defaults(run=run, compiles=True)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for a case or target that is none."""
    from harness.bisect.architectures import check_architecture
    from harness.bisect.capture import gpu_target

    gpu_target(options.target)
    check_architecture(options.target)
    # Here, so that a case's time is its own.
    import_module("harness.bisect.run")
    found = [_apart(instance, node_id, options) for instance, node_id in _chosen(options.case, options.target)]
    return next(status for status in _WORST if status in found)


def _chosen(case: str, target: str) -> Iterator[tuple[CaseInstance, str]]:
    """The instances that CASE names, each with its node id on the target."""
    file, _, wanted = case.partition("::")
    if not Path(file).is_file() or Path(file).suffix != ".py":
        raise UsageError(
            f"{file or case!r} is no file of kernel cases", hint="CASE is FILE.py, FILE.py::CASE or a node id"
        )
    for instance in chosen_instances(Path(file), wanted):
        parameters = f"-{instance.parameter_id}" if instance.parameter_id else ""
        yield instance, f"{file}::{instance.template.name}[{target}{parameters}]"


def _apart(instance: CaseInstance, node_id: str, options: argparse.Namespace) -> int:
    """Bisects a case in a process of its own, and prints what it comes to; returns the exit status."""
    print(node_id, flush=True)
    came_to = apart(lambda tell: _bisect(instance, node_id, options, tell), options.case_timeout, "collect")
    if isinstance(came_to, Ended):
        came_to = _undecided(f"{came_to.stage}: {came_to.how}")
    status, text = came_to
    print(text.replace(f"{Path.cwd()}/", ""), flush=True)
    return status


def _bisect(
    instance: CaseInstance, node_id: str, options: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[int, str]:
    """The exit status, and what is printed."""
    from harness.bisect.evidence import fill, first_culprit
    from harness.bisect.explain import explanation, failures, reproduce_command, reproduces, save
    from harness.bisect.run import bisect_case

    stages = ["collect"]

    def enter_stage(stage: str) -> None:
        stages.append(stage)
        tell(stage)

    try:
        bisection = bisect_case(instance, options.target, enter_stage=enter_stage)
    except SystemExit as error:
        return _undecided(f"{stages[-1]}: {_exit_place(instance, error)}the case called sys.exit({error.code!r})")
    except Exception as error:
        return _undecided(_told(error, stages[-1], instance))
    evidence = Evidence(node_id, options.target)
    fill(evidence, bisection)
    lines = stage_table(evidence, options.all)
    culprit = first_culprit(bisection)
    folder = (options.report_dir or last_report()) / "bisect" / folder_name(node_id)
    if culprit is not None:
        lines += ["", *explanation(bisection, culprit)]
    broken = failures(bisection)
    for one, failure in broken:
        lines += ["", f"{one.capture.kernel}: the compiler failed in {failure.pass_name}: {failure.what}"]
        lines += [f"  {line}" for line in failure.log.splitlines()[:_LOG_LINES]]
    if broken or (culprit is not None and culprit.suspects):
        save(folder, bisection, culprit)
        lines += ["", f"saved: {folder}"]
    if broken and culprit is None and broken[0][0].capture.stages:
        last = broken[0][0].capture.stages[-1]
        alone = "fails alone as well" if reproduces(folder, last) else "does not fail alone"
        lines.append(f"rerun: {shlex.join(reproduce_command(folder, last))}  ({alone})")
    status = _status(evidence, bool(broken), culprit)
    missing = sum(len(row.passes) for row in evidence.stages if row.verdict == "not executed")
    were = "was" if missing == 1 else "were"
    but = f", but {plural(missing, 'stage')} {were} not executed" if missing and status == CLEAN else ""
    return status, "\n".join([*lines, f"{_WORD[status]}{but}", ""])


_LOG_LINES = 8


def _undecided(sentence: str) -> tuple[int, str]:
    return UNDECIDED, f"{sentence}\n{_WORD[UNDECIDED]}\n"


def _exit_place(instance: CaseInstance, error: BaseException) -> str:
    file = instance.template.where.file
    line = innermost_line(file, error)
    return f"{SourceLocation(file, line)}: " if line else ""


def _told(error: Exception, stage: str, instance: Any) -> str:
    """What kept a case from being compiled at all, in a sentence."""
    from harness.bisect.run_case import failure_in

    failure = failure_in(error, stage, "", instance)
    where = f"{failure.where}: " if failure.where is not None else ""
    return f"{failure.stage}: {where}{failure.message.removeprefix(where)}"


def _status(evidence: Evidence, broken: bool, culprit: Any) -> int:
    if broken or (culprit is not None and culprit.suspects):
        return FOUND
    executed = {row.launch for row in evidence.stages if row.verdict == "match"}
    return CLEAN if culprit is None and evidence.launches and len(executed) == len(evidence.launches) else UNDECIDED
