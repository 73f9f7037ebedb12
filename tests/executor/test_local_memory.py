"""Shared memory and what happens in it asynchronously: views, copies early and late, barriers, races."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_kit import STORE, TILE, TILES, launched, races

from harness.errors import Deadlock, UnsupportedOp
from harness.executor.local import LocalBuffer, LocalView, contiguous_strides, reshaped

# --- views ------------------------------------------------------------------------------------------------------


def test_a_view_of_older_releases_drops_the_axes_in_front() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILES}
    %a = tt.load %xs : tensor<4x!tt.ptr<f32>>
    %t = ttg.memdesc_subview %b[%one, %zero] : {TILES} -> {TILE}
    ttg.local_store %a, %t : tensor<4xf32> -> {TILE}
    %same = ttg.memdesc_index %b[%one] : {TILES} -> {TILE}
    %v = ttg.local_load %same : {TILE} -> tensor<4xf32>
{STORE}"""
    x, y = launched(body).arrays
    assert y.tolist() == x.tolist()


def test_a_tile_is_stored_and_loaded_through_an_index() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILES}
    %t = ttg.memdesc_index %b[%one] : {TILES} -> {TILE}
    %a = tt.load %xs : tensor<4x!tt.ptr<f32>>
    ttg.local_store %a, %t : tensor<4xf32> -> {TILE}
    %v = ttg.local_load %t : {TILE} -> tensor<4xf32>
{STORE}"""
    outcome = launched(body)
    assert outcome.arrays[1].tolist() == outcome.arrays[0].tolist()


def test_programs_may_look_at_different_tiles() -> None:
    """Program 0 reads tile 0, program 1 tile 1: 10 and 20."""
    body = f"""    %b = ttg.local_alloc : () -> {TILES}
    %t0 = ttg.memdesc_index %b[%zero] : {TILES} -> {TILE}
    %t1 = ttg.memdesc_index %b[%one] : {TILES} -> {TILE}
    %ten = arith.constant dense<1.000000e+01> : tensor<4xf32>
    %twenty = arith.constant dense<2.000000e+01> : tensor<4xf32>
    ttg.local_store %ten, %t0 : tensor<4xf32> -> {TILE}
    ttg.local_store %twenty, %t1 : tensor<4xf32> -> {TILE}
    %t = ttg.memdesc_index %b[%pid] : {TILES} -> {TILE}
    %v = ttg.local_load %t : {TILE} -> tensor<4xf32>
{STORE}"""
    assert launched(body, programs=2).arrays[1].tolist() == [10.0] * 4 + [20.0] * 4


def test_a_store_under_a_condition_reaches_only_its_programs() -> None:
    body = f"""    %b = ttg.local_alloc %twos : (tensor<4xf32>) -> {TILE}
    %odd = arith.cmpi eq, %pid, %one : i32
    scf.if %odd {{
      %a = tt.load %xs : tensor<4x!tt.ptr<f32>>
      ttg.local_store %a, %b : tensor<4xf32> -> {TILE}
    }}
    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>
{STORE}"""
    assert launched(body).arrays[1].tolist() == [2.0] * 4 + [5.0, 6.0, 7.0, 8.0] + [2.0] * 4


@given(st.permutations([0, 1, 2]), st.integers(0, 3))
def test_views_are_numpy_views(order: list[int], start: int) -> None:
    """A slice, then a transposition: what the view reads is what NumPy reads, and writes go to the buffer."""
    shape = (4, 6, 8)
    buffer = LocalBuffer(2, 192, np.dtype(np.int32), None)
    view = LocalView(buffer, shape, contiguous_strides(shape), np.zeros(1, np.int64))
    whole = np.arange(384, dtype=np.int32).reshape(2, *shape)
    view.write(slice(None), whole)
    part = view.moved((2, 3, 5), view.strides, start)
    moved = part.moved(tuple(part.shape[axis] for axis in order), tuple(part.strides[axis] for axis in order))
    want = whole[:, :2, :3, start : start + 5].transpose(0, *(axis + 1 for axis in order))
    assert np.array_equal(moved.read(slice(None)), want)
    assert np.array_equal(moved.read(np.array([1])), want[1:])
    moved.write(slice(None), -want)
    whole[:, :2, :3, start : start + 5] *= -1
    assert np.array_equal(view.read(slice(None)), whole)


@pytest.mark.parametrize("shape", [(192,), (2, 2, 48), (24, 8), (1, 4, 6, 8, 1)])
def test_a_reshaped_view_keeps_row_major_order(shape: tuple[int, ...]) -> None:
    view = LocalView(LocalBuffer(1, 192, np.dtype(np.int32), None), (4, 6, 8), (48, 8, 1), np.zeros(1, np.int64))
    view.write(slice(None), np.arange(192).reshape(1, 4, 6, 8))
    assert np.array_equal(reshaped(view, shape).read(slice(None)), np.arange(192).reshape(1, *shape))


def test_a_reshape_that_is_no_view_is_refused() -> None:
    view = LocalView(LocalBuffer(1, 192, np.dtype(np.int32), None), (8, 6, 4), (1, 8, 48), np.zeros(1, np.int64))
    with pytest.raises(UnsupportedOp, match="reshape of a strided view"):
        reshaped(view, (48, 4))


# --- copies -------------------------------------------------------------------------------------------------------

COPY = f"""    %b = ttg.local_alloc : () -> {TILE}
    %c = ttg.async_copy_global_to_local %xs, %b : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
"""
WAIT = "    %w = ttg.async_wait %g {num = 0 : i32}\n"
LOAD = f"    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>\n"
OVERWRITE = "    tt.store %xs, %twos : tensor<4x!tt.ptr<f32>>\n"


@pytest.mark.parametrize("copies", ["earliest", "latest"])
def test_a_copy_that_is_waited_for(copies: str) -> None:
    outcome = launched(COPY + WAIT + LOAD + STORE, copies)
    assert outcome.arrays[1].tolist() == outcome.arrays[0].tolist()
    assert races(outcome.result) == []


@pytest.mark.parametrize(("copies", "want"), [("earliest", 1.0), ("latest", 2.0)])
def test_a_store_to_what_a_copy_still_reads(copies: str, want: float) -> None:
    """The copy may see either; the race is found both ways."""
    outcome = launched(COPY + OVERWRITE + WAIT + LOAD + STORE, copies)
    assert outcome.arrays[1][0] == want
    assert races(outcome.result) == [("x", "stores to buffer 'x' w")]


def test_a_store_elsewhere_is_no_race() -> None:
    outcome = launched(COPY + "    tt.store %ys, %twos : tensor<4x!tt.ptr<f32>>\n" + WAIT + LOAD + STORE)
    assert races(outcome.result) == []


@pytest.mark.parametrize(("copies", "early"), [("earliest", True), ("latest", False)])
def test_a_read_before_the_wait(copies: str, early: bool) -> None:
    outcome = launched(COPY + LOAD + WAIT + STORE, copies)
    assert bool(outcome.arrays[1][0] == 1.0) is early
    assert races(outcome.result) == [("shared memory", "reads shared memory th")]


def test_a_write_to_what_a_copy_still_writes() -> None:
    write = f"    ttg.local_store %twos, %b : tensor<4xf32> -> {TILE}\n"
    assert races(launched(COPY + write + WAIT + LOAD + STORE).result) == [("shared memory", "writes shared memory t")]


def test_a_wait_leaves_the_newest_groups() -> None:
    """Two copies into two tiles; waiting for all but one completes the first only."""
    second = f"""    %d = ttg.local_alloc : () -> {TILE}
    %e = ttg.async_copy_global_to_local %xs, %d : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %h = ttg.async_commit_group tokens %e
    %w = ttg.async_wait %h {{num = 1 : i32}}
"""
    assert races(launched(COPY + second + LOAD + STORE).result) == []
    other = f"    %v = ttg.local_load %d : {TILE} -> tensor<4xf32>\n"
    assert races(launched(COPY + second + other + STORE).result) == [("shared memory", "reads shared memory th")]


def test_another_tile_of_the_same_buffer_is_free() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILES}
    %t0 = ttg.memdesc_index %b[%zero] : {TILES} -> {TILE}
    %t1 = ttg.memdesc_index %b[%one] : {TILES} -> {TILE}
    ttg.local_store %twos, %t0 : tensor<4xf32> -> {TILE}
    %c = ttg.async_copy_global_to_local %xs, %t1 : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
    %v = ttg.local_load %t0 : {TILE} -> tensor<4xf32>
{STORE}"""
    assert races(launched(body).result) == []


@pytest.mark.parametrize("copies", ["earliest", "latest"])
def test_a_masked_copy_fills_with_the_other_value(copies: str) -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %m0 = arith.cmpi slt, %lanes, %limit : tensor<4xi32>
    %c = ttg.async_copy_global_to_local %xs, %b mask %m0 other %twos
      : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
{WAIT}{LOAD}{STORE}"""
    limit = "    %limit = arith.constant dense<3> : tensor<4xi32>\n"
    assert launched(limit + body, copies, programs=1).arrays[1].tolist() == [1.0, 2.0, 3.0, 2.0]


def test_each_program_waits_for_its_own_copies() -> None:
    """Only program 1 waits: its copy is complete, those of the others are not."""
    body = f"""{COPY}    %odd = arith.cmpi eq, %pid, %one : i32
    scf.if %odd {{
      %w = ttg.async_wait %g {{num = 0 : i32}}
      %v = ttg.local_load %b : {TILE} -> tensor<4xf32>
      tt.store %ys, %v : tensor<4x!tt.ptr<f32>>
    }}
"""
    outcome = launched(body, "latest")
    assert outcome.arrays[1].tolist() == [0.0] * 4 + [5.0, 6.0, 7.0, 8.0] + [0.0] * 4
    assert races(outcome.result) == []


# --- barriers -----------------------------------------------------------------------------------------------------

BARRIER = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
DESCRIPTOR = """    %eight = arith.constant 64 : i32
    %stride = arith.constant 1 : i64
    %desc = tt.make_tensor_descriptor %x, [%eight], [%stride] : <f32>, <tensor<4xf32>>
    %true = arith.constant true
    %false = arith.constant false
"""


def through_barrier(expected: str = "%true", phase: str = "%zero") -> str:
    return f"""{DESCRIPTOR}    %b = ttg.local_alloc : () -> {TILE}
    %bar = ttg.local_alloc : () -> {BARRIER}
    ttng.init_barrier %bar, 1 : {BARRIER}
    ttng.barrier_expect %bar, 16, {expected} : {BARRIER}
    ttng.async_tma_copy_global_to_local %desc[%first] %b, %bar, {expected}
      : !tt.tensordesc<tensor<4xf32>>, {BARRIER} -> {TILE}
    ttng.wait_barrier %bar, {phase} : {BARRIER}
{LOAD}{STORE}"""


@pytest.mark.parametrize("copies", ["earliest", "latest"])
def test_a_copy_ends_a_phase_of_its_barrier(copies: str) -> None:
    outcome = launched(through_barrier(), copies)
    assert outcome.arrays[1].tolist() == outcome.arrays[0].tolist()
    assert races(outcome.result) == []


def test_the_other_parity_is_the_phase_before() -> None:
    """Which has ended: the wait lets the program through, and it reads what the copy still writes."""
    assert races(launched(through_barrier(phase="%one")).result) == [("shared memory", "reads shared memory th")]


def test_a_phase_that_nothing_ends() -> None:
    with pytest.raises(Deadlock, match="phase of a barrier that nothing ends"):
        launched(through_barrier(expected="%false"))


# --- layouts ------------------------------------------------------------------------------------------------------


def test_a_conversion_of_layout_changes_no_value() -> None:
    blocked = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    body = f"""    %a = tt.load %xs : tensor<4x!tt.ptr<f32>>
    %w = ttg.convert_layout %a : tensor<4xf32> -> tensor<4xf32, {blocked}>
    %v = ttg.convert_layout %w : tensor<4xf32, {blocked}> -> tensor<4xf32>
{STORE}"""
    outcome = launched(body)
    assert outcome.arrays[1].tolist() == outcome.arrays[0].tolist()


def test_other_bytes_in_shared_memory_are_refused_by_name() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %r = ttg.memdesc_reinterpret %b : {TILE} -> !ttg.memdesc<8xf16, #shared, #smem, mutable>
"""
    with pytest.raises(UnsupportedOp, match=r"ttg\.memdesc_reinterpret"):
        launched(body)
