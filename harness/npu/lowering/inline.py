"""`npu-inline`: one function of one block. Early returns become branches, and calls the code of what they call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from harness.errors import Refusal
from harness.ir import attribute, source_location

if TYPE_CHECKING:
    from harness.npu.machine import Machine

Values = dict[SSAValue, SSAValue]


def run(module: ModuleOp, machine: Machine) -> None:
    """Raises Refusal for a function that calls itself, and for a jump back that is no loop of scf."""
    functions = {_symbol(op, "sym_name"): op for op in module.body.block.ops if op.name == "tt.func"}
    _Inliner(functions).run()
    for op in functions.values():
        if _symbol(op, "sym_visibility") == "private":
            op.detach()
            op.erase()


def _symbol(op: Operation, name: str) -> str:
    value: Any = attribute(op, name)
    return getattr(value, "data", "public")


@dataclass
class _Inliner:
    """`finished`: functions that hold no more calls."""

    functions: dict[str, Operation]
    finished: set[str] = field(default_factory=set)
    _open: list[str] = field(default_factory=list)

    def run(self) -> None:
        for name in self.functions:
            self._finish(name)

    def _finish(self, name: str) -> None:
        if name in self.finished:
            return
        function = self.functions[name]
        if name in self._open:
            raise Refusal(f"{name} calls itself, and the machine has no stack", source_location(function))
        self._open.append(name)
        if len(function.regions[0].blocks) > 1:
            _structure(function)
        for call in [op for op in function.walk() if op.name == "tt.call"]:
            callee: Any = attribute(call, "callee")
            called = callee.root_reference.data
            self._finish(called)
            _inline(call, self.functions[called])
        self._open.pop()
        self.finished.add(name)


# --- calls --------------------------------------------------------------------------------------------------------


def _inline(call: Operation, function: Operation) -> None:
    body, block = function.regions[0].blocks[0], call.parent
    assert block is not None
    values: Values = dict(zip(body.args, call.operands, strict=True))
    locations: dict[Attribute, Attribute] = {}
    for op in body.ops:
        if op is body.last_op:
            break
        copy = _copied(op, values)
        _call_from(copy, call.location, locations)
        block.insert_op_before(copy, call)
    end = body.last_op
    assert end is not None
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(values.get(value, value))
    call.detach()
    call.erase()


def _copied(op: Operation, values: Values) -> Operation:
    """A copy whose operands are looked up in `values`, which learns of the copy's results."""
    if not op.regions:
        return op.clone_without_regions(values)
    return op.clone(values)


def _call_from(op: Operation, caller: Attribute, locations: dict[Attribute, Attribute]) -> None:
    """Says at what call the code is."""
    if isinstance(caller, UnknownLoc):
        return
    for one in op.walk() if op.regions else (op,):
        if one.location not in locations:
            locations[one.location] = CallSiteLoc(one.location, caller)
        one.location = locations[one.location]  # pyright: ignore[reportAttributeAccessIssue]


# --- early returns --------------------------------------------------------------------------------------------------


def _structure(function: Operation) -> None:
    """Each conditional jump becomes an scf.if around all that follows; what both ways lead to is there twice."""
    old = function.regions[0]
    entry = old.blocks[0]
    body = Block()
    values: Values = {}
    for argument in entry.args:
        copy = body.insert_arg(argument.type, argument.index, argument.location)
        copy.name_hint = argument.name_hint
        values[argument] = copy
    end = _Way(function, body, values, ()).follow(entry)
    body.add_op(end)
    function.detach_region(old)
    function.add_region(Region(body))
    old.drop_all_references()


@dataclass
class _Way:
    """Copies blocks, one after the other, into `body`; `passed` are those that lead here."""

    function: Operation
    body: Block
    values: Values
    passed: tuple[Block, ...]

    def follow(self, block: Block) -> Operation:
        """Copies the block and all that it leads to; the tt.return that ends it."""
        if block in self.passed:
            raise Refusal("a jump back that is no loop has no lowering", source_location(self.function))
        self.passed = (*self.passed, block)
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                self.body.add_op(_copied(op, self.values))
        if last.name == "cf.br":
            return self._jump(last.successors[0], last.operands)
        if last.name == "cf.cond_br":
            return self._branch(last)
        return _copied(last, self.values)

    def _jump(self, target: Block, operands: Sequence[SSAValue]) -> Operation:
        passed_on: list[SSAValue] = [self.values.get(operand, operand) for operand in operands]
        self.values.update(dict(zip(target.args, passed_on, strict=True)))
        return self.follow(target)

    def _branch(self, last: Operation) -> Operation:
        condition, *rest = last.operands
        split = len(last.successors[0].args)
        regions, yields = [], []
        for target, operands in zip(last.successors, (rest[:split], rest[split:]), strict=True):
            way = _Way(self.function, Block(), dict(self.values), self.passed)
            end = way._jump(target, operands)
            way.body.add_op(scf.YieldOp.create(operands=end.operands, location=end.location))
            regions.append(Region(way.body))
            yields.append(end)
        results = [value.type for value in yields[0].operands]
        branch = scf.IfOp.create(
            operands=[self.values.get(condition, condition)],
            result_types=results,
            regions=regions,
            location=last.location,
        )
        self.body.add_op(branch)
        end = type(yields[0]).create(operands=branch.results, location=yields[0].location)
        for one in yields:
            one.erase()
        return end
