"""What the command line and the ini file say about a run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.cases.options import CHECKS, RunOptions
from harness.cases.targets import DEFAULT_TARGET
from harness.collection.sharding import Shard, parse_shard
from harness.errors import HarnessError, UsageError

DEFAULT_FOLDER = "coverage_kernels"
DEFAULT_LIT_FOLDER = "lit_tests"
DEFAULT_MODEL_FOLDER = "models"
DEFAULT_MACHINE = "default"
NO_MACHINE = ""  # the target's IR is executed
# Measured over a thirtieth of this repository's cases: Triton's compiler and the executor of its programs need up to
# 4 MiB of their own, a GPU's pipeline up to 16 MiB, and end in any way whatever without them.
LEAST_MEMORY = 16 * 2**20
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Settings:
    """kernel_paths   folders of kernel case files that exist
    lit_paths         folders of lit cases that exist
    model_paths       folders of model case files that exist and that this run was asked for
    other_model_paths those that exist and that it was not
    timeout, memory   of one case: seconds, and bytes (0: no limit)
    """

    root: Path
    kernel_paths: tuple[Path, ...]
    lit_paths: tuple[Path, ...]
    model_paths: tuple[Path, ...]
    other_model_paths: tuple[Path, ...]
    targets: tuple[str, ...]
    run: RunOptions
    timeout: float
    memory: int
    report_folder: Path
    allowlist: Path
    gate: bool
    strict: bool
    shard: Shard | None
    trace: Path | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Reads the configuration; what cannot be used was refused by the option parser."""
        option: Any = config.getoption
        strict = option("strict_gate")
        _check_machine_options(config)
        models, others = _model_folders(config)
        return cls(
            root=config.rootpath,
            kernel_paths=_folders(config, "kernel_paths", DEFAULT_FOLDER),
            lit_paths=_folders(config, "lit_paths", DEFAULT_LIT_FOLDER),
            model_paths=models,
            other_model_paths=others,
            targets=_targets(option("target")),
            run=RunOptions(
                checks=option("checks"),
                machine=_machine_of(config),
                check_lowering=option("check_lowering"),
                timing=option("timing"),
            ),
            trace=_from_root(config, option("trace_file")) if option("trace_file") else None,
            timeout=option("case_timeout"),
            memory=option("case_memory"),
            report_folder=_from_root(config, option("report_dir")),
            allowlist=_from_root(config, option("allowlist")),
            gate=option("gate") or strict,
            strict=strict,
            shard=option("shard"),
        )

    @property
    def case_paths(self) -> tuple[Path, ...]:
        """Folders of cases of any kind."""
        return self.kernel_paths + self.lit_paths + self.model_paths

    def folder_of(self, path: Path) -> Path | None:
        """The folder of case files that `path` lies in, if any."""
        return next((folder for folder in self.case_paths if path.is_relative_to(folder)), None)

    def holds_lit_cases(self, path: Path) -> bool:
        """Whether the folder of case files that `path` lies in is one of lit cases."""
        return self.folder_of(path) in self.lit_paths

    def holds_model_cases(self, path: Path) -> bool:
        """Whether the folder of case files that `path` lies in is one of model cases."""
        return self.folder_of(path) in self.model_paths

    def relative(self, text: str) -> str:
        """The text with the paths in it written from the root, as node ids are."""
        return text.replace(f"{self.root}/", "")

    @property
    def summary(self) -> str:
        """Where cases run and how closely they are watched, for the head of a run."""
        machine = f"; machine {self.run.machine}" if self.run.machine else ""
        return f"target {', '.join(self.targets)}{machine}; {self.run.checks} checks"

    @property
    def rerun(self) -> tuple[str, ...]:
        """The options that running one case again needs: those that are not the default."""
        targets = () if self.targets == (DEFAULT_TARGET,) else (f"--target={','.join(self.targets)}",)
        checks = () if self.run.checks == RunOptions().checks else (f"--checks={self.run.checks}",)
        default = DEFAULT_MACHINE if DEFAULT_TARGET in self.targets else NO_MACHINE
        machine = () if self.run.machine == default else (f"--machine={self.run.machine or 'none'}",)
        lowering = ("--check-lowering",) if self.run.check_lowering else ()
        return (*targets, *checks, *machine, *lowering)


def add_options(parser: pytest.Parser) -> None:
    parser.addini("kernel_paths", f"folders of kernel case files (default: {DEFAULT_FOLDER})", type="paths", default=[])
    parser.addini(
        "model_paths", f"folders of model case files (default: {DEFAULT_MODEL_FOLDER})", type="paths", default=[]
    )
    parser.addini("lit_paths", f"folders of lit cases (default: {DEFAULT_LIT_FOLDER})", type="paths", default=[])
    group = parser.getgroup("harness", "kernel cases")
    add = group.addoption
    add("--target", action="append", metavar="NAME", help="where cases run; several: repeat it or use commas [npu]")
    add("--checks", choices=CHECKS, default="fast", help="fast: bounds and goldens; full: races, unwritten memory, ...")
    add(
        "--machine",
        type=_machine,
        metavar="NAME",
        help="npu: lower to, and simulate, this machine, a .toml file, or none: execute the IR [default]",
    )
    add("--check-lowering", action="store_true", help="npu: name the pass and value where lowering errs")
    add("--models", action="store_true", help="run model cases too; `pytest models/NAME.py` runs some without it")
    add("--timing", action="store_true", help="npu: count the machine's cycles")
    add("--trace-file", metavar="FILE", help="npu: write what every engine did, for Perfetto")
    add("--case-timeout", type=_seconds, default=120.0, metavar="SECONDS", help="of one case [%(default)g]")
    add("--case-memory", type=_bytes, default=0, metavar="SIZE", help="one case may allocate, such as 2G [no limit]")
    add("--gate", action="store_true", help="exit by the allowlist: red when a listed case does not do as listed")
    add("--strict-gate", action="store_true", help="--gate, and a case that is not listed is red too")
    add("--allowlist", default="allowlist.txt", metavar="FILE", help="for --gate [%(default)s]")
    add("--report-dir", default=".harness/report", metavar="DIR", help="where the report goes [%(default)s]")
    add("--shard", type=_shard, metavar="I/N", help="run the I-th of N parts; each test is always in the same part")


def _folders(config: pytest.Config, name: str, default: str) -> tuple[Path, ...]:
    folders = config.getini(name) or [config.rootpath / default]
    return tuple(folder.resolve() for folder in folders if folder.is_dir())


def _model_folders(config: pytest.Config) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Folders of model cases: those that the run was asked for, by --models or by a path in them, and the others."""
    folders = _folders(config, "model_paths", DEFAULT_MODEL_FOLDER)
    start = config.invocation_params.dir
    chosen = [(start / argument.partition("::")[0]).resolve() for argument in config.args]
    named = [folder for folder in folders if any(path.is_relative_to(folder) for path in chosen)]
    wanted = folders if config.getoption("models") else tuple(named)
    return wanted, tuple(folder for folder in folders if folder not in wanted)


def collect_models_too(config: pytest.Config) -> None:
    """With --models, the folders of model cases are collected whatever else is: no testpaths need name them."""
    if not config.getoption("models"):
        return
    start = config.invocation_params.dir
    chosen = [(start / argument.partition("::")[0]).resolve() for argument in config.args]
    for folder in _folders(config, "model_paths", DEFAULT_MODEL_FOLDER):
        if not any(folder.is_relative_to(path) or path.is_relative_to(folder) for path in chosen):
            config.args.append(str(folder))


def _from_root(config: pytest.Config, path: str) -> Path:
    """Beside the ini file, wherever pytest was started: so are node ids."""
    return config.rootpath / path


def _targets(given: list[str] | None) -> tuple[str, ...]:
    names = [name.strip() for text in given or [DEFAULT_TARGET] for name in text.split(",")]
    chosen = tuple(dict.fromkeys(name for name in names if name))
    if not chosen:
        raise pytest.UsageError("--target names no target")
    return chosen


def _machine_of(config: pytest.Config) -> str:
    """What the npu target lowers to; NO_MACHINE where no case runs there."""
    given = config.getoption("machine")
    if DEFAULT_TARGET not in _targets(config.getoption("target")):
        return NO_MACHINE
    return DEFAULT_MACHINE if given is None else given


def _check_machine_options(config: pytest.Config) -> None:
    needing = [name for name in ("check_lowering", "timing", "trace_file") if config.getoption(name)]
    options = [f"--{name.replace('_', '-')}" for name in needing]
    given = config.getoption("machine")
    if (options or given) and DEFAULT_TARGET not in _targets(config.getoption("target")):
        raise pytest.UsageError(f"{(options or ['--machine'])[0]} is for the target npu: the others lower to none")
    if options and given == NO_MACHINE:
        raise pytest.UsageError(f"{options[0]} is about a machine, and there is none with --machine=none")


def checked_machine(name: str) -> str:
    """The machine that an option names, a file's as a path from anywhere; NO_MACHINE for "none". Raises UsageError
    where there is none of the name."""
    from harness.npu.machine import load_machine

    if name == "none":
        return NO_MACHINE
    try:
        load_machine(name)
    except UsageError as error:
        raise UsageError(error.what, error.where, f"{error.hint}, or none" if error.hint else "") from error
    return str(Path(name).resolve()) if name.endswith(".toml") else name


def _machine(text: str) -> str:
    try:
        return checked_machine(text)
    except HarnessError as error:
        raise pytest.UsageError(f"--machine: {error}") from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise pytest.UsageError(f"--case-timeout {text!r} is not a number of seconds above zero")
    return seconds


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if not match:
        raise pytest.UsageError(f"--case-memory {text!r} is not a size such as 512M or 2G")
    size = int(match[1]) * _UNITS[match[2].upper()]
    if 0 < size < LEAST_MEMORY:
        least = f"{LEAST_MEMORY // 2**20}M"
        what = f"--case-memory {text!r} is less than the {least} that Triton may need to compile any kernel"
        raise pytest.UsageError(f"{what}: give {least} or more, or 0 for no limit")
    return size


def _shard(text: str) -> Shard:
    try:
        return parse_shard(text)
    except ValueError as error:
        raise pytest.UsageError(f"--shard {error}") from error
