"""Where in a case file something stands: the line of an argument, or the one that raised an error."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType


def line_of_argument(code: CodeType, name: str) -> int | None:
    """The line at which the case function `code` writes down an argument, an option, or a field of its KernelCase.

    None where it stands at several places or nowhere: a wrong line helps nobody.
    """
    # An item of a list has no line of its own.
    return _line_of_key(code, name.partition("[")[0], ("dict", "KernelCase", "Launch"))


def line_of_parameter(code: CodeType, name: str) -> int | None:
    """The line at which the decorator of the case function `code` gives the values of a parameter."""
    return _line_of_key(code, name, ("case",))


def innermost_line(file: str, error: BaseException) -> int | None:
    """The innermost line of `file` that was running when the error, or else what it was raised from, was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not lines and error.__cause__ is not None:
        return innermost_line(file, error.__cause__)
    return lines[-1] if lines else None


def _line_of_key(code: CodeType, key: str, calls: tuple[str, ...]) -> int | None:
    function = _function_at(code)
    found = {line for one, line in _keys(function, calls) if one == key} if function else set()
    return found.pop() if len(found) == 1 else None


def _function_at(code: CodeType) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(Path(code.co_filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == code.co_name)
    return next((node for node in found if _first_line(node) == code.co_firstlineno), None)


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _keys(node: ast.AST, calls: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """(key, line) of the keywords of such calls; what a reference returns is not looked at."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Lambda, ast.FunctionDef)):
            continue
        yield from _keys_of(child, calls)
        yield from _keys(child, calls)


def _keys_of(node: ast.AST, calls: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in calls:
        yield from ((one.arg, one.lineno) for one in node.keywords if one.arg)
    if isinstance(node, ast.Dict) and "dict" in calls:  # the same, written with braces
        constants = (key for key in node.keys if isinstance(key, ast.Constant))
        yield from ((str(key.value), key.lineno) for key in constants)
