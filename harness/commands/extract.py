"""`harness extract`: one launch of a model as a kernel case of its own, checked to do by itself what it does there."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from harness.collection.settings import DEFAULT_FOLDER, DEFAULT_MACHINE, checked_machine
from harness.commands.model import model_instances
from harness.errors import UsageError

_FOLDER = Path(DEFAULT_FOLDER, "extracted")


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "extract", help="make a kernel case of one launch of a model", description=__doc__
    )
    command.add_argument("model", metavar="MODEL", help="NAME, NAME[PARAMETERS] or a node id, as for `harness model`")
    command.add_argument(
        "--kernel", default="", metavar="K", help="the launch's number, or a kernel's name [the launch that fails]"
    )
    command.add_argument("--machine", default=DEFAULT_MACHINE, metavar="NAME", help="none: execute the IR [default]")
    command.add_argument("--output", type=Path, metavar="FILE", help=f"[{_FOLDER}/KERNEL.py]")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError where there is no such launch, or it cannot be a case of its own."""
    # Importing Inductor would start a pool of compiling processes.
    os.environ["TORCH_WARM_POOL"] = "0"
    from harness.models.extracted import extract

    machine = checked_machine(options.machine)
    file, instances = model_instances(options.model)
    instance = instances[0]
    origin = f"{file}::{instance.template.name}[{instance.parameter_id}]"
    found = extract(instance, origin, options.kernel, machine)
    path: Path = options.output or _FOLDER / f"{found.kernel.removeprefix('triton_')}.py"
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != found.text:
        raise UsageError(f"{path} is there already, and is another text", hint="--output=FILE puts it elsewhere")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    outcome = (
        f"fails by itself as it does there: {found.bucket}" if found.bucket else "passes by itself as it does there"
    )
    if found.scratch:
        outcome += f"; not compared: {', '.join(found.scratch)}"
    print(f"{path}: launch {found.number} of {origin}, which {outcome}")
    return 0
