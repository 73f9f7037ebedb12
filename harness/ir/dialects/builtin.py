"""`builtin`: the module."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Operation

from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax


def _parse_module(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`module @name attributes {...} { ops }`"""
    properties = {}
    if parser.sees("@"):
        properties["sym_name"] = parser.string_attribute(parser.symbol())
    attributes = {}
    if parser.accept("attributes"):
        parser.attribute_dictionary(attributes)
    return ModuleOp.create(properties=properties, attributes=attributes, regions=[parser.region()])


def _print_module(printer: ModulePrinter, op: Operation) -> None:
    module = cast(ModuleOp, op)
    if module.sym_name is not None:
        printer.word("@" + printer.symbol(module.sym_name.data))
    printer.attribute_dictionary(module.attributes, "attributes")
    printer.region(module.body, labelled=False)


def build() -> DialectSyntax:
    return DialectSyntax(Builtin, {ModuleOp: CustomSyntax(_parse_module, _print_module)})
