"""What stops a program: the message names buffer, element, program and line; nothing else stops it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from examples import examples
from executor_kit import everywhere, module, plan_of, pointers, run, ttir
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import AssertionTrap, IllegalAccess, Misaligned, OutOfBounds, Trap
from harness.executor import Allocation, ExecutorOptions, Memory, PointerArgument, launch


@triton.jit
def copy_rows(x, y, n, offset, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at + offset, at < n), at < n)


@triton.jit
def product(x, y, z, tiles, BLOCK: tl.constexpr):
    row = tl.program_id(0) // tiles
    column = tl.program_id(0) % tiles
    lanes = tl.arange(0, BLOCK)
    a = tl.load(x + (row * BLOCK + lanes[:, None]) * BLOCK + lanes[None, :])
    b = tl.load(y + lanes[:, None] * (tiles * BLOCK) + column * BLOCK + lanes[None, :])
    tl.store(z + (row * BLOCK + lanes[:, None]) * (tiles * BLOCK) + column * BLOCK + lanes[None, :], tl.dot(a, b))


@triton.jit
def asserts(x, y):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    tl.device_assert(value < 4, "too large")
    tl.store(y + pid, value)


@triton.jit
def through_table(x, y, z, BLOCK: tl.constexpr):
    """Every program reads through its own entry of a table of addresses, every lane through another one."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    where = tl.load(x + pid).to(tl.pointer_type(tl.int32))
    several = tl.load(x + lanes % 2).to(tl.pointer_type(tl.int32))
    tl.store(z + pid * BLOCK + lanes, tl.load(where + lanes) * 100 + tl.load(several + lanes))


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


COPY = {"x": "*i32", "y": "*i32", "n": "i32", "offset": "i32"}


@pytest.mark.parametrize("batch", [1, 40, 1 << 18])
@pytest.mark.parametrize("checks", ["fast", "full"])
@pytest.mark.parametrize(
    ("n", "offset", "verb", "buffer", "element", "program"),
    [(40, 3, "load", "x", 40, 4), (44, 0, "load", "x", 40, 5), (40, -9, "load", "x", -9, 0), (39, 0, None, "", 0, 0)],
)
def test_out_of_bounds(
    n: int, offset: int, verb: str | None, buffer: str, element: int, program: int, batch: int, checks: Any
) -> None:
    plan = plan_of(ttir(copy_rows, COPY, {"BLOCK": 8}))
    options = ExecutorOptions(batch_elements=batch, checks=checks)
    arguments = [np.arange(40, dtype=np.int32), np.zeros(44, np.int32), n, offset]
    if verb is None:
        run(plan, arguments, (6,), options)
        return
    with pytest.raises(OutOfBounds) as caught:
        run(plan, arguments, (6,), options)
    expected = f"{verb} of element {element} of buffer '{buffer}', which has 40 elements, by program ({program}, 0, 0)"
    assert caught.value.what == expected
    assert caught.value.program == (program, 0, 0)
    assert caught.value.where is not None and caught.value.where.line == line_of(copy_rows, "tl.store")
    assert caught.value.where.file.endswith("test_traps.py")


def test_threads_report_the_first_program() -> None:
    plan = plan_of(ttir(copy_rows, COPY, {"BLOCK": 8}))
    arguments = [np.arange(40, dtype=np.int32), np.zeros(4000, np.int32), 4000, 0]
    for threads in (1, 2, 3):
        with pytest.raises(OutOfBounds) as caught:
            run(plan, arguments, (500,), ExecutorOptions(batch_elements=8, threads=threads))
        assert caught.value.program == (5, 0, 0)


@pytest.mark.parametrize(("missing", "program"), [("x", 6), ("y", 2)])
def test_a_tile_that_programs_share_traps_in_the_first_of_them(missing: str, program: int) -> None:
    """4 rows of tiles by 3 columns: rows 2 and 3 of x are not there, or the end of the last column of y."""
    plan = plan_of(ttir(product, {"x": "*fp32", "y": "*fp32", "z": "*fp32", "tiles": "i32"}, {"BLOCK": 16}))
    x = np.ones((2 if missing == "x" else 4) * 256, np.float32)
    y = np.ones(3 * 256 - (missing == "y"), np.float32)
    for batch in (1, 1 << 18):
        with pytest.raises(OutOfBounds, match=f"buffer '{missing}'") as caught:
            run(plan, [x, y, np.zeros(12 * 256, np.float32), 3], (12,), ExecutorOptions(batch_elements=batch))
        assert caught.value.program == (program, 0, 0)


def test_misaligned() -> None:
    text = module(
        """
  %b = tt.bitcast %x : !tt.ptr<i8> -> !tt.ptr<i32>
  %v = tt.load %b : !tt.ptr<i32>
  tt.store %y, %v : !tt.ptr<i32>""",
        "%x: !tt.ptr<i8>",
        "%y: !tt.ptr<i32>",
    )
    x, y = np.arange(16, dtype=np.int8), np.zeros(1, np.int32)
    assert everywhere(text, [(x, 4), y])[1][0] == x[4:8].view(np.int32)[0]
    with pytest.raises(Misaligned, match=r"load of 4 bytes at element 3 of buffer 'x'.*not a multiple of 4"):
        run(plan_of(text), [(x, 3), y], (1,))


def test_assertions() -> None:
    plan = plan_of(ttir(asserts, {"x": "*i32", "y": "*i32"}, debug=True))
    run(plan, [np.array([1, 2, 3], np.int32), np.zeros(3, np.int32)], (3,))
    with pytest.raises(AssertionTrap, match=r"program \(2, 0, 0\): too large") as caught:
        run(plan, [np.array([1, 2, 9, 9], np.int32), np.zeros(4, np.int32)], (4,))
    assert caught.value.where is not None and caught.value.where.line == line_of(asserts, "device_assert")


def table(third: int) -> tuple[Any, list[Any], np.ndarray]:
    memory = Memory()
    data = [np.arange(8, dtype=np.int32) + 10 * (number + 1) for number in range(2)]
    buffers = [memory.add(Allocation(f"data{n}", d.view(np.uint8), 0x5000 + n * 0x1000, 4)) for n, d in enumerate(data)]
    addresses = np.array([0x5000, 0x6000, third], np.int64)
    entry = memory.add(Allocation("table", addresses.view(np.uint8), 0x9000, 8))
    out = np.zeros((3, 4), np.int32)
    result = memory.add(Allocation("out", out.reshape(-1).view(np.uint8), 0xA000, 4))
    return memory, [PointerArgument(entry), PointerArgument(buffers[0]), PointerArgument(result)], out


@pytest.mark.parametrize("batch", [1, 1 << 18])
def test_pointers_from_integers(batch: int) -> None:
    plan = plan_of(ttir(through_table, {"x": "*i64", "y": "*i32", "z": "*i32"}, {"BLOCK": 4}))
    memory, arguments, out = table(0x6000 + 8)
    outcome = launch(plan, (3, 1, 1), arguments, memory, ExecutorOptions(batch_elements=batch))
    lanes = np.arange(4)
    several = np.where(lanes % 2, 20, 10) + lanes
    assert np.array_equal(out, np.array([10 + lanes, 20 + lanes, 22 + lanes]) * 100 + several)
    assert outcome.loads == {"table", "data0", "data1"} and outcome.stores == {"out"}


@pytest.mark.parametrize("batch", [1, 1 << 18])
@pytest.mark.parametrize(("address", "error"), [(0x1234, IllegalAccess), (0, IllegalAccess), (0x6000 + 20, Trap)])
def test_a_pointer_to_nowhere(address: int, error: type[Trap], batch: int) -> None:
    plan = plan_of(ttir(through_table, {"x": "*i64", "y": "*i32", "z": "*i32"}, {"BLOCK": 4}))
    memory, arguments, _ = table(address)
    with pytest.raises(error) as caught:
        launch(plan, (3, 1, 1), arguments, memory, ExecutorOptions(batch_elements=batch))
    assert caught.value.program == (2, 0, 0)


def test_a_pointer_to_nowhere_says_whose_and_what_is_near() -> None:
    plan = plan_of(ttir(through_table, {"x": "*i64", "y": "*i32", "z": "*i32"}, {"BLOCK": 4}))
    memory, arguments, _ = table(0x1234)
    last = max(memory.allocations, key=lambda one: one.address)
    beyond = last.address + last.bytes.size + 16
    for address, nearest in ((beyond, f"16 bytes past the end of buffer {last.name!r}"), (8, "bytes before buffer ")):
        memory, arguments, _ = table(address)
        with pytest.raises(IllegalAccess) as caught:
            launch(plan, (3, 1, 1), arguments, memory, ExecutorOptions())
        assert f"through address {address:#x} (" in caught.value.what and nearest in caught.value.what
        assert "by program (2, 0, 0): it points into no registered buffer" in caught.value.what
        assert caught.value.where is not None and caught.value.where.file == __file__


def test_a_masked_pointer_to_nowhere_touches_nothing() -> None:
    text = module(
        """
  %v = tt.load %x : !tt.ptr<i64>
  %p = tt.int_to_ptr %v : i64 -> !tt.ptr<i32>
  %f = arith.constant false
  %o = arith.constant 7 : i32
  %l = tt.load %p, %f, %o : !tt.ptr<i32>
  tt.store %p, %l, %f : !tt.ptr<i32>
  %a = tt.atomic_rmw add, acq_rel, gpu, %p, %l, %f : (!tt.ptr<i32>, i32, i1) -> i32
  tt.store %y, %l : !tt.ptr<i32>""",
        "%x: !tt.ptr<i64>",
        "%y: !tt.ptr<i32>",
    )
    outcome = run(plan_of(text), [np.array([5], np.int64), np.zeros(1, np.int32)], (2,))
    assert outcome.arrays[1][0] == 7
    assert outcome.result.loads == {"x"} and outcome.result.stores == {"y"}


@examples(40)
@given(data=st.data())
def test_a_trap_is_the_first_lane_outside(data: st.DataObject) -> None:
    """A load of a strided tile under a mask: in or out, and if out, which program and which element."""
    rows, columns, size = 4, 8, 60
    steps = [data.draw(st.integers(-9, 9), label=name) for name in ("program", "row", "column")]
    start = data.draw(st.integers(-4, 50), label="start")
    limit = data.draw(st.integers(0, 9), label="columns that load")
    programs = 3
    body = f"""
  %pid = tt.get_program_id x : i32
  %step = arith.constant {steps[0]} : i32
  %start = arith.constant {start} : i32
  %moved = arith.muli %pid, %step : i32
  %first = arith.addi %moved, %start : i32
  %r = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
  %c = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %rs = arith.constant dense<{steps[1]}> : tensor<4xi32>
  %cs = arith.constant dense<{steps[2]}> : tensor<8xi32>
  %rm = arith.muli %r, %rs : tensor<4xi32>
  %cm = arith.muli %c, %cs : tensor<8xi32>
  %r1 = tt.expand_dims %rm {{axis = 1 : i32}} : tensor<4xi32> -> tensor<4x1xi32>
  %c1 = tt.expand_dims %cm {{axis = 0 : i32}} : tensor<8xi32> -> tensor<1x8xi32>
  %rb = tt.broadcast %r1 : tensor<4x1xi32> -> tensor<4x8xi32>
  %cb = tt.broadcast %c1 : tensor<1x8xi32> -> tensor<4x8xi32>
  %both = arith.addi %rb, %cb : tensor<4x8xi32>
  %fs = tt.splat %first : i32 -> tensor<4x8xi32>
  %at = arith.addi %both, %fs : tensor<4x8xi32>
  %lim = arith.constant dense<{limit}> : tensor<8xi32>
  %m = arith.cmpi slt, %c, %lim : tensor<8xi32>
  %m1 = tt.expand_dims %m {{axis = 0 : i32}} : tensor<8xi1> -> tensor<1x8xi1>
  %mb = tt.broadcast %m1 : tensor<1x8xi1> -> tensor<4x8xi1>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<4x8x!tt.ptr<i32>>
  %xa = tt.addptr %xs, %at : tensor<4x8x!tt.ptr<i32>>, tensor<4x8xi32>
  %v = tt.load %xa, %mb : tensor<4x8x!tt.ptr<i32>>
  %s = "tt.reduce"(%v) <{{axis = 1 : i32}}> ({{
  ^bb0(%a: i32, %b: i32):
    %z = arith.addi %a, %b : i32
    tt.reduce.return %z : i32
  }}) : (tensor<4x8xi32>) -> tensor<4xi32>
  %ys = tt.splat %y : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  %n = arith.constant 4 : i32
  %yf = arith.muli %pid, %n : i32
  %yfs = tt.splat %yf : i32 -> tensor<4xi32>
  %ya = arith.addi %yfs, %r : tensor<4xi32>
  %yp = tt.addptr %ys, %ya : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  tt.store %yp, %s : tensor<4x!tt.ptr<i32>>"""
    x = np.arange(size, dtype=np.int32)
    y = np.zeros((programs, rows), np.int32)
    text = module(body, *pointers(x, y))
    pid, row, column = np.ogrid[:programs, :rows, :columns]
    at = start + pid * steps[0] + row * steps[1] + column * steps[2]
    inside = (column < limit) & np.ones_like(at, np.bool_)
    bad = inside & ((at < 0) | (at >= size))
    if not bad.any():
        want = np.where(inside, x[np.clip(at, 0, size - 1)], 0).sum(axis=2)
        assert np.array_equal(everywhere(text, [x, y], (programs,))[1], want)
        return
    first = np.unravel_index(int(bad.argmax()), bad.shape)
    for batch in (1, 1 << 18):
        with pytest.raises(OutOfBounds, match=rf"element {at[first]} of buffer 'x'") as caught:
            run(plan_of(text), [x, y], (programs,), ExecutorOptions(batch_elements=batch))
        assert caught.value.program == (int(first[0]), 0, 0)
