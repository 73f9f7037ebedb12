"""Tensors that go round loops and out of branches: the scalars that they are made of do so in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

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
    result    its value after the op
    """

    op: Operation
    incoming: tuple[Scalar, Scalar]
    result: Scalar
    argument: Scalar | None = None


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
    guess = _Guess(set(), {})
    while True:
        joins = {
            position: join
            for position in range(len(op.results))
            if (join := _carried(analysis, op, position, guess)) is not None
        }
        analysis.block(body)
        if _holds(analysis, op, joins, guess):
            break
    for position, result in enumerate(op.results):
        analysis.forget([result])
        form = analysis.forms.get(body.args[position + 1])
        if position in joins and form is not None:
            analysis.forms[result] = _with_base(form, joins[position].result)
        elif form is not None:
            analysis.forms[result] = form
    analysis.joins[op] = list(joins.values())


def _carried(analysis: Analysis, op: Operation, position: int, guess: _Guess) -> Join | None:
    """Takes a carried value to be its initial form with another base; descriptors to be what they are."""
    initial, argument = op.operands[position + 3], op.regions[0].blocks[0].args[position + 1]
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
    inside, after = (Scalar(base.type, known, op=JOIN) for _ in range(2))
    analysis.forms[argument] = _with_base(analysis.based(form), inside)
    return Join(op, (base, base), after, inside)


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


def _holds(analysis: Analysis, op: Operation, joins: dict[int, Join], guess: _Guess) -> bool:
    """Whether the body yields what was guessed; else the guess is changed."""
    body, held = op.regions[0].blocks[0], True
    last = body.last_op
    assert last is not None
    analysis.scalars.at = last
    for position, value in enumerate(last.operands):
        argument = body.args[position + 1]
        if argument not in analysis.forms:
            continue
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


def _any_loop(analysis: Analysis, op: Operation) -> None:
    """A loop whose carried values are not followed."""
    for region in op.regions:
        for block in region.blocks:
            analysis.forget(block.args)
            analysis.block(block)
    analysis.forget(op.results)


CONTROL: dict[str, Callable[[Analysis, Operation], None]] = {
    "scf.if": _branch,
    "scf.for": _loop,
    "scf.while": _any_loop,
}
