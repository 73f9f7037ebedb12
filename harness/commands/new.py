"""`harness new`: a case file that runs, to start from."""

from __future__ import annotations

import argparse
import keyword
import os
from pathlib import Path
from string import Template
from typing import Any

from harness.cases.loading import is_case_file
from harness.commands.configuration import kernel_folders
from harness.errors import UsageError

_SKELETON = Template('''"""What this covers, in a sentence.

Where it was reduced from: the failing program, an issue, a release.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def ${name}_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value + value, mask=at < n)


@case(dtype=["fp32", "fp16"], n=[1000])
def ${name}(dtype, n):
    return KernelCase(
        ${name}_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(x=Buffer(n, dtype), out=empty(n, dtype), n=n, BLOCK=128),
        reference=lambda x: {"out": x + x},
    )
''')


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("new", help="write a case skeleton that runs")
    command.add_argument("path", type=Path, metavar="FOLDER/FAMILY/NAME.py")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for a path that is no case file or no place for one, is there already, or cannot be written."""
    path: Path = options.path
    is_name = path.stem.isidentifier() and not keyword.iskeyword(path.stem)
    if not is_name or not is_case_file(path):
        hint = "NAME.py, where NAME is a Python name without _ in front, and not conftest"
        raise UsageError(f"{path} is no case file", hint=hint)
    _check_place(path)
    text = _SKELETON.substitute(name=path.stem)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    print(f"{path}: now put your kernel in it, then: python -m pytest {path}")
    return 0


def _check_place(path: Path) -> None:
    """Raises UsageError where pytest would not take the file for one of cases."""
    places = kernel_folders(path)
    if places is None or places.hold(path):
        return
    folders = " or ".join(os.path.relpath(folder) for folder in places.folders)
    ini = os.path.relpath(places.ini) if places.ini else "pyproject.toml"
    hint = f"write it below {folders}, or add its folder to kernel_paths in {ini}"
    raise UsageError(f"{path} is in no folder of kernel cases, so that pytest would not collect it", hint=hint)
