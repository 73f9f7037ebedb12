"""`harness matrix CASE... --triton 3.6.0,3.7.1 --target cuda:80`: the cases on several releases of Triton.

    harness matrix coverage_kernels/regressions --triton 3.6.0,3.7.1,3.8.0,3.9.0
    harness matrix coverage_kernels/gemm/tails.py --triton all --target cuda:90,hip:gfx942

CASE is a file or folder of cases, or FILE::CASE, or FILE::CASE[PARAMETERS]. Each release is installed once into the
cache and works offline from then on; the release of this Python is used as it is. Every case is bisected as by
`harness bisect`. What is known is not run again until the case, the harness or a version changes: an interrupted
run goes on where it was.

Exit status: 0 nothing is wrong, 1 some release breaks a case, 2 for what cannot be done as asked, and where a case
ended its process or ran out of time with no release to blame for it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.chosen import chosen_instances
from harness.commands.numbers import count, positive
from harness.errors import EnvironmentFailed, UsageError

if TYPE_CHECKING:
    from harness.bisect.cells import CaseName
    from harness.bisect.environments import Environments

FINE, BAD, UNDECIDED = 0, 1, 2

_PAGE = """# Regressions of Triton's passes

Each row is a kernel of this repository, each column a release from the package index. The backend's own pipeline
compiles the kernel, the module before each of its passes is executed on the CPU, and its buffers are compared with
the case's reference: there is no GPU, and no expectation beyond the reference. **wrong**: a pass changed a buffer; it
is named. **crash**: the pass named failed, by an error, an assertion or a signal. What each kernel is about, and the
public issue where there is one, is told at the top of its file.

Made by

    {command}

"""


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "matrix",
        help="cases on several releases of Triton: the first bad and the first good one",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("cases", nargs="+", metavar="CASE", help="a file, a folder, FILE::CASE or a node of it")
    command.add_argument(
        "--triton",
        default="all",
        metavar="LIST",
        help="releases with commas between; all: those in the cache and those pip can name; kept: in the cache [all]",
    )
    command.add_argument("--target", default="cuda:80", metavar="LIST", help="whose pipelines [%(default)s]")
    command.add_argument("--cache", type=Path, default=None, metavar="FOLDER", help="[in the user's cache folder]")
    command.add_argument("--fresh", action="store_true", help="run everything again")
    command.add_argument("--offline", action="store_true", help="install nothing")
    command.add_argument("--jobs", type=count, default=os.cpu_count() or 1, metavar="N", help="releases at a time")
    command.add_argument("--case-timeout", type=positive, default=120.0, metavar="SECONDS")
    command.add_argument("--markdown", type=Path, default=None, metavar="FILE", help="write the grid as a page")
    command.set_defaults(run=run, compiles=True)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for cases, releases or targets that are none."""
    from harness.bisect.capture import gpu_target
    from harness.bisect.environments import Environments
    from harness.bisect.grid import markdown, rows, text
    from harness.bisect.matrix import Matrix, Store

    for target in _listed(options.target):
        gpu_target(target)
    cache = options.cache or default_cache()
    _make(cache)
    environments = Environments.in_cache(cache)
    cases = [case for name in options.cases for case in named(name)]
    releases = chosen_releases(options.triton, environments, options.offline)
    matrix = Matrix(environments, Store.in_cache(cache), _tell, options.case_timeout, options.fresh, options.offline)
    targets = _listed(options.target)
    found = rows(matrix.fill(cases, targets, releases, options.jobs), releases)
    found.sort(key=lambda row: targets.index(row.target))
    print(text(found, releases), end="", flush=True)
    if options.markdown is not None:
        _write(options.markdown, _PAGE.format(command=_command(options, releases)) + markdown(found, releases))
    if all(cell.verdict == "unsupported" for row in found for cell in row.cells.values()):
        raise UsageError("no case ran on any of these releases", hint="the grid says why")
    if any(row.is_bad for row in found):
        return BAD
    return UNDECIDED if any(row.is_undecided for row in found) else FINE


def _make(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot use {cache} as the cache: {error.strerror}", hint="--cache FOLDER") from error


def _write(page: Path, content: str) -> None:
    try:
        page.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {page}: {error.strerror}") from error


def default_cache() -> Path:
    """Of the user, as the XDG base directories say."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triton-coverage-harness"


def named(name: str) -> Iterator[CaseName]:
    """Raises UsageError where there is no such case."""
    from harness.bisect.cells import CaseName
    from harness.cases.loading import case_files

    path, _, wanted = name.partition("::")
    files = case_files(Path(path)) if Path(path).is_dir() else [Path(path)]
    if not files or not files[0].is_file():
        raise UsageError(f"{path} is no case file, nor a folder of them")
    for file in files:
        for instance in chosen_instances(file, wanted):
            yield CaseName(str(file), instance.template.name, instance.parameter_id)


def chosen_releases(wanted: str, environments: Environments, offline: bool) -> list[str]:
    """Oldest first. Raises UsageError for a name that is no release, and where there is none at all."""
    from harness.bisect.environments import sorted_releases

    if wanted not in ("all", "kept"):
        names = _listed(wanted)
        releases = sorted_releases(names)
        unknown = sorted(set(names) - set(releases))
        if unknown or not releases:
            raise UsageError(f"{', '.join(unknown) or wanted!r}: no release of Triton", hint="such as 3.7.1")
        return releases
    kept = environments.kept()
    return sorted_releases([*kept, *_nameable(offline or wanted == "kept")])


def _nameable(offline: bool) -> Sequence[str]:
    """What pip can name and the harness can bisect; nothing where pip cannot be asked."""
    from packaging.version import Version

    from harness.bisect.environments import OLDEST, named_by_pip

    if offline:
        return ()
    try:
        return [release for release in named_by_pip() if Version(release) >= OLDEST]
    except EnvironmentFailed as error:
        _tell(f"only the releases in the cache: {error}")
        return ()


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _command(options: argparse.Namespace, releases: Sequence[str]) -> str:
    parts = ["harness matrix", *options.cases, f"--triton {','.join(releases)}", f"--target {options.target}"]
    return " ".join([*parts, f"--markdown {options.markdown}"])


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
