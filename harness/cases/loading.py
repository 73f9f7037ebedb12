"""From a file to the cases it declares.

A case file is imported by its path, under a module name of its own, so that two files of one name never
meet and `sys.path` stays as it was. Whatever is wrong with the file is a CaseError at a line of it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from harness.cases.features import lacking
from harness.cases.kernel_case import CaseInstance, CaseTemplate
from harness.cases.lit_case import LitCase, is_lit_file
from harness.cases.location import SourceLocation
from harness.errors import CaseError


@dataclass(frozen=True)
class MarkSummary:
    """A pytest mark as plain data: `pytest.mark.NAME(*arguments, **keywords)`."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class CaseSummary:
    """A case as plain data: what a process that never imports the case file needs to know of it.

    `absent` is why there is nothing to run: the installed Triton lacks a feature, or a parameter has no values;
    "" for a case like any other.
    """

    name: str
    parameter_id: str
    where: SourceLocation
    marks: tuple[MarkSummary, ...] = ()
    absent: str = ""


def is_case_file(path: Path) -> bool:
    """Whether a file in a folder of case files is one: helpers start with an underscore."""
    return path.suffix == ".py" and not path.name.startswith("_") and path.name != "conftest.py"


def case_files(folder: Path) -> list[Path]:
    """Every case file under `folder`, sorted."""
    return sorted(path for path in folder.rglob("*.py") if is_case_file(path))


def load_templates(path: Path) -> list[CaseTemplate]:
    """The case templates a file declares, in file order.

    Raises CaseError, at a line of the file: it cannot be read or parsed, its import fails, it defines one
    name twice (the second definition hides the first, whose cases would silently run the wrong kernel),
    or it declares no case.
    """
    module = _import(path)
    found = {id(value): value for value in vars(module).values() if isinstance(value, CaseTemplate)}
    here = str(path.resolve())
    templates = sorted((t for t in found.values() if t.where.file == here), key=lambda t: t.where.line)
    if not templates:
        raise CaseError("the file declares no case", SourceLocation(here, 1), "decorate a function with @case(...)")
    _check_names(templates)
    return templates


def _check_names(templates: list[CaseTemplate]) -> None:
    """Factories and branches can declare one name twice, of which only the first would ever run."""
    first: dict[str, CaseTemplate] = {}
    for template in templates:
        if template.name in first:
            line = first[template.name].where.line
            what = f"two cases are called {template.name}: this one and the one in line {line}"
            raise CaseError(what, template.where, "give each its own name")
        first[template.name] = template


def find_case(path: Path, name: str, parameter_id: str) -> CaseInstance | LitCase:
    """One case of a file of either kind. Raises CaseError."""
    return LitCase.load(path) if is_lit_file(path) else find_instance(path, name, parameter_id)


def find_instance(path: Path, name: str, parameter_id: str) -> CaseInstance:
    """One case of a file. Raises CaseError as `load_templates` does, or when there is no such case."""
    for template in load_templates(path):
        for instance in template.instances() if template.name == name else ():
            if instance.parameter_id == parameter_id:
                return instance
    raise CaseError(f"the file declares no case {name}[{parameter_id}]", SourceLocation(str(path), 1))


def summarise(path: Path) -> list[CaseSummary]:
    """Every case of a file as plain data, in file order. Raises CaseError as `load_templates` does."""
    summaries = []
    for template in load_templates(path):
        marks = tuple(_plain_mark(mark, template.where) for mark in template.marks)
        instances = template.instances()
        _check_unique(template, instances)
        summaries += [_summary(template, one.parameter_id, marks, lacking(template.needs)) for one in instances]
        for name in template.empty_parameters:
            summaries.append(_summary(template, f"no-{name}", marks, f"parameter {name} has no values"))
    return summaries


def _summary(template: CaseTemplate, parameter_id: str, marks: tuple[MarkSummary, ...], absent: str) -> CaseSummary:
    return CaseSummary(template.name, parameter_id, template.where, marks, absent)


def _import(path: Path) -> ModuleType:
    path = path.resolve()
    code = _code(_read(path), path)
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise CaseError("a case file must be a .py file", SourceLocation(str(path), 1))
    module = importlib.util.module_from_spec(spec)
    # Triton, dataclasses and pickle look a function's module up by its name.
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except CaseError:
        raise
    except (Exception, SystemExit) as error:
        what = f"importing the case file raised {type(error).__name__}: {error}"
        raise CaseError(what, _line_in(path, error)) from error
    return module


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CaseError(f"the case file cannot be read: {error.strerror}", SourceLocation(str(path), 1)) from error


@lru_cache(maxsize=16)
def _code(text: bytes, path: Path) -> CodeType:
    """A file's code, which its cases run one after another, each in a module of its own."""
    try:
        tree = ast.parse(text, filename=str(path))
        _check_redefinitions(tree, path)
        return compile(tree, str(path), "exec")
    except SyntaxError as error:
        where = SourceLocation(str(path), error.lineno or 1, error.offset or 0)
        raise CaseError(f"the case file is not Python: {error.msg}", where) from error
    except ValueError as error:  # null bytes
        raise CaseError(f"the case file is not Python: {error}", SourceLocation(str(path), 1)) from error


def _check_redefinitions(tree: ast.Module, path: Path) -> None:
    first: dict[str, int] = {}
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if node.name in first:
            hidden = f"{node.name} is defined twice: this one hides the one in line {first[node.name]}"
            raise CaseError(hidden, SourceLocation(str(path), node.lineno), "give each its own name")
        first[node.name] = node.lineno


def _check_unique(template: CaseTemplate, instances: Iterable[CaseInstance]) -> None:
    seen: set[str] = set()
    for instance in instances:
        if instance.parameter_id in seen:
            what = f"two cases would have the id {template.name}[{instance.parameter_id}]"
            raise CaseError(what, template.where, "give parameters values that read differently")
        seen.add(instance.parameter_id)


def _module_name(path: Path) -> str:
    return f"harness_case_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _line_in(path: Path, error: BaseException) -> SourceLocation:
    """The innermost line of the file that was running when the error was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return SourceLocation(str(path), (lines[-1] if lines else None) or 1)


def _plain_mark(mark: Any, where: SourceLocation) -> MarkSummary:
    """Of `pytest.mark.slow`, `pytest.mark.skipif(...)` or a plain name; this room knows nothing of pytest."""
    if isinstance(mark, str):
        return MarkSummary(mark)
    inner = getattr(mark, "mark", mark)
    if not isinstance(getattr(inner, "name", None), str):
        raise CaseError(f"{mark!r} is not a pytest mark", where, "write pytest.mark.NAME")
    keywords: Mapping[str, Any] = inner.kwargs
    return MarkSummary(inner.name, tuple(inner.args), tuple(keywords.items()))
