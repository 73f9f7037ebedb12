"""Writing xDSL operations as Triton writes them: custom syntax, locations as aliases.

Values are named as MLIR names them (the name their text had, made unique within the function; numbers for
the rest), so that a printed module can be compared with Triton's own text line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    UnitAttr,
    UnregisteredOp,
    i1,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.mlir_lexer import MLIRLexer

from harness.ir.constants import constant_text
from harness.ir.location_aliases import LocationAliases
from harness.ir.naming import Names
from harness.ir.registry import Registry

_CLOSING = frozenset(",)]>")
_OPENING = frozenset("([")
_SPACE_AFTER = frozenset({",", "to"})


class ModulePrinter:
    """Prints one module. The methods named after pieces of syntax write to it; those that end in `_text` (and
    `value`, `values`, `type_list`) return text for the caller to place."""

    boolean = i1

    def __init__(self, registry: Registry, locations: bool = True) -> None:
        self._registry = registry
        self._with_locations = locations
        self._parts: list[str] = []
        self._indent = 0
        self._texts: dict[Attribute, str] = {}
        self._aliases = LocationAliases(self.attribute_text)
        self._names = Names()

    def module_text(self, op: Operation) -> str:
        self._names.number(op)
        self._operation(op)
        before, after = self._aliases.definitions()
        return f"{before}{''.join(self._parts)}\n{after}"

    # Spacing: a word has a space before it unless the text so far ends in an opening bracket.

    def word(self, text: str) -> None:
        if not text:
            return
        last = self._parts[-1] if self._parts else ""
        if last and last[-1] not in _OPENING and last[-1] not in "\n ":
            self._parts.append(" ")
        self._parts.append(text)

    def glued(self, text: str) -> None:
        """With no space before it."""
        self._parts.append(text)

    def punctuation(self, text: str) -> None:
        opening = text in _OPENING and self._parts[-1] not in _SPACE_AFTER
        if text in _CLOSING or opening:
            self.glued(text)
        else:
            self.word(text)

    def symbol(self, name: str) -> str:
        return name if MLIRLexer.bare_identifier_regex.fullmatch(name) else f'"{name}"'

    # Values and types

    def value(self, value: SSAValue) -> str:
        return self._names.value(value)

    def values(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(map(self._names.value, values))

    def block_name(self, block: Block) -> str:
        return self._names.block(block)

    def attribute_text(self, attribute: Attribute) -> str:
        known = self._texts.get(attribute)
        if known is None:
            known = self._texts[attribute] = self._new_text(attribute)
        return known

    def _new_text(self, attribute: Attribute) -> str:
        if isinstance(attribute, (FloatAttr, DenseIntOrFPElementsAttr)):
            text = constant_text(attribute, self.type_text(attribute.get_type()))
            if text is not None:
                return text
        stream = StringIO()
        Printer(stream=stream).print_attribute(attribute)
        return stream.getvalue()

    type_text = attribute_text

    def type_list(self, types: Sequence[Attribute]) -> str:
        return ", ".join(map(self.attribute_text, types))

    def functional_type(self, op: Operation) -> None:
        inputs = self.type_list([value.type for value in op.operands])
        outputs = [self.type_text(value.type) for value in op.results]
        result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
        self.word(f"({inputs}) -> {result}")

    # Attribute dictionaries

    def attribute_dictionary(self, attributes: Mapping[str, Attribute], before: str = "") -> None:
        """`before {name = value, ...}`; nothing where there are none."""
        if not attributes:
            return
        self.word(before)
        self.glued(self.dictionary_text(attributes))

    def dictionary_text(self, attributes: Mapping[str, Attribute]) -> str:
        """` {name = value, ...}`, or nothing where there are none."""
        return f" {{{self._entries(attributes)}}}" if attributes else ""

    def _entries(self, attributes: Mapping[str, Attribute]) -> str:
        return ", ".join(
            self.symbol(name) if isinstance(value, UnitAttr) else f"{self.symbol(name)} = {self.attribute_text(value)}"
            for name, value in sorted(attributes.items())
        )

    # Operations

    def _operation(self, op: Operation) -> None:
        if op.results:
            self._parts.append(self._names.results(op) + " = ")
        syntax = self._registry.syntax(op)
        if syntax is None:
            self._generic(op)
        else:
            self._parts.append(op.name.removeprefix("builtin."))
            syntax.print(self, op)
        if self._with_locations:
            self.word(f"loc({self._aliases.name(op.location)})")

    def _generic(self, op: Operation) -> None:
        placeholder = isinstance(op, UnregisteredOp)
        self._parts.append(f'"{op.op_name.data if placeholder else op.name}"({self.values(op.operands)})')
        if op.successors:
            self.glued(f"[{', '.join(self.block_name(block) for block in op.successors)}]")
        properties = self._without_defaults(op)
        if properties:
            self.word(f"<{{{self._entries(properties)}}}>")
        if op.regions:
            self._generic_regions(op)
        attributes = {name: value for name, value in op.attributes.items() if name != "op_name__"}
        self.attribute_dictionary(attributes)
        self.word(":")
        self.functional_type(op)

    def _without_defaults(self, op: Operation) -> Mapping[str, Attribute]:
        return op.properties if not isinstance(op, IRDLOperation) else dict(op.properties)

    def _generic_regions(self, op: Operation) -> None:
        self.glued(" (")
        for index, region in enumerate(op.regions):
            if index:
                self.glued(",")
            self.region(region, labelled=True)
        self.glued(")")

    def region(self, region: Region, labelled: bool, hide_empty_terminator: bool = False) -> None:
        """`{ ... }`. The entry block's label and arguments are written where `labelled` and there are arguments."""
        self.word("{")
        self._indent += 1
        for index, block in enumerate(region.blocks):
            if index or (labelled and block.args):
                self._label(block)
            self._block_body(block, hide_empty_terminator)
        self._indent -= 1
        self._line()
        self.glued("}")

    def _label(self, block: Block) -> None:
        self._indent -= 1
        self._line()
        self._indent += 1
        self.glued(self.block_name(block))
        if block.args:
            self.glued(f"({', '.join(map(self.argument, block.args))})")
        self.glued(":")

    def _block_body(self, block: Block, hide_empty_terminator: bool) -> None:
        for op in block.ops:
            if hide_empty_terminator and op is block.last_op and _says_nothing(op):
                continue
            self._line()
            self._operation(op)

    def _line(self) -> None:
        self._parts.append("\n" + "  " * self._indent)

    def line(self, text: str) -> None:
        """On a line of its own."""
        self._line()
        self.glued(text)

    def argument(self, value: BlockArgument) -> str:
        """`%name: type loc(...)`"""
        return f"{self.value(value)}: {self.type_text(value.type)}{self.location_text(value.location)}"

    def location_text(self, location: Attribute) -> str:
        """` loc(...)` with one level written out, as block arguments have it; nothing where none are printed."""
        return f" loc({self._aliases.written_out(location)})" if self._with_locations else ""


def _says_nothing(op: Operation) -> bool:
    """Whether an op is a terminator that reading puts back."""
    return op.has_trait(IsTerminator, value_if_unregistered=False) and not op.operands and not op.attributes
