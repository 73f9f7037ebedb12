"""Which ops of a block run as native code together.

A group is a run of ops that native code knows, between ops that it does not: those come before the group where
they do not need its values, and end it where they do. What only computes indices for others stays with NumPy, whose
affine forms are cheaper than any code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from harness.executor.native.arithmetic import BINARY, FLOAT_IDENTITIES, FLOATS, integer_identity, supported
from harness.executor.native.lanes import SIZES, TYPES
from harness.executor.native.leaves import splat_of
from harness.executor.types import element, extents, get
from harness.ir import operand

_NARROWEST = 8  # elements along the last axis: below it a vector is mostly empty, and NumPy faster
_LEAST_WORK = 2  # ops that pass over memory when NumPy runs them: one alone is as fast there
_MOVES = frozenset({"tt.make_range", "tt.splat", "tt.expand_dims", "tt.broadcast", "tt.addptr"})
_TRANSPARENT = frozenset({"tt.dot", "tt.reduce", "tt.scan", "tt.gather", "tt.histogram", "tt.get_program_id"})

Asked = Callable[[Operation], bool]


@dataclass(frozen=True, eq=False)
class Group:
    """`members` in their order; `leaves` are values they read and others make, `results` values of theirs that
    others read."""

    members: tuple[Operation, ...]
    leaves: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]

    @property
    def reads(self) -> list[SSAValue]:
        """All that the members read, constants included."""
        return [value for member in self.members for value in member.operands]


def grouped(ops: Iterable[Operation], is_pure: Asked, feeds_dot: Asked) -> list[Operation | Group]:
    """The ops in an order in which they may run, some of them as groups.

    `is_pure(op)` tells that an op has no effects, `feeds_dot(op)` that a load makes an operand of a matrix product
    (which NumPy reads once for all programs that share it).
    """
    return _Grouping(is_pure, feeds_dot).run(ops)


class _Grouping:
    def __init__(self, is_pure: Asked, feeds_dot: Asked) -> None:
        self._is_pure, self._feeds_dot = is_pure, feeds_dot
        self._items: list[Operation | Group] = []
        self._open: list[Operation] = []
        self._inside: set[Operation] = set()

    def run(self, ops: Iterable[Operation]) -> list[Operation | Group]:
        for operation in ops:
            self._take(operation)
        self._close()
        return self._items

    def _take(self, operation: Operation) -> None:
        stores = any(member.name == "tt.store" for member in self._open)
        if is_native(operation) and not (operation.name == "tt.load" and self._feeds_dot(operation)):
            if operation.name == "tt.load" and stores:
                self._close()
            self._open.append(operation)
            self._inside.add(operation)
            return
        passes = self._is_pure(operation) or operation.name in _TRANSPARENT
        passes = passes or (operation.name == "tt.load" and not stores)
        if not passes or self._depends(operation):
            self._close()
        self._items.append(operation)

    def _depends(self, operation: Operation) -> bool:
        return any(value.owner in self._inside for inner in operation.walk() for value in inner.operands)

    def _close(self) -> None:
        members, self._open, self._inside = self._open, [], set()
        kept = _without_indices(members)
        if sum(_is_work(operation) for operation in kept) < _LEAST_WORK or not _writable(kept):
            self._items.extend(members)
            return
        inside = set(kept)
        self._items.extend(operation for operation in members if operation not in inside)
        self._items.append(Group(tuple(kept), _leaves(kept), _results(kept)))


def is_native(operation: Operation) -> bool:
    """Whether native code has a form of the op."""
    name = operation.name
    kinds = [element(value.type) for value in (*operation.operands, *operation.results)]
    if any(kind not in TYPES for kind in kinds):
        return False
    if name in _MOVES:
        return True
    if any(_is_narrow(value) for value in (*operation.operands, *operation.results)):
        return False
    if name == "tt.load":
        return _plain_access(operation, element(operation.results[0].type))
    if name == "tt.store":
        return _plain_access(operation, kinds[1])
    if name in ("tt.reduce", "tt.scan"):
        return _is_fold(operation)
    return bool(operation.operands) and not operation.regions and supported(operation)


def _is_narrow(value: SSAValue) -> bool:
    shape = extents(value.type)
    return bool(shape) and 1 < shape[-1] < _NARROWEST


def _plain_access(operation: Operation, kind: str) -> bool:
    pointer = operand(operation, "ptr")
    assert pointer is not None
    plain = not get(operation, "boundaryCheck", ()) and not get(operation, "isVolatile", False)
    return plain and kind in SIZES and element(pointer.type) == "ptr"


def _is_fold(operation: Operation) -> bool:
    """A reduction or forward scan along the last axis (a reduction along any) by one op on its two arguments."""
    if len(operation.operands) != 1 or len(operation.regions[0].blocks) != 1:
        return False
    block = operation.regions[0].block
    body = list(block.ops)
    shape, kind = extents(operation.operands[0].type), element(operation.operands[0].type)
    if len(body) != 2 or set(body[0].operands) != set(block.args) or kind not in TYPES or kind == "ptr":
        return False
    known = body[0].name in (FLOAT_IDENTITIES if kind in FLOATS else BINARY)
    if not known or (kind not in FLOATS and integer_identity(body[0].name, TYPES[kind].width) is None):
        return False
    if operation.name == "tt.scan":
        return get(operation, "axis") == len(shape) - 1 and not get(operation, "reverse", 0)
    return shape[-1] >= _NARROWEST


def _is_index(operation: Operation) -> bool:
    """Integers, masks and pointers that come from no memory."""
    if operation.name in ("tt.load", "tt.store", "tt.reduce", "tt.scan"):
        return False
    return element(operation.results[0].type) not in FLOATS


def _is_work(operation: Operation) -> bool:
    if operation.name == "tt.store":
        return bool(extents(operation.operands[0].type))
    if operation.name in ("tt.reduce", "tt.scan"):
        return True
    return bool(extents(operation.results[0].type)) and operation.name not in _MOVES and not _is_index(operation)


def _without_indices(members: list[Operation]) -> list[Operation]:
    """The members less the index ops that others need as well, with all that those are made of."""
    inside = set(members)
    plain: dict[Operation, bool] = {}
    for operation in members:
        sources = [value.owner for value in operation.operands if value.owner in inside]
        plain[operation] = _is_index(operation) and all(plain[source] for source in sources)  # type: ignore[index]
    wanted: set[Operation] = set()
    for operation in reversed(members):
        uses = [use.operation for value in operation.results for use in value.uses]
        if plain[operation] and any(_outside(user, operation.parent, inside - wanted) for user in uses):
            wanted.add(operation)
    return [operation for operation in members if operation not in wanted]


def _leaves(members: list[Operation]) -> tuple[SSAValue, ...]:
    inside = set(members)
    found: dict[SSAValue, None] = {}
    for operation in members:
        for value in operation.operands:
            if value.owner not in inside and not is_constant(value):
                found[value] = None
    return tuple(found)


def is_constant(value: SSAValue) -> bool:
    """One value in all elements, known before the run."""
    owner = value.owner
    return isinstance(owner, Operation) and owner.name == "arith.constant" and splat_of(owner) is not None


def _results(members: list[Operation]) -> tuple[SSAValue, ...]:
    inside = set(members)
    return tuple(
        value
        for operation in members
        for value in operation.results
        if any(_outside(use.operation, operation.parent, inside) for use in value.uses)
    )


def _outside(user: Operation, block: Block | None, inside: set[Operation]) -> bool:
    while user.parent is not block:
        parent = user.parent_op()
        if parent is None:
            return True
        user = parent
    return user not in inside


def _writable(members: list[Operation]) -> bool:
    """Whether the results are numbers: pointers have forms of their own."""
    return all(element(value.type) != "ptr" for value in _results(members))
