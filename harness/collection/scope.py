"""Whether a command line collects every case there is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from harness.collection.settings import Settings

# Options that leave cases out of the collection, before anything can count them.
_NARROWING = ("ignore", "ignore_glob", "lf", "last_failed")


def chosen_paths(config: pytest.Config) -> list[Path]:
    """The files and folders pytest was pointed at, node ids cut off."""
    start = config.invocation_params.dir
    return [(start / argument.partition("::")[0]).resolve() for argument in config.args]


def is_whole(config: pytest.Config, settings: Settings) -> bool:
    """True when every folder of case files was collected from whole, so that what is missing is not there."""
    if any(config.getoption(name, None) for name in _NARROWING):
        return False
    start = config.invocation_params.dir
    whole = [(start / argument).resolve() for argument in config.args if "::" not in argument]
    return all(any(folder.is_relative_to(path) for path in whole) for folder in settings.case_paths)


def wants_cases(config: pytest.Config, settings: Settings) -> bool:
    """Whether anything pytest was pointed at can hold a case."""
    return any(
        folder.is_relative_to(path) or path.is_relative_to(folder)
        for path in chosen_paths(config)
        for folder in settings.case_paths
    )


def stray_case_files(config: pytest.Config, settings: Settings) -> list[Path]:
    """The files pytest was pointed at that declare cases, but where nobody looks for any."""
    files = [path for path in chosen_paths(config) if path.suffix == ".py" and path.is_file()]
    return [path for path in files if settings.folder_of(path) is None and _declares_cases(path)]


def _declares_cases(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return False  # pytest's to say
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    decorators = [
        ast.unparse(one.func) for node in functions for one in node.decorator_list if isinstance(one, ast.Call)
    ]
    return any(name.rpartition(".")[2] == "case" for name in decorators)
