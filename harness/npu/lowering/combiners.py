"""The region of a fold, scan or map as a straight list of scalar instructions.

Branches become selects: both sides are computed, and the condition under which a block is reached picks what its
arguments are. What a side computes in vain harms nobody: an assertion, the one op here that has an effect, holds
wherever its block is not reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from harness.executor.ops_scalar import keywords
from harness.executor.types import element, get
from harness.ir import operation_name
from harness.npu.isa.program import Combiner, Constant, Formal, Instruction, Operand
from harness.npu.lowering.edges import passed
from harness.npu.lowering.emitter import Emitter, pointee_size
from harness.npu.lowering.liveness import reverse_post_order
from harness.npu.lowering.views import is_constant
from harness.semantics import ELEMENTWISE

_RETURNS = frozenset({"tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return"})
_SKIPPED = frozenset({"arith.constant", "ub.poison", "llvm.intr.assume"})


def combiner_of(emitter: Emitter, operation: Operation) -> Combiner:
    """Raises Refusal for a region with a loop, or with an op that has an effect."""
    return _Flattening(emitter, operation).combiner()


class _Flattening:
    def __init__(self, emitter: Emitter, operation: Operation) -> None:
        self._emitter = emitter
        self._operation = operation
        self._values: dict[SSAValue, Operand] = {}
        self._instructions: list[Instruction] = []
        self._arguments: list[str] = []
        self._computed = 0
        self._reached: Operand | None = None  # the condition under which the op at hand runs; None: always

    def combiner(self) -> Combiner:
        entry = self._operation.regions[0].blocks[0]
        for argument in entry.args:
            kind = element(argument.type)
            self._values[argument] = Formal(len(self._arguments), kind)
            self._arguments.append(kind)
        results = self._blocks(entry)
        return Combiner(tuple(self._arguments), tuple(self._instructions), tuple(results))

    def _blocks(self, entry: Block) -> list[Operand]:
        """Every block once; those that are reached on several ways choose among the values that come in."""
        ordered = reverse_post_order(entry)
        number = {block: index for index, block in enumerate(ordered)}
        reached: dict[Block, Operand | None] = {entry: None}  # None: always
        results: list[Operand] = []
        for block in ordered:
            self._reached = reached[block]
            self._steps(block)
            last = block.last_op
            assert last is not None
            if last.name in _RETURNS:
                results = self._merged(results, [self._value(value) for value in last.operands], reached[block])
                continue
            if any(number[target] <= number[block] for target in last.successors):
                raise self._emitter.refuse(self._operation, "has a loop in its region")
            self._leave(block, last, reached)
        return results

    def _leave(self, block: Block, last: Operation, reached: dict[Block, Operand | None]) -> None:
        here = reached[block]
        conditions: list[Operand | None] = [here]
        if last.name == "cf.cond_br":
            taken = self._value(last.operands[0])
            conditions = [self._both(here, taken), self._both(here, self._not(taken))]
        for target, pairs, condition in zip(last.successors, passed(last), conditions, strict=True):
            first = target not in reached
            for value, argument in pairs:
                given = self._value(value)
                self._values[argument] = given if first else self._select(condition, given, self._values[argument])
            reached[target] = condition if first else self._either(reached[target], condition)

    def _merged(self, known: list[Operand], given: list[Operand], condition: Operand | None) -> list[Operand]:
        if not known:
            return given
        return [self._select(condition, new, old) for old, new in zip(known, given, strict=True)]

    def _not(self, condition: Operand) -> Operand:
        return self._compute("arith.xori", [condition, Constant(b"\1", "i1")], "i1")

    def _both(self, one: Operand | None, other: Operand) -> Operand:
        return other if one is None else self._compute("arith.andi", [one, other], "i1")

    def _either(self, one: Operand | None, other: Operand | None) -> Operand | None:
        return None if one is None or other is None else self._compute("arith.ori", [one, other], "i1")

    def _select(self, condition: Operand | None, left: Operand, right: Operand) -> Operand:
        if condition is None or left == right:
            return left
        return self._compute("arith.select", [condition, left, right], left.element)

    def _steps(self, block: Block) -> None:
        for operation in block.ops:
            if operation is not block.last_op:
                self._step(operation)

    def _step(self, operation: Operation) -> None:
        name = operation_name(operation)
        if name in _SKIPPED:
            return
        if name == "scf.if":
            self._if(operation)
            return
        if name == "tt.assert":
            self._assert(operation)
            return
        if name not in ELEMENTWISE and name != "tt.addptr":
            raise self._emitter.refuse(operation, "is no op that a fold, scan or map can do in its region")
        attributes = {"size": pointee_size(operation.results[0].type)} if name == "tt.addptr" else keywords(operation)
        operands = [self._value(value) for value in operation.operands]
        kind = element(operation.results[0].type)
        self._values[operation.results[0]] = self._compute(name, operands, kind, attributes)

    def _if(self, operation: Operation) -> None:
        condition = self._value(operation.operands[0])
        regions = [region for region in operation.regions if region.blocks]
        sides = [self._side(region.block, condition, number == 0) for number, region in enumerate(regions)]
        for index, result in enumerate(operation.results):
            self._values[result] = self._select(condition, sides[0][index], sides[1][index])

    def _side(self, block: Block, condition: Operand, taken: bool) -> list[Operand]:
        outside = self._reached
        self._reached = self._both(outside, condition if taken else self._not(condition))
        self._steps(block)
        self._reached = outside
        assert block.last_op is not None
        return [self._value(value) for value in block.last_op.operands]

    def _assert(self, operation: Operation) -> None:
        holds = self._value(operation.operands[0])
        if self._reached is not None:
            holds = self._compute("arith.ori", [self._not(self._reached), holds], "i1")
        message = self._emitter.text(get(operation, "message", ""))
        self._instructions.append(Instruction("assert", (), (holds,), (message,)))

    def _compute(
        self, name: str, operands: Sequence[Operand], kind: str, attributes: Mapping[str, Any] | None = None
    ) -> Formal:
        number = self._emitter.function(name, dict(attributes or {}), [one.element for one in operands], [kind])
        self._instructions.append(Instruction("scalar", (), tuple(operands), (number,)))
        self._computed += 1
        return Formal(len(self._arguments) + self._computed - 1, kind)

    def _value(self, value: SSAValue) -> Operand:
        found = self._values.get(value)
        if found is None:
            emitter = self._emitter
            found = emitter.constant(value) if is_constant(value) else emitter.operand(value)
        return found
