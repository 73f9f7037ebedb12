"""Whole small programs: streaming, masks, loops that programs leave at different times, locks."""

from __future__ import annotations

import numpy as np
import pytest
from machine_kit import Assembly, Buffers, launched

from harness.errors import AssertionTrap, Deadlock, OutOfBounds
from harness.ir.enums import ATOMIC_OPERATION, MEMORY_SCOPE, MEMORY_SEMANTIC

COPIES = ["earliest", "latest"]


def streaming_add(upper: bool) -> Assembly:
    """out = x + y in blocks of 16; with `upper`, of the first `n` elements, the fourth argument."""
    code = Assembly("ptr", "ptr", "ptr", *(["i32"] if upper else []))
    x, y, out = (code.argument(index) for index in range(3))
    start = code.scalar("arith.muli", (code.program_id(), code.constant(16, "i32")), "i32")
    tiles = [code.tile("f32", (16,)) for _ in range(3)]
    bounds = []
    if upper:
        left = code.scalar("arith.subi", (code.argument(3), start), "i32")
        bounds = [code.scalar("arith.extsi", (left,), "i64")]
    one = code.constant(1, "i64")
    for tag, (tile, base) in enumerate(((tiles[0], x), (tiles[1], y))):
        here = code.moved(base, start, 4)
        code.emit("dma_load", [tile], [here, one, *bounds, None, None], tag, 0, len(bounds), 0, 0)
    code.emit("wait", [], [], 0)
    code.emit("wait", [], [], 1)
    code.vector("arith.addf", tiles[2], tiles[:2])
    here = code.moved(out, start, 4)
    code.emit("dma_store", [], [tiles[2], here, one, *bounds, None], 2, 0, len(bounds), 0)
    code.emit("halt")
    return code


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("batch", [1, 40, 1 << 18])
def test_a_streaming_add_with_a_partial_last_block(copies, batch):
    x, y = np.arange(1000, dtype=np.float32), np.arange(1000, dtype=np.float32) * 2
    out = np.full(1000, np.nan, np.float32)
    result = launched(
        streaming_add(True), (63, 1, 1), Buffers(x=x, y=y, out=out), 1000, copies=copies, batch_elements=batch
    )
    np.testing.assert_array_equal(out, x + y)
    assert (result.programs, result.loads, result.stores) == (63, {"x", "y"}, {"out"})


def test_threads_give_the_same():
    x, y, out = np.arange(1008, dtype=np.float32), np.ones(1008, np.float32), np.zeros(1008, np.float32)
    result = launched(streaming_add(False), (63, 1, 1), Buffers(x=x, y=y, out=out), threads=2, batch_elements=64)
    np.testing.assert_array_equal(out, x + 1)
    assert (result.loads, result.stores) == ({"x", "y"}, {"out"})


def test_an_access_outside_names_buffer_program_line_and_instruction():
    x, y, out = (np.zeros(1000, np.float32) for _ in range(3))
    with pytest.raises(OutOfBounds, match=r"load of element 1000 of buffer 'x'.*by program \(62, 0, 0\)") as caught:
        launched(streaming_add(False), (63, 1, 1), Buffers(x=x, y=y, out=out))
    assert caught.value.program == (62, 0, 0)
    assert "dma_load" in caught.value.hint and str(caught.value.where).startswith("kernel.py:")


def test_findings_of_full_checks_are_the_executor_s():
    x, y, out = (np.zeros(64, np.float32) for _ in range(3))
    buffers = Buffers(x=x, y=y, out=out)
    buffers.allocations["x"].initialised = np.arange(256) < 100
    result = launched(streaming_add(False), (4, 1, 1), buffers, checks="full")
    assert [finding.kind for finding in result.findings] == ["uninitialised-read"]
    assert result.findings[0].programs == ((1, 0, 0),)
    assert result.writers["out"].reshape(-1, 4)[:, 0].tolist() == [n // 16 for n in range(64)]


def counting(limit: int) -> Assembly:
    """Each program p adds p to a register p + 1 times and to a tile as well, then stores both sums."""
    code = Assembly("ptr", "ptr")
    scalars, tiles = code.argument(0), code.argument(1)
    pid = code.program_id()
    trip, total = code.register("i32"), code.register("i32")
    zero = code.function("arith.addi", ("i32", "i32"), "i32")
    code.emit("scalar", [trip], [code.constant(0, "i32"), code.constant(0, "i32")], zero)
    code.emit("scalar", [total], [code.constant(0, "i32"), code.constant(0, "i32")], zero)
    tile = code.tile("i32", (8,))
    code.emit("copy", [tile], [code.constant(0, "i32")])
    head = code.here
    code.emit("scalar", [total], [total, pid], zero)
    code.emit("vector", [tile], [tile, pid], zero)
    code.emit("scalar", [trip], [trip, code.constant(1, "i32")], zero)
    more = code.scalar("arith.cmpi", (trip, pid), "i1", predicate="sle")
    code.emit("branch", [], [more], head)
    code.emit("scalar_store", [], [code.moved(scalars, pid, 4), total, None])
    row = code.scalar("arith.muli", (pid, code.constant(8, "i32")), "i32")
    code.store(tile, code.moved(tiles, row, 4), [1])
    code.emit("halt")
    return code


def test_programs_leave_a_loop_at_different_times():
    scalars, tiles = np.zeros(20, np.int32), np.zeros((20, 8), np.int32)
    launched(counting(20), (20, 1, 1), Buffers(scalars=scalars, tiles=tiles))
    want = [n * (n + 1) for n in range(20)]
    assert scalars.tolist() == want
    np.testing.assert_array_equal(tiles, np.repeat(np.array(want)[:, None], 8, 1))


def test_the_watchdog_ends_a_loop():
    with pytest.raises(Deadlock, match="a loop ran more than 5 iterations"):
        launched(
            counting(20), (20, 1, 1), Buffers(scalars=np.zeros(20, np.int32), tiles=np.zeros((20, 8), np.int32)),
            max_steps=5,
        )  # fmt: skip


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("divisor", [2, 3])
def test_programs_that_take_either_way_meet_again(copies, divisor):
    """Programs divisible by `divisor` double, the others negate; a transfer is under way meanwhile."""
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    pid = code.program_id()
    start = code.scalar("arith.muli", (pid, code.constant(8, "i32")), "i32")
    tile, kept = code.tile("f32", (8,)), code.tile("f32", (8,))
    code.load(kept, code.moved(x, start, 4), [1], tag=1)
    code.load(tile, code.moved(x, start, 4), [1], wait=False)
    rest = code.scalar("arith.remsi", (pid, code.constant(divisor, "i32")), "i32")
    odd = code.scalar("arith.cmpi", (rest, code.constant(0, "i32")), "i1", predicate="ne")
    branch = code.emit("branch", [], [odd], 0)
    code.vector("arith.addf", kept, (kept, kept))
    jump = code.emit("jump", [], [], 0)
    code.aim(branch, code.here)
    code.vector("arith.negf", kept, (kept,))
    code.aim(jump, code.here)
    code.emit("wait", [], [], 0)
    code.vector("arith.addf", kept, (kept, tile))
    code.store(kept, code.moved(out, start, 4), [1])
    code.emit("halt")
    data, out_ = np.arange(88, dtype=np.float32), np.zeros(88, np.float32)
    launched(code, (11, 1, 1), Buffers(x=data, out=out_), copies=copies)
    even = (np.arange(88) // 8) % divisor == 0
    np.testing.assert_array_equal(out_, np.where(even, 3 * data, 0))


# --- programs that wait ---------------------------------------------------------------------------------------------


def locked(release: int) -> Assembly:
    """Each program takes a lock by compare-and-swap, adds one to a counter that it loads and stores, and writes
    `release` to the lock."""
    code = Assembly("ptr", "ptr")
    lock, counter = code.argument(0), code.argument(1)
    gpu, order = MEMORY_SCOPE.values["gpu"], MEMORY_SEMANTIC.values["acq_rel"]
    old = code.register("i32")
    head = code.emit("compare_and_swap", [old], [lock, code.constant(0, "i32"), code.constant(1, "i32")], order, gpu)
    busy = code.scalar("arith.cmpi", (old, code.constant(0, "i32")), "i1", predicate="ne")
    code.emit("branch", [], [busy], head)
    value = code.register("i32")
    code.emit("scalar_load", [value], [counter, None, None], 0)
    more = code.scalar("arith.addi", (value, code.constant(1, "i32")), "i32")
    code.emit("scalar_store", [], [counter, more, None])
    kind = ATOMIC_OPERATION.values["exch"]
    code.emit("atomic", [], [lock, code.constant(release, "i32"), None], kind, order, gpu)
    code.emit("halt")
    return code


def test_a_lock_lets_one_program_in_at_a_time():
    lock, counter = np.zeros(1, np.int32), np.zeros(1, np.int32)
    result = launched(locked(0), (17, 1, 1), Buffers(lock=lock, counter=counter), checks="full")
    assert (int(counter[0]), int(lock[0]), result.findings) == (17, 0, [])


def test_a_lock_that_nobody_frees_is_a_deadlock():
    with pytest.raises(Deadlock, match="2 programs wait for one another") as caught:
        launched(locked(1), (3, 1, 1), Buffers(lock=np.zeros(1, np.int32), counter=np.zeros(1, np.int32)))
    assert caught.value.program in [(1, 0, 0), (2, 0, 0)] and "instruction 4: branch" in caught.value.hint


def test_a_program_waits_for_a_flag_that_a_later_one_sets():
    code = Assembly("ptr")
    flag = code.argument(0)
    pid = code.program_id()
    last = code.scalar("arith.cmpi", (pid, code.constant(3, "i32")), "i1", predicate="eq")
    code.emit("scalar_store", [], [flag, code.constant(1, "i32"), last])
    seen = code.register("i32")
    head = code.emit("scalar_load", [seen], [flag, None, None], 1)
    off = code.scalar("arith.cmpi", (seen, code.constant(0, "i32")), "i1", predicate="eq")
    code.emit("branch", [], [off], head)
    code.emit("halt")
    result = launched(code, (4, 1, 1), Buffers(flag=np.zeros(1, np.int32)))
    assert result.programs == 4


# --- output ----------------------------------------------------------------------------------------------------------


def test_prints_are_those_of_device_print():
    code = Assembly("ptr")
    tile = code.tile("i8", (2,))
    code.emit("iota", [tile], [], -1, 0)
    pid = code.program_id()
    code.emit("print", [], [pid, tile], code.text(" value: "), 0, 0b10)
    code.emit("print", [], [pid], code.text(" bits: "), 1, 0)
    code.emit("print", [], [], code.text(" hello"), 0, 0)
    code.emit("halt")
    result = launched(code, (2, 1, 1), Buffers(x=np.zeros(1, np.int32)))
    assert result.output == [
        "pid (0, 0, 0) idx () value: 0",
        "pid (0, 0, 0) idx (0,) value: 255",
        "pid (0, 0, 0) idx (1,) value: 0",
        "pid (1, 0, 0) idx () value: 1",
        "pid (1, 0, 0) idx (0,) value: 255",
        "pid (1, 0, 0) idx (1,) value: 0",
        "pid (0, 0, 0) idx () bits: 0x00000000",
        "pid (1, 0, 0) idx () bits: 0x00000001",
        "pid (0, 0, 0) hello",
        "pid (1, 0, 0) hello",
    ]


def test_an_assertion_names_the_first_program_it_fails_in():
    code = Assembly("ptr")
    fine = code.scalar("arith.cmpi", (code.program_id(1), code.constant(2, "i32")), "i1", predicate="slt")
    code.emit("assert", [], [fine], code.text("too far"))
    code.emit("halt")
    with pytest.raises(AssertionTrap, match=r"kernel.py:3:1: device_assert failed in program \(0, 2, 0\): too far"):
        launched(code, (3, 4, 1), Buffers(x=np.zeros(1, np.int32)))


def test_an_observer_sees_every_tile_that_is_written():
    seen = []
    x, y, out = np.arange(48, dtype=np.float32), np.ones(48, np.float32), np.zeros(48, np.float32)
    for copies in COPIES:
        seen.clear()
        launched(
            streaming_add(False), (3, 1, 1), Buffers(x=x, y=y, out=out), copies=copies,
            observer=lambda pc, programs, values: seen.append((pc, programs.tolist(), [one.copy() for one in values])),
        )  # fmt: skip
        assert [programs for _, programs, _ in seen] == [[0, 1, 2]] * 3
        np.testing.assert_array_equal(seen[0][2][0], x.reshape(3, 16))
        np.testing.assert_array_equal(seen[2][2][0], (x + y).reshape(3, 16))
