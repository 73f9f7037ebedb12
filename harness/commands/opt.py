"""`harness opt`: triton-opt out of the installed wheel.

    harness opt FILE.mlir --triton-combine --tritongpu-pipeline="num-stages=3"
    harness opt FILE.mlir --npu-analyze-pointers --machine=tiny    passes of the simulated NPU's lowering
    harness opt FILE.mlir --pass npu-analyze-pointers              the same pass
    harness opt FILE.mlir --npu-lower --print-after                all of them, and the IR after each
    harness opt FILE.mlir --npu-lower --npu-encode                 and the machine's program that they give
    harness opt --list-passes
    harness opt --update FILE.mlir

Exit status: as triton-opt's, 0 or 1; 2 for what cannot be done as asked, and for a crash of the compiler 128 and the
signal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.lit import lowering, opt
from harness.lit.compiler import Compiler, installed_compiler
from harness.lit.forked import failing_pass, run_opt
from harness.lit.update import update_file

# A character that no argument begins with: every flag is the compiler's.
_NO_PREFIX = "\0"


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "opt",
        help="triton-opt out of the installed wheel: run passes over a .mlir file",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        prefix_chars=_NO_PREFIX,
        add_help=False,
    )
    command.add_argument("arguments", nargs="*", metavar="FILE --PASS...")
    command.set_defaults(run=run, compiles=True, parser=command)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError or UnsupportedFlag for what cannot be done as asked."""
    arguments: list[str] = options.arguments
    if not arguments or arguments[0] in ("-h", "--help", "-help"):
        print(__doc__)
        return 0
    if arguments[0] in ("--list-passes", "-list-passes"):
        sys.stdout.write(list_passes(installed_compiler()))
        return 0
    if arguments[0] in ("--update", "-update"):
        return _update(arguments[1:])
    if lowering.is_asked_for(arguments):
        return lowering.main(arguments)
    return _run(arguments)


def list_passes(compiler: Compiler) -> str:
    """Every flag with the options it takes and the way it is run: a binding of the wheel, or as text."""
    route, defaults = compiler.textual, compiler.defaults
    flags = sorted({*compiler.bindings, *defaults})
    lines = [f"{len(flags)} passes of triton {compiler.release}"]
    lines += [
        f"  --{flag:<52} {_way(compiler, flag):<53} {_options(compiler, flag, defaults)}".rstrip() for flag in flags
    ]
    if route.refusal:
        lines.append(f"no pipelines as text, so that options are only those of the bindings: {route.refusal}")
    ours = (*lowering.pass_names(), lowering.ENCODE)
    lines.append(f"passes of the simulated NPU's lowering, in order: {' '.join(f'--{name}' for name in ours)}")
    return "\n".join(lines) + "\n"


def _way(compiler: Compiler, flag: str) -> str:
    bindings = compiler.bindings.get(flag)
    return bindings[0].name.removeprefix("libtriton.") if bindings else "as text"


def _options(compiler: Compiler, flag: str, defaults: Mapping[str, Mapping[str, str]]) -> str:
    """With their defaults where those are known: a binding does not say them."""
    if flag in defaults:
        return " ".join(f"{name}={value}" for name, value in defaults[flag].items())
    return " ".join(filter(None, compiler.bindings[flag][0].options))


def _update(files: Sequence[str]) -> int:
    if not files:
        raise UsageError("--update names no file", hint="harness opt --update FILE.mlir")
    for file in files:
        changed = update_file(Path(file))
        print(f"{file}: {'check lines rewritten, for you to read' if changed else 'as it was'}")
    return 0


def _run(arguments: Sequence[str]) -> int:
    request = opt.parse_arguments(arguments)
    opt.check_supported(request, installed_compiler())
    with tempfile.TemporaryFile("w+b") as errors:
        result = run_opt(request, 0, 1, errors.fileno())
        errors.seek(0)
        sys.stderr.write(errors.read().decode(errors="replace"))
    if not result.signal_name:
        return result.status
    stage = failing_pass(request, result.status) if request.input != "-" else ""
    where = f" in {stage}" if stage else ""
    print(f"harness opt: the compiler ended by {result.signal_name}{where}", file=sys.stderr)
    return 128 - result.status
