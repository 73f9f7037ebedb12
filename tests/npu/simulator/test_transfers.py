"""Descriptors, gather and scatter lists, atomics; and what goes wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from machine_kit import Assembly, Buffers, launched

from harness.errors import IllegalAccess, OutOfBounds, ScratchpadFault, UsageError
from harness.executor.api import DescriptorArgument
from harness.ir.enums import ATOMIC_OPERATION, MEMORY_SCOPE, MEMORY_SEMANTIC

COPIES = ["earliest", "latest"]
bounds = st.one_of(st.none(), st.integers(-3, 20))


@examples(60)
@given(
    lower=st.tuples(bounds, bounds), upper=st.tuples(bounds, bounds),
    wraps=st.tuples(*[st.one_of(st.none(), st.tuples(st.integers(0, 12), st.integers(1, 14)))] * 2),
    per_program=st.booleans(), lane=st.sampled_from([None, 0, 1]), other=st.booleans(),
    mask=st.sampled_from([None, (8, 16), (1, 16)]), copies=st.sampled_from(COPIES),
)  # fmt: skip
def test_loads_through_a_descriptor(lower, upper, wraps, per_program, lane, other, mask, copies):
    """Element (i, j) is at 40 * wrapped(i) + wrapped(j); what is outside the bounds or masked is `other`."""
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    pid = code.scalar("arith.extsi", (code.program_id(),), "i64")
    shift = pid if per_program else code.constant(0, "i64")

    def bound(value):
        return code.scalar("arith.addi", (code.constant(value, "i64"), shift), "i64")

    tile = code.tile("i32", (8, 16), lane)
    strides = [code.constant(40, "i64"), code.constant(1, "i64")]
    lists = [[bound(one) for one in side if one is not None] for side in (lower, upper)]
    starts = [bound(one[0]) for one in wraps if one is not None]
    sizes = [code.constant(one[1], "i64") for one in wraps if one is not None]
    axes = [sum(1 << axis for axis, one in enumerate(side) if one is not None) for side in (lower, upper, wraps)]
    bits = None
    if mask is not None:
        numbers = code.tile("i32", mask, None)
        bits = code.tile("i1", mask, None)
        code.emit("iota", [numbers], [], 0, 1)
        code.vector("arith.remsi", numbers, (numbers, code.constant(3, "i32")))
        code.vector("arith.cmpi", bits, (numbers, code.constant(0, "i32")), predicate="eq")
    fill = code.constant(-7, "i32") if other else None
    code.emit("dma_load", [tile], [x, *strides, *lists[0], *lists[1], *starts, *sizes, bits, fill], 1, *axes, 0)
    code.emit("wait", [], [], 1)
    code.store(tile, code.moved(out, code.scalar("arith.muli", (pid, code.constant(128, "i64")), "i64"), 4), [16, 1])
    code.emit("halt")
    data, result = np.arange(40 * 24, dtype=np.int32), np.zeros((3, 8, 16), np.int32)
    launched(code, (3, 1, 1), Buffers(x=data, out=result), copies=copies)
    for program in range(3):
        np.testing.assert_array_equal(
            result[program], expected(data, lower, upper, wraps, mask, other, program * per_program)
        )


def expected(data, lower, upper, wraps, mask, other, shift):
    index = list(np.indices((8, 16)))
    inside = np.ones((8, 16), bool)
    for axis in range(2):
        if lower[axis] is not None:
            inside &= index[axis] >= lower[axis] + shift
        if upper[axis] is not None:
            inside &= index[axis] < upper[axis] + shift
    if mask is not None:
        inside &= index[1] % 3 == 0
    for axis, wrap in enumerate(wraps):
        if wrap is not None:
            index[axis] = (wrap[0] + shift + index[axis]) % wrap[1]
    return np.where(inside, data[40 * index[0] + index[1]], -7 if other else 0)


@pytest.mark.parametrize("copies", COPIES)
def test_stores_through_a_descriptor_leave_the_rest_alone(copies):
    code = Assembly("ptr")
    tile, bits = code.tile("i32", (4, 8)), code.tile("i1", (4, 8))
    code.emit("iota", [tile], [], 1, 1)
    code.vector("arith.cmpi", bits, (tile, code.constant(3, "i32")), predicate="ne")
    one, two = code.constant(1, "i64"), code.constant(2, "i64")
    code.emit("dma_store", [], [tile, code.argument(0), code.constant(10, "i64"), one, one, two, bits], 0, 2, 1, 0)
    code.emit("halt")  # which waits
    out = np.zeros((4, 10), np.int32)
    launched(code, (1, 1, 1), Buffers(out=out), copies=copies)
    want = np.zeros((4, 10), np.int32)
    want[:2, 1:8] = np.where(np.arange(1, 8) + 1 == 3, 0, np.arange(1, 8) + 1)
    np.testing.assert_array_equal(out, want)


def gather_of(pick: bool) -> Assembly:
    """out[i] = x[15 - i]; with `pick`, y[15 - i] where i is odd, through a list of pointers into two buffers."""
    code = Assembly("ptr", "ptr", "ptr")
    x, y, out = (code.argument(index) for index in range(3))
    index, list_ = code.tile("i32", (16,)), code.tile("ptr", (16,))
    code.emit("iota", [index], [], -15, 0)
    code.vector("arith.muli", index, (index, code.constant(-1, "i32")))
    code.vector("tt.addptr", list_, (x, index), size=4)
    if pick:
        others, odd, rest = code.tile("ptr", (16,)), code.tile("i1", (16,)), code.tile("i32", (16,))
        code.vector("tt.addptr", others, (y, index), size=4)
        code.vector("arith.andi", rest, (index, code.constant(1, "i32")))
        code.vector("arith.cmpi", odd, (rest, code.constant(0, "i32")), predicate="eq")
        code.vector("arith.select", list_, (odd, others, list_))
    tile = code.tile("i32", (16,))
    code.emit("dma_gather", [tile], [list_, None, None], 0, 0)
    code.emit("wait", [], [], 0)
    code.store(tile, out, [1])
    code.emit("halt")
    return code


@pytest.mark.parametrize("pick", [False, True])
def test_gathers_reach_several_buffers(pick):
    x, y, out = np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32) + 100, np.zeros(16, np.int32)
    result = launched(gather_of(pick), (1, 1, 1), Buffers(x=x, y=y, out=out))
    back = np.arange(16)[::-1]
    np.testing.assert_array_equal(out, np.where(pick & (back % 2 == 0), y[back], x[back]))
    assert result.loads == ({"x", "y"} if pick else {"x"})


def test_scatters_write_where_their_mask_says():
    code = Assembly("ptr")
    index, list_, bits = code.tile("i32", (16,)), code.tile("ptr", (16,)), code.tile("i1", (16,))
    code.emit("iota", [index], [], 0, 0)
    code.vector("arith.cmpi", bits, (index, code.constant(5, "i32")), predicate="slt")
    wide = code.tile("i32", (16,))
    code.vector("arith.muli", wide, (index, code.constant(3, "i32")))
    code.vector("tt.addptr", list_, (code.argument(0), wide), size=4)
    code.emit("dma_scatter", [], [list_, index, bits], 0)
    code.emit("halt")
    out = np.full(15, -1, np.int32)
    launched(code, (1, 1, 1), Buffers(out=out))
    assert out.tolist() == [0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1]


def test_a_pointer_that_leaves_its_buffer_traps_even_where_another_lies():
    code = Assembly("ptr", "ptr")
    x, _ = code.argument(0), code.argument(1)
    value = code.register("i32")
    code.emit("scalar_load", [value], [code.moved(x, code.constant(2 * 4096 // 4, "i32"), 4), None, None], 0)
    code.emit("halt")
    with pytest.raises(OutOfBounds, match="element 2048 of buffer 'x', which has 16 elements"):
        launched(code, (1, 1, 1), Buffers(x=np.zeros(16, np.int32), y=np.zeros(16, np.int32)))


@pytest.mark.parametrize("detour", [False, True])
def test_a_pointer_from_memory_is_looked_up_by_address(detour):
    """A table of pointers, stored by the program or made from an integer by the host."""
    buffers = Buffers(table=np.zeros(1, np.int64), x=np.arange(8, dtype=np.int32), out=np.zeros(1, np.int32))
    table = buffers.allocations["table"].bytes.view(np.int64)
    table[0] = buffers.allocations["x"].address + 12
    code = Assembly("ptr", "ptr", "ptr")
    where, x, out = (code.argument(index) for index in range(3))
    if detour:
        moved = code.moved(x, code.constant(5, "i32"), 4)
        code.emit("scalar_store", [], [where, moved, None])
    pointer, value = code.register("ptr"), code.register("i32")
    code.emit("scalar_load", [pointer], [where, None, None], 0)
    code.emit("scalar_load", [value], [pointer, None, None], 0)
    code.emit("scalar_store", [], [out, value, None])
    code.emit("halt")
    launched(code, (1, 1, 1), buffers)
    assert buffers.allocations["out"].bytes.view(np.int32)[0] == (5 if detour else 3)
    table[0] = 64
    if not detour:
        with pytest.raises(IllegalAccess, match="0x40"):
            launched(code, (1, 1, 1), buffers)


def test_a_descriptor_argument_is_its_base_and_its_padding():
    code = Assembly("ptr", "ptr")
    out, base, nan = code.argument(0), code.register("ptr"), code.register("i1")
    code.emit("argument", [base], [], 1, 0)
    code.emit("argument", [nan], [], 1, 1)
    other = code.scalar("arith.select", (nan, code.constant(np.nan, "f32"), code.constant(0, "f32")), "f32")
    tile = code.tile("f32", (8,))
    code.emit("dma_load", [tile], [base, code.constant(1, "i64"), code.constant(5, "i64"), None, other], 0, 0, 1, 0, 0)
    code.emit("wait", [], [], 0)
    code.store(tile, out, [1])
    code.emit("halt")
    for padding, want in (("nan", np.nan), ("zero", 0)):
        data, result = np.arange(5, dtype=np.float32), np.zeros(8, np.float32)
        buffers, more = Buffers(out=result), Buffers(x=data)
        launched(code, (1, 1, 1), buffers, DescriptorArgument(more.pointer("x"), (5,), (1,), padding))
        np.testing.assert_array_equal(result, [*range(5), want, want, want])


def test_arguments_that_do_not_fit_are_told():
    with pytest.raises(UsageError, match="takes 3 arguments, 1 were given"):
        launched(gather_of(False), (1, 1, 1), Buffers(x=np.zeros(1, np.int32)))
    with pytest.raises(UsageError, match="argument 2 is a int, the kernel takes ptr"):
        launched(gather_of(False), (1, 1, 1), Buffers(x=np.zeros(1, np.int32), y=np.zeros(1, np.int32)), 3)


# --- transfers under way ---------------------------------------------------------------------------------------------


def without_wait(fault: str) -> Assembly:
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    tile, copy = code.tile("f32", (8,)), code.tile("f32", (8,))
    code.load(tile, x, [1], wait=fault != "load")
    code.emit("copy", [copy], [tile])
    code.store(copy, out, [1], tag=1, wait=fault != "store")
    code.vector("arith.negf", copy, (copy,))
    code.emit("halt")
    return code


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize(("fault", "line"), [("load", 4), ("store", 7)])
def test_touching_a_tile_of_a_transfer_that_nobody_waited_for_traps(fault, line, copies):
    data = np.ones(8, np.float32)
    launched(without_wait(""), (2, 1, 1), Buffers(x=data, out=np.zeros(8, np.float32)), copies=copies)
    with pytest.raises(ScratchpadFault, match=f"kernel.py:{line}:1: program .0, 0, 0. touches .* nobody waited for"):
        launched(without_wait(fault), (2, 1, 1), Buffers(x=data, out=np.zeros(8, np.float32)), copies=copies)


def test_a_load_that_does_not_wait_for_a_store_depends_on_the_time_of_the_copies():
    """The scratchpads are fine; DRAM is where the race is, and the two times tell it."""
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    tile, again = code.tile("i32", (8,)), code.tile("i32", (8,))
    code.emit("iota", [tile], [], 1, 0)
    code.store(tile, x, [1], tag=0, wait=False)
    code.load(again, x, [1], tag=1)
    code.emit("wait", [], [], 0)
    code.store(again, out, [1], tag=2)
    code.emit("halt")
    results = []
    for copies in COPIES:
        out_ = np.zeros(8, np.int32)
        launched(code, (1, 1, 1), Buffers(x=np.zeros(8, np.int32), out=out_), copies=copies)
        results.append(out_.tolist())
    assert results == [list(range(1, 9)), [0] * 8]


def test_a_descriptor_is_taken_along_when_its_transfer_starts():
    """The register that held the base is written again before the wait."""
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    tile = code.tile("i32", (8,))
    code.load(tile, x, [1], wait=False)
    code.emit("scalar", [x], [x, code.constant(1000, "i32")], code.function("tt.addptr", ("ptr", "i32"), "ptr", size=4))
    code.emit("wait", [], [], 0)
    code.store(tile, out, [1])
    code.emit("halt")
    out_ = np.zeros(8, np.int32)
    launched(code, (1, 1, 1), Buffers(x=np.arange(8, dtype=np.int32), out=out_), copies="latest")
    assert out_.tolist() == list(range(8))


# --- atomics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [False, True])
def test_atomics_on_tiles_and_registers_happen_in_order(wanted):
    code = Assembly("ptr", "ptr", "ptr")
    counts, old_out, total = (code.argument(index) for index in range(3))
    kind, order, scope = ATOMIC_OPERATION.values["add"], MEMORY_SEMANTIC.values["relaxed"], MEMORY_SCOPE.values["gpu"]
    index, list_, ones, old = (code.tile(element, (16,)) for element in ("i32", "ptr", "i32", "i32"))
    code.emit("iota", [index], [], 0, 0)
    code.vector("arith.remsi", index, (index, code.constant(4, "i32")))
    code.vector("tt.addptr", list_, (counts, index), size=4)
    code.emit("copy", [ones], [code.constant(1, "i32")])
    code.emit("atomic", [old] if wanted else [], [list_, ones, None], kind, order, scope)
    row = code.scalar("arith.muli", (code.program_id(), code.constant(16, "i32")), "i32")
    if wanted:
        code.store(old, code.moved(old_out, row, 4), [1])
    code.emit("atomic", [], [total, code.program_id(), None], kind, order, scope)
    code.emit("halt")
    counts_, olds, total_ = np.zeros(4, np.int32), np.zeros((3, 16), np.int32), np.zeros(1, np.int32)
    result = launched(code, (3, 1, 1), Buffers(counts=counts_, old=olds, total=total_))
    assert counts_.tolist() == [12] * 4 and total_[0] == 3
    assert {"counts", "total"} <= result.loads & result.stores
    if wanted:
        np.testing.assert_array_equal(olds, np.repeat(np.arange(12).reshape(3, 4), 4, 1))
