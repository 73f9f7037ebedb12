"""From IR to a plan: a list of Python steps over a frame of slots, made once and run for every batch.

An op module registers, per op name, a function `(planner, op) -> Step`; everything that depends on types and
attributes is decided there. A step reads and writes slots of the frame.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from harness.cases.location import SourceLocation
from harness.errors import HarnessError, UnsupportedOp
from harness.executor.analysis import feeds_dot, is_pure
from harness.executor.clocks import RELAXED
from harness.executor.context import Context
from harness.executor.idle_lanes import Ends, IdleLanes, idle_lanes
from harness.executor.native.groups import Group, grouped
from harness.executor.native.step import GroupStep
from harness.executor.pending import may_be_pending, watched
from harness.executor.types import extents, get, ordering_of
from harness.ir import operation_name, source_location

Frame = list[Any]
Step = Callable[[Context, Frame], None]
StepMaker = Callable[["Planner", Operation], Step]
OPS: dict[str, StepMaker] = {}

TERMINATORS = frozenset(
    {
        "scf.yield",
        "scf.condition",
        "tt.return",
        "tt.reduce.return",
        "tt.scan.return",
        "tt.map_elementwise.return",
        "ttg.warp_yield",
        "ttg.warp_return",
    }
)
_PARTITIONED = frozenset({"ttg.warp_specialize"})
_SPINNING = frozenset(
    {"tt.atomic_cas", "tt.atomic_rmw", "tt.atomic_poll", "amdg.buffer_atomic_cas", "amdg.buffer_atomic_rmw"}
)
_PRODUCTS = frozenset({"tt.dot"})
_ATOMIC = _SPINNING | {"tt.descriptor_reduce", "ttng.async_tma_reduce", "tt.print"}


def op(*names: str) -> Callable[[StepMaker], StepMaker]:
    """Registers the step maker of the named ops."""

    def register(maker: StepMaker) -> StepMaker:
        for name in names:
            OPS[name] = maker
        return maker

    return register


class ExecutorBug(HarnessError):
    """An unexpected Python error inside a step: ours, not the kernel's."""


@dataclass
class BlockPlan:
    """The steps of one block. `arguments` are the slots of its block arguments, `yields` those its
    terminator passes on; `free` are slots it reads that are defined outside, `defined` those it writes itself;
    `groups` are the steps that may run as native code."""

    arguments: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    locations: list[SourceLocation | None] = field(default_factory=list)
    yields: tuple[int, ...] = ()
    free: tuple[int, ...] = ()
    defined: tuple[int, ...] = ()
    terminator: Operation | None = None
    groups: list[GroupStep] = field(default_factory=list)

    def run(self, context: Context, frame: Frame) -> None:
        """Runs every step. An error without a place gets the op's; a foreign exception names the op."""
        index = 0
        try:
            for index, step in enumerate(self.steps):  # noqa: B007
                step(context, frame)
        except HarnessError as error:
            if error.where is None:
                error.where = self.locations[index]
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise ExecutorBug(
                f"the executor failed in {self.names[index]}: {type(error).__name__}: {error}",
                self.locations[index],
                "this is a fault of the harness, not of the kernel",
            ) from error


@dataclass
class FunctionPlan:
    """A function: `blocks` in reverse post-order, the first is the entry, less what `prologue` does once for
    all programs; `widest` is the number of elements of its widest value; `spins` says that a loop waits on
    atomics, `synchronises` that it has atomics that may order programs, `partitioned` that parts of a program run at
    once."""

    name: str
    slots: int
    prologue: BlockPlan
    blocks: list[BlockPlan]
    successors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    widest: int = 1
    spins: bool = False
    parameters: tuple[Attribute, ...] = ()
    atomic: bool = False
    multiplies: bool = False
    synchronises: bool = False
    partitioned: bool = False


@dataclass
class Plan:
    """A module ready to run. `entry` is the kernel; the others are called by it. `native` is as it was asked for."""

    entry: FunctionPlan
    functions: dict[str, FunctionPlan]
    module: ModuleOp
    native: bool = True
    # Of `harness.executor.shorter`: plans without lanes that are idle, by where tiles end, and by launch.
    shorter: dict[Ends, Plan] = field(default_factory=dict)
    of_launch: dict[Hashable, Plan] = field(default_factory=dict)

    @functools.cached_property
    def idle(self) -> IdleLanes | None:
        """What may be idle in the kernel."""
        return idle_lanes(self.module, self.entry.name)

    @property
    def spins(self) -> bool:
        return any(function.spins for function in self.functions.values())

    @property
    def ordered(self) -> bool:
        """Whether programs see one another's atomics or prints: their batches must run in order."""
        return any(function.atomic for function in self.functions.values())

    @property
    def synchronises(self) -> bool:
        return any(function.synchronises for function in self.functions.values())

    @property
    def multiplies(self) -> bool:
        """Whether there are matrix products: the more programs in a batch, the larger (and fewer) they are."""
        return any(function.multiplies for function in self.functions.values())

    @property
    def partitioned(self) -> bool:
        """Whether parts of a program wait for one another: programs of a batch cannot be told to wait one by one."""
        return any(function.partitioned for function in self.functions.values())

    @property
    def widest(self) -> int:
        return max(function.widest for function in self.functions.values())


class Planner:
    """Makes the plan of one function. `native`: runs of ops are grouped, so that they may be compiled."""

    def __init__(self, functions: dict[str, FunctionPlan], native: bool) -> None:
        self.functions = functions
        self._native = native
        self._slots: dict[SSAValue, int] = {}

    @property
    def slots(self) -> int:
        return len(self._slots)

    def slot(self, value: SSAValue) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def slots_of(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        return tuple(self.slot(value) for value in values)

    def region(self, region: Region) -> BlockPlan:
        """The plan of a region of one block."""
        return self.block(region.block)

    def blocks(
        self, region: Region, skipped: Sequence[Operation] = ()
    ) -> tuple[list[BlockPlan], dict[int, tuple[int, ...]]]:
        """The plans of a region's blocks in reverse post-order, without the skipped ops, and the successors of each
        by number."""
        ordered = _reverse_post_order(region)
        number = {block: index for index, block in enumerate(ordered)}
        successors = {
            number[block]: tuple(number[target] for target in (block.last_op.successors if block.last_op else ()))
            for block in ordered
        }
        return [self.block(block, skipped) for block in ordered], successors

    def kernel_blocks(self, region: Region) -> tuple[BlockPlan, list[BlockPlan], dict[int, tuple[int, ...]]]:
        """A kernel's blocks, what all its programs share moved out of the entry into a prologue."""
        prologue, hoisted = self.prologue(region.blocks[0])
        blocks, successors = self.blocks(region, hoisted)
        return prologue, blocks, successors

    def block(self, block: Block, skipped: Sequence[Operation] = ()) -> BlockPlan:
        """The plan of a block without the skipped ops."""
        plan = BlockPlan(self.slots_of(block.args))
        left_out = set(skipped)
        ops = [operation for operation in block.ops if operation not in left_out]
        if ops and ops[-1] is block.last_op and _ends_block(ops[-1]):
            plan.terminator = ops.pop()
            plan.yields = self.slots_of(plan.terminator.operands)
        items = grouped(ops, is_pure, feeds_dot) if self._native else ops
        last_uses = _last_uses(block, items)
        for item in items:
            self._append(plan, item, last_uses.get(item, []))
        plan.free = self.slots_of(_free_values(block))
        plan.defined = (*plan.arguments, *self.slots_of([value for inner in block.ops for value in inner.results]))
        return plan

    def _append(self, plan: BlockPlan, item: Operation | Group, unused: Sequence[SSAValue]) -> None:
        """The step of an op or a group, after which nobody reads the `unused` values any more."""
        first = item.members[0] if isinstance(item, Group) else item
        step = self._group(item) if isinstance(item, Group) else self.step(item)
        if isinstance(step, GroupStep):
            plan.groups.append(step)
        dropped = self.slots_of(unused)
        plan.steps.append(_dropping(step, dropped) if dropped else step)
        plan.names.append(operation_name(first))
        plan.locations.append(source_location(first))

    def _group(self, group: Group) -> Step:
        plain = BlockPlan(())
        last_uses = _last_uses_within(group)
        for member in group.members:
            self._append(plain, member, last_uses.get(member, []))
        return GroupStep(group, self.slots_of(group.leaves), self.slots_of(group.results), plain.run)

    def prologue(self, block: Block) -> tuple[BlockPlan, list[Operation]]:
        """The ops of a block whose results no program can change, as a plan of their own."""
        constant: set[SSAValue] = set(block.args)
        hoisted = []
        for operation in block.ops:
            if is_pure(operation) and all(value in constant for value in operation.operands):
                constant.update(operation.results)
                hoisted.append(operation)
        plan = BlockPlan(self.slots_of(block.args))
        for operation in hoisted:
            plan.steps.append(self.step(operation))
            plan.names.append(operation_name(operation))
            plan.locations.append(source_location(operation))
        return plan, hoisted

    def step(self, operation: Operation) -> Step:
        """The step of one op. Raises UnsupportedOp, with the op's name and line, where there is none."""
        name = operation_name(operation)
        maker = OPS.get(name)
        where = source_location(operation)
        if maker is None:
            raise UnsupportedOp(f"unsupported op {name}", where, "the executor does not know it")
        try:
            step = maker(self, operation)
        except UnsupportedOp as error:
            raise _naming(name, error, where) from error
        early = self.slots_of(may_be_pending(operation))
        return watched(step, early, where) if early else step


def _naming(name: str, error: UnsupportedOp, where: SourceLocation | None) -> UnsupportedOp:
    """The error with the op's name and place, where it has none."""
    what = error.what if name in error.what else f"unsupported {name}: {error.what.removeprefix('unsupported ')}"
    return UnsupportedOp(what, error.where or where, error.hint)


def _ends_block(operation: Operation) -> bool:
    return operation.name in TERMINATORS or operation.name in ("cf.br", "cf.cond_br")


def _dropping(step: Step, dropped: tuple[int, ...]) -> Step:
    """The step, then the slots nobody reads any more emptied: arrays return to the allocator early."""

    def run(context: Context, frame: Frame) -> None:
        step(context, frame)
        for slot in dropped:
            holder = [frame[slot]]
            frame[slot] = None
            context.pool.give(holder)

    return run


def _uses_within(operation: Operation) -> set[SSAValue]:
    return {operand for inner in operation.walk() for operand in inner.operands}


def _free_values(block: Block) -> list[SSAValue]:
    """Values used in the block (nested regions included) and defined outside it, in a stable order."""
    inside: set[SSAValue] = set(block.args)
    used: dict[SSAValue, None] = {}
    for operation in block.walk():
        inside.update(operation.results)
        for region in operation.regions:
            for nested in region.blocks:
                inside.update(nested.args)
        for operand in operation.operands:
            used[operand] = None
    return [value for value in used if value not in inside]


def _last_uses(block: Block, items: Sequence[Operation | Group]) -> dict[Operation | Group, list[SSAValue]]:
    """For each item, the values defined in this very block that nobody needs after it."""
    mine: set[SSAValue] = set(block.args)
    for operation in block.ops:
        mine.update(operation.results)
    last: dict[SSAValue, Operation | Group] = {}
    for item in items:
        made = item.results
        last.update(dict.fromkeys(made, item))
        used = item.reads if isinstance(item, Group) else _uses_within(item)
        last.update({value: item for value in used if value in mine})
    escaping: set[SSAValue] = set() if block.last_op is None else set(block.last_op.operands)
    escaping.update(value for value in mine if _used_outside(value, block))
    by_item: dict[Operation | Group, list[SSAValue]] = {}
    for value, item in last.items():
        if value not in escaping:
            by_item.setdefault(item, []).append(value)
    return by_item


def _last_uses_within(group: Group) -> dict[Operation, list[SSAValue]]:
    """For each member, the values of the group that no later member and nobody outside reads."""
    last: dict[SSAValue, Operation] = {}
    for member in group.members:
        last.update(dict.fromkeys(member.results, member))
        last.update({value: member for value in _uses_within(member) if value in last})
    by_member: dict[Operation, list[SSAValue]] = {}
    for value, member in last.items():
        if value not in group.results:
            by_member.setdefault(member, []).append(value)
    return by_member


def _used_outside(value: SSAValue, block: Block) -> bool:
    """Whether another block of the same function uses the value (unstructured control flow)."""
    region = block.parent
    if region is None or region.first_block is region.last_block:
        return False
    return any(_ancestor_in(use.operation, region) is not block for use in value.uses)


def _ancestor_in(operation: Operation, region: Region) -> Block | None:
    block = operation.parent
    while block is not None and block.parent is not region:
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return block


def compile_module(module: ModuleOp, kernel: str | None = None, native: bool = True) -> Plan:
    """The plan of a module's kernel: the function called `kernel`, else the only public one.

    Without `native` no run of the plan may compile ops to machine code, and the plan itself is made sooner.

    Raises UnsupportedOp for the first op, type or attribute without a meaning here.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if op.name in ("tt.func", "func.func")}  # type: ignore[attr-defined]
    if not functions:
        raise UnsupportedOp("the module holds no tt.func")
    entry = kernel or _entry(functions)
    planned: dict[str, FunctionPlan] = {}
    _plan_function(entry, functions, planned, native)
    return Plan(planned[entry], planned, module, native)


def _entry(functions: dict[str, Operation]) -> str:
    public = [name for name, op in functions.items() if get(op, "sym_visibility", "public") == "public"]
    if len(public) != 1:
        raise UnsupportedOp(f"the module has {len(public)} public functions; name the kernel")
    return public[0]


def _plan_function(name: str, functions: dict[str, Operation], planned: dict[str, FunctionPlan], native: bool) -> None:
    if name in planned:
        return
    if name not in functions:
        raise UnsupportedOp(f"the module has no function {name}")
    operation = functions[name]
    for call in operation.walk():
        if call.name == "tt.call":
            _plan_function(_callee(call), functions, planned, native)
    planner = Planner(planned, native)
    prologue, plans, successors = planner.kernel_blocks(operation.regions[0])
    planned[name] = FunctionPlan(
        name,
        planner.slots,
        prologue,
        plans,
        successors,
        _widest(operation),
        _spins(operation),
        tuple(argument.type for argument in operation.regions[0].blocks[0].args),
        _holds(operation, _ATOMIC),
        _holds(operation, _PRODUCTS),
        any(inner.name in _SPINNING and ordering_of(inner) != RELAXED for inner in operation.walk()),
        _holds(operation, _PARTITIONED),
    )


def _callee(call: Operation) -> str:
    return get(call, "callee")


def _reverse_post_order(region: Region) -> list[Block]:
    order: list[Block] = []
    seen: set[Block] = set()

    def visit(block: Block) -> None:
        seen.add(block)
        for successor in reversed(block.last_op.successors if block.last_op else ()):
            if successor not in seen:
                visit(successor)
        order.append(block)

    visit(region.blocks[0])
    return order[::-1]


def _widest(operation: Operation) -> int:
    widest = 1
    for inner in operation.walk():
        for result in inner.results:
            count = 1
            for extent in extents(result.type):
                count *= extent
            widest = max(widest, count)
    return widest


def _spins(operation: Operation) -> bool:
    """Whether a loop whose exit depends on its body holds an atomic or a volatile load: it may wait."""
    for loop in operation.walk():
        if loop.name != "scf.while":
            continue
        if any(inner.name in _SPINNING or _is_volatile(inner) for inner in loop.walk()):
            return True
    cyclic = len(operation.regions[0].blocks) > 1 and _has_back_edge(operation.regions[0])
    return cyclic and any(inner.name in _SPINNING or _is_volatile(inner) for inner in operation.walk())


def _holds(operation: Operation, names: frozenset[str]) -> bool:
    return any(inner.name in names for inner in operation.walk())


def _is_volatile(operation: Operation) -> bool:
    return operation.name == "tt.load" and bool(get(operation, "isVolatile", 0))


def _has_back_edge(region: Region) -> bool:
    order = {block: index for index, block in enumerate(_reverse_post_order(region))}
    return any(
        order[successor] <= order[block]
        for block in order
        for successor in (block.last_op.successors if block.last_op else ())
    )
