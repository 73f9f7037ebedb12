"""`func`, and the function syntax that `tt.func` shares with it."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, Operation, Region

from harness.ir.codecs import SymbolCodec
from harness.ir.parser import Argument, ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, OpSyntax, Syntax

_NO_ATTRIBUTES = DictionaryAttr({})


def _parse_function(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`public @name(%a: type {attributes} loc, ...) -> (types) attributes {...} { ... }`; no body: a declaration."""
    properties: dict[str, Attribute] = {}
    for visibility in ("public", "private", "nested"):
        if parser.accept(visibility):
            properties["sym_visibility"] = StringAttr(visibility)
    properties["sym_name"] = StringAttr(parser.symbol())
    arguments, inputs, argument_attributes = _parse_parameters(parser)
    outputs, result_attributes = _parse_results(parser)
    properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    if any(item != _NO_ATTRIBUTES for item in argument_attributes):
        properties["arg_attrs"] = ArrayAttr(argument_attributes)
    if any(item != _NO_ATTRIBUTES for item in result_attributes):
        properties["res_attrs"] = ArrayAttr(result_attributes)
    attributes: dict[str, Attribute] = {}
    if parser.accept("attributes"):
        parser.attribute_dictionary(attributes)
    body = _parse_body(parser, arguments) if parser.sees("{") else Region()
    return op_type.create(properties=properties, attributes=attributes, regions=[body])


def _parse_body(parser: ModuleParser, arguments: list[Argument]) -> Region:
    """A function sees no value of its surroundings."""
    outside, parser.ssa_values = parser.ssa_values, {}
    body = parser.region(arguments)
    parser.ssa_values = outside
    return body


def _parse_parameters(parser: ModuleParser) -> tuple[list[Argument], list[Attribute], list[DictionaryAttr]]:
    """`(%a: type {attributes} loc, ...)`, or types alone for a declaration."""
    arguments: list[Argument] = []
    inputs: list[Attribute] = []
    dictionaries: list[DictionaryAttr] = []
    parser.need("(")
    while not parser.accept(")"):
        use = parser.use() if parser.sees_value() else None
        if use is not None:
            parser.need(":")
        type_ = parser.value_type()
        dictionaries.append(_dictionary(parser))
        location = parser.locations.optional()
        inputs.append(type_)
        if use is not None:
            arguments.append(Argument(use.name, type_, location, use.at))
        if not parser.accept(","):
            parser.need(")")
            break
    return arguments, inputs, dictionaries


def _parse_results(parser: ModuleParser) -> tuple[list[Attribute], list[DictionaryAttr]]:
    if not parser.accept("->"):
        return [], []
    if not parser.accept("("):
        return [parser.value_type()], [_NO_ATTRIBUTES]
    types: list[Attribute] = []
    dictionaries: list[DictionaryAttr] = []
    while not parser.accept(")"):
        types.append(parser.value_type())
        dictionaries.append(_dictionary(parser))
        parser.accept(",")
    return types, dictionaries


def _dictionary(parser: ModuleParser) -> DictionaryAttr:
    found: dict[str, Attribute] = {}
    parser.attribute_dictionary(found)
    return DictionaryAttr(found) if found else _NO_ATTRIBUTES


def _print_function(printer: ModulePrinter, op: Operation) -> None:
    visibility = op.properties.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        printer.word(visibility.data)
    name, type_ = op.properties["sym_name"], op.properties["function_type"]
    if not isinstance(name, StringAttr) or not isinstance(type_, FunctionType):
        raise ValueError("a function without a name or a type")
    printer.word("@" + printer.symbol(name.data))
    body = op.regions[0]
    entry = body.blocks.first
    inputs = list(type_.inputs)
    attributes = _dictionaries(op, "arg_attrs", len(inputs))
    written = []
    for index, input_ in enumerate(inputs):
        text = printer.type_text(input_) + printer.dictionary_text(attributes[index].data)
        if entry is not None:
            argument = entry.args[index]
            text = f"{printer.value(argument)}: {text}{printer.location_text(argument.location)}"
        written.append(text)
    printer.glued(f"({', '.join(written)})")
    _print_results(printer, op, list(type_.outputs))
    printer.attribute_dictionary(op.attributes, "attributes")
    if entry is not None:
        printer.region(body, labelled=False)


def _print_results(printer: ModulePrinter, op: Operation, outputs: list[Attribute]) -> None:
    if not outputs:
        return
    attributes = _dictionaries(op, "res_attrs", len(outputs))
    pairs = zip(outputs, attributes, strict=True)
    texts = [printer.type_text(output) + printer.dictionary_text(extra.data) for output, extra in pairs]
    bare = len(outputs) == 1 and not attributes[0].data and not isinstance(outputs[0], FunctionType)
    printer.word(f"-> {texts[0]}" if bare else f"-> ({', '.join(texts)})")


def _dictionaries(op: Operation, name: str, count: int) -> list[DictionaryAttr]:
    held = op.properties.get(name)
    if not isinstance(held, ArrayAttr):
        return [_NO_ATTRIBUTES] * count
    return list(held.data)  # pyright: ignore[reportReturnType]


def function_syntax() -> OpSyntax:
    return CustomSyntax(_parse_function, _print_function)


def build() -> DialectSyntax:
    return DialectSyntax(
        func.Func,
        {
            func.FuncOp: function_syntax(),
            func.ReturnOp: Syntax(func.ReturnOp, "attr-dict ($arguments^ `:` type($arguments))?"),
            func.CallOp: Syntax(
                func.CallOp,
                "$callee `(` $arguments `)` attr-dict `:` functional-type(operands, results)",
                codecs={"callee": SymbolCodec()},
            ),
        },
    )
