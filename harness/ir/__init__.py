"""Triton's IR in Python: text to xDSL operations and back.

module = parse_module(text, "softmax.ttir")
text = print_module(module)
source_location(op), attribute(op, "axis"), operation_name(op)
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from harness.ir.accessors import attribute, keyword, operand, operation_name
from harness.ir.locations import source_location
from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.registry import registry


def parse_module(text: str, name: str) -> ModuleOp:
    """Reads what Triton prints; `name` is the file that messages about the text name.

    An op that has no definition here and is printed in generic syntax becomes a placeholder: its name is
    `operation_name(op)`, its location is kept. Raises ParseError for text that is not IR, and UnsupportedOp,
    with the op's name and the kernel's line, for an unknown op in a syntax of its own.
    """
    return ModuleParser(registry(), text, name).module()


def print_module(module: ModuleOp, locations: bool = True) -> str:
    """Writes a module in the syntax Triton prints, with its locations: `parse_module` reads the same module back."""
    return ModulePrinter(registry(), locations).module_text(module)


__all__ = [
    "attribute",
    "keyword",
    "operand",
    "operation_name",
    "parse_module",
    "print_module",
    "source_location",
]
