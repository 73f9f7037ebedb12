"""The command `harness`. Each subcommand lives in a module of `harness.commands`.

Exit status: 0 done, 1 the gate or the suite is red, 2 it cannot be done as asked (one sentence, no traceback).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from harness import __version__
from harness.errors import HarnessError
from harness.process_end import leave
from harness.versions import check_versions

# The module that each subcommand lives in.
MODULES = {
    "report": "report",
    "allow": "allowlist",
    "disallow": "allowlist",
    "new": "new",
    "nightly": "nightly",
    "coverage": "coverage",
    "opt": "opt",
    "bisect": "bisect",
    "matrix": "matrix",
    "disasm": "machine",
    "time": "machine",
    "model": "model",
    "extract": "extract",
}


def run() -> NoReturn:
    """The process of the command `harness`."""
    leave(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(given[0] if given else "").parse_args(given)
    try:
        if options.compiles:
            check_versions()
        return options.run(options)
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `harness report | head`: the reader has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of the whole command line; of `command` alone, if there is one of that name: to import what the
    others need takes longer than many a command does."""
    modules = [MODULES[command]] if command in MODULES else dict.fromkeys(MODULES.values())
    top = argparse.ArgumentParser(prog="harness", description="Kernel coverage for Triton compilers.")
    top.set_defaults(compiles=False)  # a command that needs Triton and torch says so
    top.add_argument("--version", action="version", version=f"harness {__version__}")
    subcommands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in modules:
        import_module(f"harness.commands.{module}").register(subcommands)
    return top


if __name__ == "__main__":
    run()
