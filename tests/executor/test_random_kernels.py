"""Differential tests: random kernels, run every way, against NumPy on whole grids."""

from __future__ import annotations

import numpy as np
from examples import examples
from executor_kit import everywhere, module, pointers
from hypothesis import given
from hypothesis import strategies as st
from random_kernels import SHAPES, WRAP, Program, Value, condition, expression


def place(program: Program, shape: tuple[int, ...]) -> Value:
    """The row-major number of every lane of every program: where a result that nobody else writes goes."""
    size = int(np.prod(shape))
    pid = program.splat(program.program_id(), shape)
    total = program.binary("arith.muli", pid, program.constant(size, "i32", shape))
    stride = size
    for axis, extent in enumerate(shape):
        stride //= extent
        along = program.binary("arith.muli", program.indices(shape, axis), program.constant(stride, "i32", shape))
        total = program.binary("arith.addi", total, along)
    return total


def test_numbers_that_overflow_64_bits() -> None:
    """A difference of i64 can be past i64, and so can a stride before it wraps."""
    program = Program(2)
    least = -(1 << 63)
    wide = program.resized(program.indices((8,), 0), "arith.extsi", "i64")
    extreme = program.constant(least, "i64", (8,))
    compared = [program.compared(name, wide, extreme) for name in ("slt", "sle", "sgt", "sge")]
    compared += [program.compared(name, extreme, wide) for name in ("slt", "sge")]
    value = program.binary("arith.muli", wide, program.constant(-7046029254386353131, "i64", (8,)))
    value = program.binary("arith.addi", value, program.binary("arith.muli", wide, extreme))
    for flags in compared:
        value = program.binary("arith.addi", value, value)
        value = program.binary("arith.addi", value, program.resized(flags, "arith.extui", "i64"))
    out = np.zeros(16, np.int64)
    want = out.copy()
    program.store("%x", want, place(program, (8,)), value, None)
    (got,) = everywhere(module("\n".join(program.lines), *pointers(out)), [out], (2,))
    assert np.array_equal(got, want)


@examples(60)
@given(data=st.data())
def test_integer_arithmetic(data: st.DataObject) -> None:
    """Whatever form the executor keeps a tensor in, its values are those of the op."""
    shape, kind = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(["i32", "i32", "i64", "i16", "i8"]))
    program = Program(data.draw(st.integers(1, 7)))
    value = data.draw(st.composite(lambda draw: expression(draw, program, shape, kind, 3))())
    out = np.zeros(program.programs * int(np.prod(shape)), WRAP[kind])
    want = out.copy()
    program.store("%x", want, place(program, shape), value, None)
    (got,) = everywhere(module("\n".join(program.lines), *pointers(out)), [out], (program.programs,))
    assert np.array_equal(got, want), "\n".join(program.lines)


@examples(60)
@given(data=st.data())
def test_masked_loads_and_stores(data: st.DataObject) -> None:
    """Loads through any address expression (wrapped into the buffer) under any mask, with any `other`; stores under
    any mask to any place: lanes of a program may share it where they write the same, programs anyway."""
    shape, kind = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(["i32", "i32", "i64"]))
    program = Program(data.draw(st.integers(1, 7)))
    memory = np.arange(100, 100 + 97, dtype=np.int32)
    out, shared = np.full(7 * 32, -1, np.int32), np.full(211, -1, np.int32)

    @st.composite
    def build(draw: st.DrawFn) -> None:
        def address(size: int) -> Value:
            raw = expression(draw, program, shape, kind, 2)
            least, most = int(raw.data.min()), int(raw.data.max())
            if least >= 0 and most < size:
                return raw
            if most - least < size:  # shifted, so that its form stays affine where it is
                return program.binary("arith.subi", raw, program.constant(least, kind, shape))
            return program.binary("arith.remui", raw, program.constant(size, kind, shape))

        def mask() -> Value | None:
            return condition(draw, program, shape, kind, 2) if draw(st.booleans()) else None

        chosen = mask()
        other = expression(draw, program, shape, "i32", 1) if chosen is not None and draw(st.booleans()) else None
        loaded = program.load("%x", memory, address(memory.size), chosen, other)
        program.store("%y", want, place(program, shape), loaded, mask())
        number = program.splat(program.program_id(), shape)
        program.store("%z", shared, address(shared.size), number, mask())

    want, untouched = out.copy(), shared.copy()
    data.draw(build())
    text = module("\n".join(program.lines), *pointers(memory, out, shared))
    _, got, got_shared = everywhere(text, [memory, out, untouched], (program.programs,), races=True)
    assert np.array_equal(got, want), text
    assert np.array_equal(got_shared, shared), text
