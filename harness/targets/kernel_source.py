"""A kernel as a file of its own: its source with the imports, constants and functions of its file that it needs."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.targets.failures import functions_of


def kernel_file(kernels: Iterable[Any]) -> str:
    """A module that holds the kernels, and imports. "" where no kernel has a source."""
    wanted: dict[str, dict[str, str]] = {}
    for kernel in kernels:
        functions = list(functions_of(kernel))
        if functions:
            file = functions[0].fn.__code__.co_filename
            texts = {one.fn.__name__: _text(one.fn) for one in functions if one.fn.__code__.co_filename == file}
            wanted.setdefault(file, {}).update(texts)
    return "\n\n".join(_module(file, texts) for file, texts in wanted.items())


def _module(file: str, texts: dict[str, str]) -> str:
    """The statements of `file` that functions with these names need; the functions' own texts where they are not
    among its statements: made in another function, say."""
    try:
        source = Path(file).read_text(encoding="utf-8")
        statements = ast.parse(source).body
    except (OSError, ValueError, SyntaxError):
        return "\n\n".join(texts.values())
    made_elsewhere = [text for name, text in texts.items() if not any(name in _bound(one) for one in statements)]
    names = set(texts) | {name for text in made_elsewhere for name in _names_in(text)}
    kept = [_source_of(one, source.splitlines()) for one in _needed(statements, names)]
    return "\n".join([*kept, *(f"\n\n{text}" for text in made_elsewhere)]).strip() + "\n"


def _source_of(statement: ast.stmt, lines: list[str]) -> str:
    """The statement as written, with the blank lines of a definition."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    space = "\n\n" if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else ""
    return space + "\n".join(lines[first - 1 : statement.end_lineno])


def _needed(statements: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements that bind one of the names, or one that these use in turn, in order."""
    needed: set[int] = set()
    while True:
        new = [i for i, one in enumerate(statements) if i not in needed and (_is_future(one) or names & _bound(one))]
        if not new:
            return [statements[i] for i in sorted(needed)]
        needed.update(new)
        names = names | {name for i in new for name in _used(statements[i])}


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _bound(statement: ast.stmt) -> set[str]:
    """The names a statement of a module gives a meaning."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    return set(_bindings(statement))


def _bindings(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.alias):
            yield (one.asname or one.name).partition(".")[0]
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            yield one.name


def _used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _names_in(text: str) -> set[str]:
    try:
        return _used(ast.parse(text))
    except SyntaxError:
        return set()


def _text(function: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError:
        return f"# the source of {function.__qualname__} cannot be read\n"
