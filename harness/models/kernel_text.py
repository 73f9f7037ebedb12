"""The source of a kernel that Inductor wrote, with the helpers of torch that it calls, and without torch itself."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError

_HELPERS, _MATH = "triton_helpers", "tl_math"


def kernel_functions(file: Path, name: str, constants: Sequence[str]) -> dict[str, str]:
    """By name, the text of the function `name` of a file of Inductor's and of its helpers, which come before it.

    constants  parameters that are constexprs, whether they are annotated or not
    Raises UsageError where the file holds no such function.
    """
    source = file.read_text(encoding="utf-8")
    function = next(
        (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == name), None
    )
    if function is None:
        raise UsageError(f"{file} holds no function {name}")
    own = _own_helpers(source, function)
    names = [name for one in (*own, function) for name in _helpers_in(one)]
    functions = {helper.fn.__name__: _source(helper) for helper in _closure(names)}
    functions |= {one.name: f"@triton.jit\n{_plain(_lines(source, one), indent='')}" for one in own}
    function.decorator_list = []
    for argument in function.args.args:
        if argument.arg in constants and argument.annotation is None:
            argument.annotation = ast.parse("tl.constexpr", mode="eval").body
    body = _plain(textwrap.dedent(_segment(source, function)))
    header = f"def {name}({', '.join(map(_parameter, function.args.args))}):"
    functions[name] = f"@triton.jit\n{header}\n{body}"
    return functions


def _own_helpers(source: str, function: ast.FunctionDef) -> list[ast.FunctionDef]:
    """The functions of the same file that it calls: the bodies of its scans."""
    called = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    return [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name in called]


def _lines(source: str, function: ast.FunctionDef) -> str:
    """As it is written, without its decorators."""
    return "\n".join(source.splitlines()[function.lineno - 1 : function.end_lineno])


def _segment(source: str, function: ast.FunctionDef) -> str:
    """The body as it is written, comments included."""
    lines = source.splitlines()
    first = function.body[0].lineno
    return "\n".join(lines[first - 1 : function.end_lineno])


def _parameter(argument: ast.arg) -> str:
    annotation = argument.annotation
    return argument.arg if annotation is None else f"{argument.arg}: {ast.unparse(annotation)}"


def _plain(body: str, indent: str = "    ") -> str:
    text = body.replace(f"{_HELPERS}.", "").replace(f"{_MATH}.", "tl.math.")
    return textwrap.indent(text, indent).rstrip() + "\n"


def _helpers_in(function: ast.AST) -> list[str]:
    return [
        one.attr
        for one in ast.walk(function)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == _HELPERS
    ]


def _closure(names: Iterable[str]) -> list[Any]:
    """The JIT functions of these names and those of the same module that they call, callees first."""
    from torch._inductor.runtime import triton_helpers

    ordered: dict[str, Any] = {}

    def visit(name: str) -> None:
        helper: Any = getattr(triton_helpers, name, None)
        if name in ordered or not hasattr(helper, "fn"):
            return
        called = set(helper.fn.__code__.co_names)
        for other in sorted(called):
            if other != name:
                visit(other)
        ordered[name] = helper

    for name in dict.fromkeys(names):
        visit(name)
    return list(ordered.values())


def _source(helper: Any) -> str:
    return textwrap.dedent(inspect.getsource(helper.fn)).replace("math.", "tl.math.")
