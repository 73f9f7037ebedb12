"""What a kernel does to floats, read off its IR: how far from its golden a result may lie."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.goldens import Operation

# An op at the place of its name: after a result's `=`, at the start of a line, or quoted.
_OPS = re.compile(r'(?:^|=)\s*"?((?:arith|math|tt)\.[a-z_]\w*)', re.MULTILINE)

# Exact, or correctly rounded: they count as plain arithmetic.
_ROUNDED_ONCE = frozenset({"math.absf", "math.floor", "math.ceil", "math.fma", "math.sqrt"})
_ARITHMETIC = re.compile(
    r"arith\.(addf|subf|mulf|divf|remf)"
    r"|tt\.(dot|dot_scaled|precise_sqrt|precise_divf|atomic_rmw|descriptor_reduce|reduce|scan)"
)
_CONVERSIONS = frozenset({"arith.truncf", "arith.sitofp", "arith.uitofp", "tt.fp_to_fp"})
# Bodies the text does not show, and what hardware is free to approximate.
_OPAQUE = frozenset({"tt.extern_elementwise", "tt.elementwise_inline_asm", "tt.approx_divf"})


def operation_of(texts: Iterable[str]) -> Operation:
    """The widest kind among the ops of the modules; the widest there is when no text is known."""
    ops = {op for text in texts for op in _OPS.findall(text)}
    if not ops or any(_is_transcendental(op) for op in ops):
        return Operation("transcendental")
    if any(_ARITHMETIC.fullmatch(op) or op in _ROUNDED_ONCE for op in ops):
        return Operation("arithmetic")
    if ops & _CONVERSIONS:
        return Operation("conversion")
    return Operation("move")


def _is_transcendental(op: str) -> bool:
    return op in _OPAQUE or (op.startswith("math.") and op not in _ROUNDED_ONCE)
