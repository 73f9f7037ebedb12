"""The command `harness`. Each subcommand lives in a module of `harness.commands`.

Exit status: 0 done, 1 the gate or the suite is red, 2 it cannot be done as asked (one sentence, no traceback).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from harness import __version__
from harness.commands import allowlist, bisect, coverage, extract, machine, matrix, model, new, nightly, opt, report
from harness.errors import HarnessError
from harness.versions import check_versions

_COMMANDS = (report, allowlist, new, nightly, coverage, opt, bisect, matrix, machine, model, extract)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns the exit status."""
    options = parser().parse_args(arguments)
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


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(prog="harness", description="Kernel coverage for Triton compilers.")
    top.set_defaults(compiles=False)  # a command that needs Triton and torch says so
    top.add_argument("--version", action="version", version=f"harness {__version__}")
    subcommands = top.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.register(subcommands)
    return top


if __name__ == "__main__":
    sys.exit(main())
