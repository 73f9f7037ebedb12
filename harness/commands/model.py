"""`harness model`: one whole model on the simulated NPU, with a line for each kernel as it runs."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cases.checks import did_you_mean
from harness.cases.loading import is_case_file
from harness.cases.targets import DEFAULT_TARGET
from harness.collection.settings import DEFAULT_MACHINE, DEFAULT_MODEL_FOLDER, checked_machine
from harness.commands.chosen import chosen_instances
from harness.errors import UsageError
from harness.garbage import rare_collections

if TYPE_CHECKING:
    from harness.cases.kernel_case import CaseInstance


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "model", help="run a whole model, kernel by kernel", description=__doc__
    )
    command.add_argument("model", metavar="MODEL", help="NAME, NAME[PARAMETERS] or a node id; without PARAMETERS tiny")
    command.add_argument("--machine", default=DEFAULT_MACHINE, metavar="NAME", help="none: execute the IR [default]")
    command.add_argument("--keep-going", action="store_true", help="go on after a buffer that differs")
    command.add_argument("--timing", action="store_true", help="count the machine's cycles")
    command.set_defaults(run=run, compiles=True)


def run(options: argparse.Namespace) -> int:
    """0 when the model passes, 1 when it does not. Raises UsageError where nothing has the name."""
    # Importing Inductor would start a pool of compiling processes.
    os.environ["TORCH_WARM_POOL"] = "0"
    machine = checked_machine(options.machine)
    with rare_collections():
        _, instances = model_instances(options.model)
        return max(_run(one, options, machine) for one in instances)


def model_instances(model: str) -> tuple[Path, list[CaseInstance]]:
    """The file and its cases: by node id, or by the name of a case in the models' folder; of several sizes the tiny
    ones. Raises UsageError where there is none."""
    file, separator, wanted = model.partition("::")
    if separator or file.endswith(".py"):
        return Path(file), chosen_instances(Path(file), wanted)
    name = model.partition("[")[0]
    folder = Path(DEFAULT_MODEL_FOLDER)
    files = [path for path in sorted(folder.rglob("*.py")) if is_case_file(path)]
    holding = [path for path in files if path.stem == name] or [path for path in files if f"def {name}(" in _text(path)]
    if not holding:
        raise UsageError(f"no model is called {name!r}", hint=_meant(name, folder, files))
    named_by_file = holding[0].stem == model and f"def {model}(" not in _text(holding[0])
    instances = chosen_instances(holding[0], "" if named_by_file else model)
    if "[" in model:
        return holding[0], instances
    return holding[0], [one for one in instances if one.chosen.get("size", "tiny") == "tiny"] or instances


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _meant(name: str, folder: Path, files: list[Path]) -> str:
    """The nearest name of a model, else all of the files'."""
    cases = [one for path in files for one in re.findall(r"^def (\w+)\(", _text(path), re.MULTILINE)]
    known = [path.stem for path in files]
    return did_you_mean(name, sorted({*cases, *known})) or f"in {folder}/: {', '.join(known) or 'none'}"


def _run(instance: CaseInstance, options: argparse.Namespace, machine: str) -> int:
    from harness.cases.options import RunOptions
    from harness.models.beside import idle_cores
    from harness.models.progress import facts, kernel_line
    from harness.models.run_case import run_model_case
    from harness.reports import failure_text
    from harness.reports.timing_table import launch_lines
    from harness.verdicts import classify

    template = instance.template
    print(f"{template.name}[{instance.parameter_id}]", flush=True)
    parameters = "-".join(filter(None, (DEFAULT_TARGET, instance.parameter_id)))
    name = f"{os.path.relpath(template.where.file)}::{template.name}[{parameters}]"
    evidence = run_model_case(
        instance,
        name,
        DEFAULT_TARGET,
        RunOptions(machine=machine, timing=options.timing, processes=idle_cores()),
        progress=lambda report: print(kernel_line(report), flush=True),
        keep_going=options.keep_going,
    )
    verdict = classify(evidence)
    if evidence.model is not None:
        model = evidence.model
        results = sum(buffer.compared for buffer in evidence.buffers) - model.compared - model.by_executor
        print("\n".join(facts(model, len(evidence.launches), results)))
    timed = [(launch.kernel, launch.timing) for launch in evidence.launches if launch.timing is not None]
    print("".join(f"{line}\n" for line in launch_lines(timed, "kernel", len(timed))), end="")
    print(verdict.summary if verdict.outcome == "pass" else failure_text(verdict), flush=True)
    return int(verdict.outcome != "pass")
