"""`ttg` ops that split a program into parts which run at once: warp specialisation."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator

from harness.ir.parser import Argument, ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.syntax import CustomSyntax, OpSyntax, Syntax

_PARTITION = re.compile(r"\s*partition\d+(?=\s*\()")
_WARPS = re.compile(r"\s*num_warps\(\s*(\d+)\s*\)")


@irdl_op_definition
class WarpSpecializeOp(IRDLOperation):
    """Runs its regions at once: the first on the program's own warps, each other one on more of them, with the
    captured values as its arguments. The first one yields the results."""

    name = "ttg.warp_specialize"
    captures = var_operand_def()
    partitionNumWarps = prop_def(DenseArrayBase)
    parts = var_region_def()
    outputs = var_result_def()


@irdl_op_definition
class WarpYieldOp(IRDLOperation):
    name = "ttg.warp_yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())


@irdl_op_definition
class WarpReturnOp(IRDLOperation):
    name = "ttg.warp_return"
    traits = traits_def(IsTerminator())


def _parse(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`(%captured, ...) attributes {...} default { ... } partition0(%argument: type, ...) num_warps(4) { ... }
    ... : (types) -> (types)`"""
    parser.need("(")
    uses = parser.uses()
    parser.need(")")
    attributes: dict[str, Attribute] = {}
    if parser.accept("attributes"):
        parser.attribute_dictionary(attributes)
    parser.need("default")
    regions, warps = [parser.region()], []
    outer = parser.ssa_values
    while _PARTITION.match(parser.text, parser.at):
        parser.expect_pattern(_PARTITION, "a partition")
        arguments = _arguments(parser)
        warps.append(int(parser.expect_pattern(_WARPS, "num_warps(...)")[1]))
        parser.ssa_values = {}  # a partition sees its arguments alone, and may use names of values outside again
        regions.append(parser.region(arguments))
    parser.ssa_values = outer
    parser.need(":")
    inputs, outputs = parser.functional_type()
    if len(inputs) != len(uses):
        parser.fail(f"{len(uses)} captured values but {len(inputs)} types")
    return op_type.create(
        operands=[parser.resolve(use, type_) for use, type_ in zip(uses, inputs, strict=True)],
        result_types=outputs,
        properties={"partitionNumWarps": DenseArrayBase.from_list(i32, warps)},
        attributes=attributes,
        regions=regions,
    )


def _arguments(parser: ModuleParser) -> list[Argument]:
    parser.need("(")
    arguments: list[Argument] = []
    while not parser.accept(")"):
        arguments.append(parser.argument())
        parser.accept(",")
    return arguments


def _print(printer: ModulePrinter, op: Operation) -> None:
    printer.glued(f"({printer.values(op.operands)})")
    printer.attribute_dictionary(op.attributes, "attributes")
    first, *others = op.regions
    printer.line("default")
    printer.region(first, labelled=False)
    warps = op.properties["partitionNumWarps"]
    assert isinstance(warps, DenseArrayBase)
    for number, (region, count) in enumerate(zip(others, warps.get_values(), strict=True)):
        printer.line(f"partition{number}({_declared(printer, region)}) num_warps({count})")
        printer.region(region, labelled=False)
    printer.word(":")
    printer.functional_type(op)


def _declared(printer: ModulePrinter, region: Region) -> str:
    return ", ".join(printer.argument(value) for value in region.block.args)


def syntaxes() -> dict[type[Operation], OpSyntax]:
    """How all of them are written."""
    return {
        WarpSpecializeOp: CustomSyntax(_parse, _print),
        WarpYieldOp: Syntax(WarpYieldOp, "($values^)? attr-dict (`:` type($values)^)?"),
        WarpReturnOp: Syntax(WarpReturnOp, "attr-dict"),
    }
