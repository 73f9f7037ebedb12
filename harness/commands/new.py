"""`harness new`: a case file that runs, to start from."""

from __future__ import annotations

import argparse
import keyword
from pathlib import Path
from string import Template
from typing import Any

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
    """Raises UsageError for a path that is no case file, is there already, or cannot be written."""
    path: Path = options.path
    is_name = path.stem.isidentifier() and not keyword.iskeyword(path.stem) and not path.stem.startswith("_")
    if path.suffix != ".py" or not is_name:
        raise UsageError(f"{path} is no case file", hint="NAME.py, where NAME is a Python name without _ in front")
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
