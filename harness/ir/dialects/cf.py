"""`cf`: branches between blocks. Op definitions are xDSL's."""

from __future__ import annotations

from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseArrayBase, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from harness.ir.codecs import TextCodec
from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, Syntax


def _parse_target(parser: ModuleParser) -> tuple[Block, list[SSAValue]]:
    """`^bb1(%a, %b : i32, f32)`"""
    block = parser.successor()
    if not parser.accept("("):
        return block, []
    uses = parser.uses()
    parser.need(":")
    types = parser.value_types()
    parser.need(")")
    if len(uses) != len(types):
        parser.fail(f"{len(uses)} values but {len(types)} types")
    return block, [parser.resolve(use, type_) for use, type_ in zip(uses, types, strict=True)]


def _target(printer: ModulePrinter, block: Block, values: list[SSAValue]) -> str:
    if not values:
        return printer.block_name(block)
    types = printer.type_list([value.type for value in values])
    return f"{printer.block_name(block)}({printer.values(values)} : {types})"


def _parse_branch(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    block, values = _parse_target(parser)
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    return op_type.create(operands=values, successors=[block], attributes=attributes)


def _print_branch(printer: ModulePrinter, op: Operation) -> None:
    printer.word(_target(printer, op.successors[0], list(op.operands)))
    printer.attribute_dictionary(op.attributes)


def _parse_conditional(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`%condition weights([1, 2]), ^then(...), ^else(...)`"""
    condition = parser.resolve(parser.use(), i1)
    properties: dict[str, Attribute] = {}
    if parser.accept("weights("):
        properties["branch_weights"] = parser.delegate(
            lambda: DenseArrayBase.from_list(
                i32, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            )
        )
        parser.need(")")
    parser.need(",")
    then, then_values = _parse_target(parser)
    parser.need(",")
    otherwise, else_values = _parse_target(parser)
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    sizes = [1, len(then_values), len(else_values)]
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
    return op_type.create(
        operands=[condition, *then_values, *else_values],
        properties=properties,
        attributes=attributes,
        successors=[then, otherwise],
    )


def _print_conditional(printer: ModulePrinter, op: Operation) -> None:
    condition, *values = op.operands
    count = _then_count(op)
    printer.word(printer.value(condition))
    weights = op.properties.get("branch_weights")
    if isinstance(weights, DenseArrayBase):
        printer.word(f"weights({list(weights.get_values())})")
    printer.glued(", " + _target(printer, op.successors[0], values[:count]))
    printer.glued(", " + _target(printer, op.successors[1], values[count:]))
    printer.attribute_dictionary(op.attributes)


def _then_count(op: Operation) -> int:
    sizes = op.properties["operandSegmentSizes"]
    if not isinstance(sizes, DenseArrayBase):
        raise ValueError("cf.cond_br without operandSegmentSizes")
    return int(sizes.get_values()[1])


def build() -> DialectSyntax:
    return DialectSyntax(
        cf.Cf,
        {
            cf.BranchOp: CustomSyntax(_parse_branch, _print_branch),
            cf.ConditionalBranchOp: CustomSyntax(_parse_conditional, _print_conditional),
            cf.AssertOp: Syntax(cf.AssertOp, "$arg `,` $msg attr-dict", {"arg": i1}, {"msg": TextCodec()}),
        },
    )
