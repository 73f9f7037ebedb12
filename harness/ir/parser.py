"""Reading Triton's IR text into xDSL operations: the module, its operations, regions and blocks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.lexer import Span

from harness.errors import HarnessError, ParseError
from harness.ir.elements import Parsed
from harness.ir.memo import Recipe, names_apart, recipe_of
from harness.ir.reader import Reader, first_line
from harness.ir.registry import Registry
from harness.ir.syntax import OpSyntax


class Argument(NamedTuple):
    """A region argument before its block exists."""

    name: str
    type: Attribute
    location: Attribute | None
    at: int


_OPERATION = re.compile(
    r"\s*(?:(%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*)\s*=\s*)?"
    r'(?:"([A-Za-z_][\w$.-]*)"|([A-Za-z_][\w$.]*))'
)
_RESULT = re.compile(r"%([\w$.-]+)(?::(\d+))?")
_LABEL = re.compile(r"\s*\^([\w$.-]+)\s*(\()?")
_SUCCESSOR = re.compile(r"\s*\^([\w$.-]+)")
_ARGUMENT = re.compile(r"\s*%([\w$.-]+)\s*:")


class ModuleParser(Reader):
    """One module's text."""

    def __init__(self, registry: Registry, text: str, name: str) -> None:
        super().__init__(registry, text, name)
        self._recipes: dict[str, Recipe] = {}

    # The module

    def module(self) -> ModuleOp:
        """The whole text. Raises ParseError or UnsupportedOp; nothing else leaves."""
        try:
            return self._module()
        except HarnessError:
            raise
        except XdslParseError as error:
            span = getattr(error, "span", None)
            at = span.start if span is not None else self.at
            raise ParseError(first_line(error), self.place(at)) from error
        except RecursionError as error:
            raise ParseError("the text nests too deeply", self.place(self.at)) from error
        except Exception as error:
            # xDSL's own attribute code answers some malformed texts with assertions and look-up errors.
            raise ParseError(f"malformed IR: {first_line(error)}", self.place(self.at)) from error

    def _module(self) -> ModuleOp:
        self.find_aliases()
        operations: list[Operation] = []
        while not self.at_end():
            if self.text[self.at] in "#!":
                self.skip_alias()
            else:
                operations.append(self.operation())
        self._check_defined()
        if len(operations) == 1 and isinstance(operations[0], ModuleOp):
            return operations[0]
        if not operations:
            self.fail("there is no operation in this text")
        return ModuleOp(operations)

    def _check_defined(self) -> None:
        for name, uses in self.forward_ssa_references.items():
            at = self.forward_at.get(name, self.at) if uses else self.at
            self.fail(f"%{name} is used but never defined", at)

    def parse_operation(self) -> Operation:
        """xDSL asks for an operation inside a region of one of its own ops."""
        self.at = self.pos
        op = self.operation()
        self._resume_from(self.at)
        return op

    # Operations

    def operation(self) -> Operation:
        match = _OPERATION.match(self.text, self.at)
        if match is None:
            self.fail("an operation is expected")
        start = match.start(2) if match[2] else match.start(3)
        self.at = match.end()
        op = self._generic(match[2], start) if match[2] else self._custom(match[3], start)
        location = self.locations.optional()
        op.location = self.locations.here(start) if location is None else location
        if match[1] is not None:
            self._bind(match[1], op, match.start(1))
        elif op.results and match[3]:
            pass  # unused results need no name
        return op

    def _bind(self, names: str, op: Operation, at: int) -> None:
        results = op.results
        if len(results) == 1 and ":" not in names and "," not in names:
            self.define(names[1:], results, at)
            return
        bound = 0
        for match in _RESULT.finditer(names):
            count = int(match[2]) if match[2] else 1
            self.define(match[1], results[bound : bound + count], at)
            bound += count
        if bound != len(results):
            self.fail(f"{op.name} has {len(results)} results, {bound} are named", at)

    def _custom(self, name: str, start: int) -> Operation:
        entry = self.registry.operations.get(name) or self.registry.operations.get(f"builtin.{name}")
        if entry is not None:
            op_type, syntax = entry
            if syntax is not None:
                return self._written(name, op_type, syntax)
            return self.delegate(lambda: op_type.parse(self))  # pyright: ignore
        if "." not in name:
            self.fail(f"an operation is expected, not {name!r}", start)
        raise self.unsupported(f"unsupported op {name}", start)

    def _written(self, name: str, op_type: type[Operation], syntax: OpSyntax) -> Operation:
        """An op in a syntax of ours. One that goes to the location on its line is made as the last one was whose text
        differs in nothing but the names of values; whatever is new about it, an error too, is read piece by piece."""
        end = self.text.find(" loc(", self.at, self.line_end(self.at))
        words, names = names_apart(self.text[self.at : end] if end >= 0 else "")
        values = self._known_values(names)
        if end < 0 or values is None:
            return syntax.parse(self, op_type)
        key = name + words
        recipe = self._recipe(key)
        operands = None if recipe is None else recipe.operands(values)
        if recipe is not None and operands is not None:
            self.at = end
            return recipe.build(operands)
        op = syntax.parse(self, op_type)
        if end <= self.at <= end + 1 and (recipe := recipe_of(op, values)) is not None:
            self._keep_recipe(key, recipe)
        return op

    def _known_values(self, names: Sequence[str]) -> list[SSAValue] | None:
        """The values of these names; None where one is not defined yet."""
        found = []
        for name in names:
            values, result = self.ssa_values.get(name), 0
            if values is None:
                base, _, number = name.partition("#")
                values, result = self.ssa_values.get(base), int(number or 0)
            if values is None or result >= len(values):
                return None
            found.append(values[result])
        return found

    def _recipe(self, key: str) -> Recipe | None:
        known = self._recipes.get(key)
        if known is None and (shared := self.without_aliases(key)) is not None:
            known = self.registry.memo.recipes.get(shared)
            if known is not None:
                self._recipes[key] = known
        return known

    def _keep_recipe(self, key: str, recipe: Recipe) -> None:
        self._recipes[key] = recipe
        shared = self.without_aliases(key)
        if shared is not None and not recipe.large:
            self.registry.memo.recipes.keep(shared, recipe)

    def _generic(self, name: str, start: int) -> Operation:
        """`"name"(operands)[successors] <{properties}> ({regions}) {attributes} : (types) -> types`"""
        entry = self.registry.operations.get(name)
        op_type = UnregisteredOp.with_name(name) if entry is None else entry[0]
        parsed = Parsed()
        self.need("(")
        uses = self.uses()
        self.need(")")
        successors = self._successors()
        if self.accept("<"):
            self.attribute_dictionary(parsed.properties)
            self.need(">")
        regions = self._regions()
        self.attribute_dictionary(parsed.attributes)
        self.need(":")
        inputs, outputs = self.functional_type()
        if len(inputs) != len(uses):
            self.fail(f"{name} has {len(uses)} operands but {len(inputs)} operand types", start)
        if entry is not None:
            self._old_properties(op_type, parsed)
        return op_type.create(
            operands=[self.resolve(use, type_) for use, type_ in zip(uses, inputs, strict=True)],
            result_types=outputs,
            properties=parsed.properties,
            attributes=parsed.attributes,
            successors=successors,
            regions=regions,
        )

    def _old_properties(self, op_type: type[Operation], parsed: Parsed) -> None:
        """Generic text without `<{...}>` holds the properties among the attributes."""
        for name in self.registry.property_names(op_type) & parsed.attributes.keys():
            parsed.properties[name] = parsed.attributes.pop(name)

    def _successors(self) -> list[Block]:
        if not self.accept("["):
            return []
        blocks = [self.successor()]
        while self.accept(","):
            blocks.append(self.successor())
        self.need("]")
        return blocks

    def _regions(self) -> list[Region]:
        if not self.accept("("):
            return []
        regions = [self.region()]
        while self.accept(","):
            regions.append(self.region())
        self.need(")")
        return regions

    # Regions and blocks

    def region(self, arguments: Sequence[Argument] = ()) -> Region:
        """`{ ops and blocks }`; `arguments` become those of the entry block, which then has no label."""
        self.need("{")
        outer = self.ssa_values, self.blocks, self.forward_block_references
        self.ssa_values = dict(self.ssa_values)
        self.blocks = {}
        self.forward_block_references = defaultdict(list)
        region = Region()
        entry = Block()
        self._add_arguments(entry, arguments)
        self._block_body(entry)
        if entry.first_op is not None or arguments or not self._sees_label():
            region.add_block(entry)
        while self._sees_label():
            region.add_block(self._block())
        self.need("}")
        if self.forward_block_references:
            name, spans = next(iter(self.forward_block_references.items()))
            self.fail(f"block ^{name} is used but never defined", spans[0].start)
        self.ssa_values, self.blocks, self.forward_block_references = outer
        return region

    def _sees_label(self) -> bool:
        return _LABEL.match(self.text, self.at) is not None

    def _block(self) -> Block:
        match = self.expect_pattern(_LABEL, "a block label")
        name = match[1]
        self.forward_block_references.pop(name, None)
        if name in self.blocks and self.blocks[name][1] is not None:
            self.fail(f"block ^{name} is defined twice", match.start())
        block = self.blocks[name][0] if name in self.blocks else Block()
        self.blocks[name] = (block, self._current_token.span)
        if match[2]:
            self._add_arguments(block, self._block_arguments())
        self.need(":")
        self._block_body(block)
        return block

    def _block_arguments(self) -> list[Argument]:
        if self.accept(")"):
            return []
        arguments = [self.argument()]
        while self.accept(","):
            arguments.append(self.argument())
        self.need(")")
        return arguments

    def argument(self) -> Argument:
        match = self.expect_pattern(_ARGUMENT, "a block argument")
        return Argument(match[1], self.value_type(), self.locations.optional(), match.start(1) - 1)

    def _add_arguments(self, block: Block, arguments: Sequence[Argument]) -> None:
        for index, argument in enumerate(arguments):
            value = block.insert_arg(argument.type, index)
            value.location = argument.location or self.locations.here(argument.at)  # pyright: ignore
            self.define(argument.name, (value,), argument.at)

    _BODY_END = re.compile(r"\s*[}^]")

    def _block_body(self, block: Block) -> None:
        while self._BODY_END.match(self.text, self.at) is None:
            block.add_op(self.operation())

    def successor(self) -> Block:
        match = self.expect_pattern(_SUCCESSOR, "a block name")
        name = match[1]
        if name not in self.blocks:
            self.blocks[name] = (Block(), None)
            self.forward_block_references[name].append(Span(match.start(1), match.end(1), self.lexer.input))
        return self.blocks[name][0]
