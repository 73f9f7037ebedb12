"""Edits of a program's text (TTIR as Triton prints it), each as small as a miscompile.

`SSA` in a pattern stands for an SSA name, which becomes a group. Names and locations differ between releases of
Triton, so patterns hold operations and never names.
"""

from __future__ import annotations

import re

from .fault import Edit, FaultNotInjected

_NAME = r"(%[\w.$#-]+)"


def rewritten(pattern: str, replacement: str, count: int = 1) -> Edit:
    """The first `count` matches (0: all) become `replacement`. Raises FaultNotInjected where nothing matches."""
    expression = re.compile(pattern.replace("SSA", _NAME), re.MULTILINE)

    def edit(text: str) -> str:
        changed, times = expression.subn(replacement, text, count)
        if not times or changed == text:
            raise FaultNotInjected(f"nothing in the program matches {pattern}")
        return changed

    return edit


def swapped(operation: str) -> Edit:
    """Both operands of the first `operation` trade places."""
    return rewritten(rf"({re.escape(operation)}(?: \w+,)?) SSA, SSA", r"\1 \3, \2")


def replaced_op(operation: str, other: str, count: int = 1) -> Edit:
    return rewritten(rf"{re.escape(operation)}\b", other, count)


def preceded(line: str, *added: str) -> Edit:
    """The first line that matches `line` is replaced by the lines `added`, in which groups are named as usual."""
    return rewritten(rf"^ *{line}", "\n".join(added))


def declared(line: str) -> Edit:
    """The kernel's function begins with `line`."""
    return rewritten(r"^ *tt\.func public .*$", rf"\g<0>\n{line}")


def retargeted(source: int, target: int) -> Edit:
    """The kernel uses its parameter number `target` where it has number `source`, of the same type."""

    def edit(text: str) -> str:
        signature = re.search(r"tt\.func public @\w+\((.*)", text)
        names = re.findall(r"(%[\w.$-]+): ", signature.group(1)) if signature else []
        return rewritten(rf"(tt\.splat|tt\.addptr) {re.escape(names[source])}\b", rf"\1 {names[target]}", 0)(text)

    return edit


def composed(*edits: Edit) -> Edit:
    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit
