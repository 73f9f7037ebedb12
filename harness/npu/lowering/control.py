"""Tensors that go round loops and out of branches: the scalars that they are made of do so in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from harness.npu.lowering.forms import Described, Form, Linear, Pointers, Wrap
from harness.npu.lowering.ranges import Range, full, union
from harness.npu.lowering.scalars import JOIN, Scalar, Scalars

if TYPE_CHECKING:
    from harness.npu.lowering.analysis import Analysis

Choose = Callable[[Scalar, Scalar], Scalar]


@dataclass(eq=False)
class Join:
    """A scalar that control flow chooses: carried round a loop, or given by the branch that is taken.

    incoming  (initial, yielded) of a loop, (then, else) of a branch
    argument  its value inside a loop; None for a branch
    body      of an scf.while its value in the second region, where that is another one
    result    its value after the op
    """

    op: Operation
    incoming: tuple[Scalar, Scalar]
    result: Scalar
    argument: Scalar | None = None
    body: Scalar | None = None


# --- either of two forms ----------------------------------------------------------------------------------------


def merged(scalars: Scalars, a: Form | None, b: Form | None, choose: Choose) -> Form | None:
    """Either form, scalar by scalar; None where they are not of one kind."""
    if a is b:
        return a
    if isinstance(a, Linear) and isinstance(b, Linear):
        return _merged_linear(scalars, a, b, choose)
    if isinstance(a, Pointers) and isinstance(b, Pointers) and a.pointer.type == b.pointer.type:
        offset = _merged_linear(scalars, a.offset, b.offset, choose)
        return None if offset is None else Pointers(_either(scalars, a.pointer, b.pointer, choose), offset)
    if isinstance(a, Described) and isinstance(b, Described) and a.fill is b.fill:
        shape, strides = (_all(scalars, x, y, choose) for x, y in ((a.shape, b.shape), (a.strides, b.strides)))
        return Described(_either(scalars, a.pointer, b.pointer, choose), shape, strides, a.fill)
    return None


def _merged_linear(scalars: Scalars, a: Linear, b: Linear, choose: Choose) -> Linear | None:
    wraps: list[Wrap | None] = []
    for mine, theirs in zip(a.wraps, b.wraps, strict=True):
        if not _same_wrap(scalars, mine, theirs):
            return None
        wraps.append(None if mine is None else (scalars.here(mine[0]), scalars.here(mine[1])))
    base = _either(scalars, a.base, b.base, choose)
    return Linear(a.extents, base, _all(scalars, a.strides, b.strides, choose), tuple(wraps))


def _same_wrap(scalars: Scalars, a: Wrap | None, b: Wrap | None) -> bool:
    if a is None or b is None:
        return a is b
    return all(map(scalars.same, a, b))


def _all(scalars: Scalars, a: Sequence[Scalar], b: Sequence[Scalar], choose: Choose) -> tuple[Scalar, ...]:
    return tuple(_either(scalars, x, y, choose) for x, y in zip(a, b, strict=True))


def _either(scalars: Scalars, a: Scalar, b: Scalar, choose: Choose) -> Scalar:
    """What both are is no choice."""
    if a is b:
        return a
    return scalars.here(a) if scalars.same(a, b) else choose(a, b)


# --- branches -----------------------------------------------------------------------------------------------------


def _branch(analysis: Analysis, op: Operation) -> None:
    joins: list[Join] = []
    yields = []
    for region in op.regions:
        for block in region.blocks:
            analysis.block(block)
            yields.append(block.last_op)

    def choose(a: Scalar, b: Scalar) -> Scalar:
        result = Scalar(a.type, union(a.range, b.range), op=JOIN)
        joins.append(Join(op, (a, b), result))
        return result

    analysis.scalars.at = op
    for position, result in enumerate(op.results):
        a, b = (analysis.forms.get(last.operands[position]) for last in yields)
        form = merged(analysis.scalars, a, b, choose)
        analysis.forget([result])
        if form is not None:
            analysis.forms[result] = form
    analysis.joins[op] = joins


# --- counted loops ------------------------------------------------------------------------------------------------


@dataclass
class _Guess:
    """What a loop is taken to carry, until its body says otherwise.

    refused  positions of values that are no such form
    factors  by position, the power of two that divides what is carried
    """

    refused: set[int]
    factors: dict[int, int]


def _loop(analysis: Analysis, op: Operation) -> None:
    """Every round but the last one refuses a value or divides a factor: there are few."""
    body = op.regions[0].blocks[0]
    arguments, guess = body.args[1:], _Guess(set(), {})
    while True:
        joins = _carried_in(analysis, op, op.operands[3:], arguments, guess)
        analysis.block(body)
        if _holds(analysis, body, arguments, joins, guess):
            break
    for position, result in enumerate(op.results):
        analysis.forget([result])
        form = analysis.forms.get(arguments[position])
        if position in joins and form is not None:
            analysis.forms[result] = _with_base(form, joins[position].result)
        elif form is not None:
            analysis.forms[result] = form
    analysis.joins[op] = list(joins.values())


def _carried_in(
    analysis: Analysis,
    op: Operation,
    initial: Sequence[SSAValue],
    arguments: Sequence[SSAValue],
    guess: _Guess,
) -> dict[int, Join]:
    """By position, those of the values that are carried into the arguments whose base changes."""
    found: dict[int, Join] = {}
    for position, (value, argument) in enumerate(zip(initial, arguments, strict=True)):
        join = _carried(analysis, op, position, (value, argument), guess)
        if join is not None:
            found[position] = join
    return found


def _carried(
    analysis: Analysis, op: Operation, position: int, pair: tuple[SSAValue, SSAValue], guess: _Guess
) -> Join | None:
    """Takes a carried value to be its initial form with another base; descriptors to be what they are."""
    initial, argument = pair
    form = analysis.forms.get(initial)
    analysis.forget([argument])
    if position in guess.refused or form is None:
        return None
    if isinstance(form, Described):
        analysis.forms[argument] = form
        return None
    if not isinstance(form, (Linear, Pointers)):
        return None
    analysis.scalars.at = op
    base = base_of(analysis, form)
    factor = guess.factors.setdefault(position, base.range.factor)
    known = full(base.width, factor) if base.width else Range(0, 0)
    inside, body, after = (Scalar(base.type, known, op=JOIN) for _ in range(3))
    analysis.forms[argument] = _with_base(analysis.based(form), inside)
    return Join(op, (base, base), after, inside, body if op.name == "scf.while" else None)


def base_of(analysis: Analysis, form: Linear | Pointers) -> Scalar:
    """The one scalar that a carried tensor is kept in."""
    if isinstance(form, Linear):
        return form.base
    return analysis.scalars.moved(form.pointer, form.offset.base)


def _with_base(form: Form, base: Scalar) -> Form:
    if isinstance(form, Linear):
        return replace(form, base=base)
    assert isinstance(form, Pointers)
    return replace(form, pointer=base)


def _holds(
    analysis: Analysis, body: Block, arguments: Sequence[SSAValue], joins: dict[int, Join], guess: _Guess
) -> bool:
    """Whether the body yields what was guessed; else the guess is changed."""
    held, last = True, body.last_op
    assert last is not None
    analysis.scalars.at = last
    for position, (value, argument) in enumerate(zip(last.operands, arguments, strict=True)):
        if argument in analysis.forms:
            held &= _holds_one(analysis, joins.get(position), position, argument, value, guess)
    return held


def _holds_one(
    analysis: Analysis, join: Join | None, position: int, argument: SSAValue, value: SSAValue, guess: _Guess
) -> bool:
    have, got = analysis.forms[argument], analysis.forms.get(value)
    if join is None:
        if got != have:
            guess.refused.add(position)
        return got == have
    if not _alike(analysis.scalars, have, got):
        guess.refused.add(position)
        return False
    assert isinstance(got, (Linear, Pointers))
    base = base_of(analysis, got)
    join.incoming = join.incoming[0], base
    if base.width and base.range.factor < guess.factors[position]:
        guess.factors[position] = base.range.factor
        return False
    return True


def _alike(scalars: Scalars, have: Form, got: Form | None) -> bool:
    """Whether only the base differs."""
    a, b = (form.offset if isinstance(form, Pointers) else form for form in (have, got))
    if type(have) is not type(got) or not isinstance(a, Linear) or not isinstance(b, Linear):
        return False
    if isinstance(have, Pointers) and isinstance(got, Pointers) and have.pointer.type != got.pointer.type:
        return False
    same_wraps = all(_same_wrap(scalars, mine, theirs) for mine, theirs in zip(a.wraps, b.wraps, strict=True))
    return same_wraps and all(map(scalars.same, a.strides, b.strides))


# --- loops with a condition -----------------------------------------------------------------------------------------


def _while(analysis: Analysis, op: Operation) -> None:
    """What the condition hands on as it came in is followed; nothing else that it hands on is."""
    before, body = (region.blocks[0] for region in op.regions)
    condition, guess = before.last_op, _Guess(set(), {})
    assert condition is not None
    handed_on = [
        value.index if isinstance(value, BlockArgument) and value.block is before else None
        for value in condition.operands[1:]
    ]
    while True:
        joins = _carried_in(analysis, op, op.operands, before.args, guess)
        analysis.block(before)
        _hand_on(analysis, before, body.args, handed_on, {at: join.body for at, join in joins.items()})
        analysis.block(body)
        if _holds(analysis, body, before.args, joins, guess):
            break
    _hand_on(analysis, before, op.results, handed_on, {at: join.result for at, join in joins.items()})
    analysis.joins[op] = list(joins.values())


def _hand_on(
    analysis: Analysis,
    before: Block,
    receivers: Sequence[SSAValue],
    handed_on: Sequence[int | None],
    bases: Mapping[int, Scalar | None],
) -> None:
    """Gives each receiver the form of the argument of the first region that it is, with its own base."""
    for receiver, position in zip(receivers, handed_on, strict=True):
        form = None if position is None else analysis.forms.get(before.args[position])
        analysis.forget([receiver])
        base = None if position is None else bases.get(position)
        if form is not None:
            analysis.forms[receiver] = form if base is None else _with_base(form, base)


CONTROL: dict[str, Callable[[Analysis, Operation], None]] = {
    "scf.if": _branch,
    "scf.for": _loop,
    "scf.while": _while,
}
