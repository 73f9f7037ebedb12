"""`scf`: structured control flow. Op definitions are xDSL's."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, UnitAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from harness.ir.parser import Argument, ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.reader import Use
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, Syntax


def _parse_for(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`unsigned %i = %low to %high step %step iter_args(%a = %b, ...) -> (types) : type { ... } {attributes}`

    Where the type of the bounds is not written it is index.
    """
    attributes: dict[str, Attribute] = {}
    if parser.accept("unsigned"):
        attributes["unsignedCmp"] = UnitAttr()
    induction = parser.use()
    parser.need("=")
    low, _, high, _, step = parser.use(), parser.need("to"), parser.use(), parser.need("step"), parser.use()
    names, initial, types = _parse_carried(parser)
    bound = parser.value_type() if parser.accept(":") else IndexType()
    arguments = [_carried(parser, induction, bound)]
    arguments += [_carried(parser, use, type_) for use, type_ in zip(names, types, strict=True)]
    operands = [parser.resolve(use, bound) for use in (low, high, step)]
    operands += [parser.resolve(use, type_) for use, type_ in zip(initial, types, strict=True)]
    body = parser.region(arguments)
    _add_implied_yield(body, not types)
    parser.attribute_dictionary(attributes)
    return _with_unsigned_property(op_type, operands, types, attributes, body)


def _carried(parser: ModuleParser, use: Use, type_: Attribute) -> Argument:
    """A loop's own argument: its syntax has no place for a location."""
    return Argument(use.name, type_, parser.locations.unknown, use.at)


def _with_unsigned_property(
    op_type: type[Operation],
    operands: list[SSAValue],
    types: list[Attribute],
    attributes: dict[str, Attribute],
    body: Region,
) -> Operation:
    properties = {}
    if "unsignedCmp" in attributes:
        properties["unsignedCmp"] = attributes.pop("unsignedCmp")
    return op_type.create(
        operands=operands, result_types=types, properties=properties, attributes=attributes, regions=[body]
    )


def _parse_carried(parser: ModuleParser) -> tuple[list[Use], list[Use], list[Attribute]]:
    """`iter_args(%a = %b, ...) -> (types)`, if it comes next: names, initial values, types."""
    if not parser.accept("iter_args"):
        return [], [], []
    names, initial = _parse_bindings(parser)
    parser.need("->")
    types = parser.result_types()
    if len(types) != len(names):
        parser.fail(f"{len(names)} loop-carried values but {len(types)} types")
    return names, initial, types


def _parse_bindings(parser: ModuleParser) -> tuple[list[Use], list[Use]]:
    """`(%a = %b, ...)`"""
    parser.need("(")
    names: list[Use] = []
    initial: list[Use] = []
    while not parser.accept(")"):
        names.append(parser.use())
        parser.need("=")
        initial.append(parser.use())
        parser.accept(",")
    return names, initial


def _add_implied_yield(region: Region, implied: bool) -> None:
    """A body that yields nothing is written without its terminator."""
    block = region.blocks.last
    if block is None or not implied or isinstance(block.last_op, (scf.YieldOp, scf.ConditionOp)):
        return
    block.add_op(scf.YieldOp.create())


def _print_for(printer: ModulePrinter, op: Operation) -> None:
    body = op.regions[0]
    entry = _entry(body)
    low, high, step, *initial = op.operands
    printer.word("unsigned" if "unsignedCmp" in op.properties else "")
    bounds = f"{printer.value(low)} to {printer.value(high)} step {printer.value(step)}"
    printer.word(f"{printer.value(entry.args[0])} = {bounds}")
    if initial:
        printer.word(f"iter_args({_bindings(printer, entry.args[1:], initial)})")
        printer.word(f"-> ({printer.type_list([value.type for value in op.results])})")
    if not isinstance(low.type, IndexType):
        printer.glued(f"  : {printer.type_text(low.type)}")
    printer.region(body, labelled=False, hide_empty_terminator=not op.results)
    printer.attribute_dictionary(op.attributes)


def _bindings(printer: ModulePrinter, arguments: tuple, initial: list[SSAValue]) -> str:
    pairs = zip(arguments, initial, strict=True)
    return ", ".join(f"{printer.value(argument)} = {printer.value(value)}" for argument, value in pairs)


def _entry(region: Region) -> Block:
    block = region.blocks.first
    if block is None:
        raise ValueError("a region without blocks")
    return block


def _parse_if(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`%condition -> (types) { ... } else { ... } {attributes}`"""
    condition = parser.resolve(parser.use(), parser.integer_type(1))
    types = parser.result_types() if parser.accept("->") else []
    then = parser.region()
    _add_implied_yield(then, not types)
    otherwise = parser.region() if parser.accept("else") else Region()
    _add_implied_yield(otherwise, not types)
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    return op_type.create(operands=[condition], result_types=types, attributes=attributes, regions=[then, otherwise])


def _print_if(printer: ModulePrinter, op: Operation) -> None:
    printer.word(printer.value(op.operands[0]))
    if op.results:
        printer.word(f"-> ({printer.type_list([value.type for value in op.results])})")
    then, otherwise = op.regions
    printer.region(then, labelled=False, hide_empty_terminator=not op.results)
    if otherwise.blocks.first is not None:
        printer.word("else")
        printer.region(otherwise, labelled=False, hide_empty_terminator=not op.results)
    printer.attribute_dictionary(op.attributes)


def _parse_while(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`(%a = %b, ...) : (types) -> (types) { ... } do { ... } attributes {...}`"""
    names, initial = _parse_bindings(parser) if parser.sees("(") else ([], [])
    parser.need(":")
    inputs, outputs = parser.functional_type()
    if len(inputs) != len(names):
        parser.fail(f"{len(names)} loop-carried values but {len(inputs)} types")
    operands = [parser.resolve(use, type_) for use, type_ in zip(initial, inputs, strict=True)]
    before = parser.region([_carried(parser, use, type_) for use, type_ in zip(names, inputs, strict=True)])
    parser.need("do")
    after = parser.region()
    _add_implied_yield(after, not inputs)
    attributes: dict[str, Attribute] = {}
    if parser.accept("attributes"):
        parser.attribute_dictionary(attributes)
    return op_type.create(operands=operands, result_types=outputs, attributes=attributes, regions=[before, after])


def _print_while(printer: ModulePrinter, op: Operation) -> None:
    before, after = op.regions
    if op.operands:
        printer.word(f"({_bindings(printer, _entry(before).args, list(op.operands))})")
    printer.word(":")
    printer.functional_type(op)
    printer.region(before, labelled=False)
    printer.word("do")
    printer.region(after, labelled=True)
    printer.attribute_dictionary(op.attributes, "attributes")


def build() -> DialectSyntax:
    returned = "attr-dict ($arguments^ `:` type($arguments))?"
    condition = Syntax(
        scf.ConditionOp,
        "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
        {"condition": i1},
    )
    return DialectSyntax(
        scf.Scf,
        {
            scf.ForOp: CustomSyntax(_parse_for, _print_for),
            scf.IfOp: CustomSyntax(_parse_if, _print_if),
            scf.WhileOp: CustomSyntax(_parse_while, _print_while),
            scf.YieldOp: Syntax(scf.YieldOp, returned),
            scf.ConditionOp: condition,
        },
    )
