"""Tensor memory and the products that end there; parts of a program that wait for one another at barriers."""

from __future__ import annotations

import numpy as np
import pytest
from executor_kit import Outcome, module, plan_of, run
from local_kit import HEAD, STORE, TILE, launched, races

from harness.errors import Deadlock
from harness.executor import ExecutorOptions

BOTH = pytest.mark.parametrize("copies", ["earliest", "latest"])

TENSOR = """#wide = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"""
SQUARE = "!ttg.memdesc<2x2xf32, #wide, #smem, mutable>"
RESULT = "!ttg.memdesc<2x2xf32, #tmem, #ttng.tensor_memory, mutable>"
BARRIER = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
# %b holds [[1, 2], [3, 4]], %d is tensor memory, %bar a barrier of one arrival.
SETTING = f"""    %two = arith.constant dense<2> : tensor<2x1xi32>
    %zero = arith.constant 0 : i32
    %true = arith.constant true
    %false = arith.constant false
    %i = tt.make_range {{end = 2 : i32, start = 0 : i32}} : tensor<2xi32>
    %rows = tt.expand_dims %i {{axis = 1 : i32}} : tensor<2xi32> -> tensor<2x1xi32>
    %cols = tt.expand_dims %i {{axis = 0 : i32}} : tensor<2xi32> -> tensor<1x2xi32>
    %row_at = arith.muli %rows, %two : tensor<2x1xi32>
    %r = tt.broadcast %row_at : tensor<2x1xi32> -> tensor<2x2xi32>
    %c = tt.broadcast %cols : tensor<1x2xi32> -> tensor<2x2xi32>
    %at = arith.addi %r, %c : tensor<2x2xi32>
    %x0 = tt.splat %x : !tt.ptr<f32> -> tensor<2x2x!tt.ptr<f32>>
    %xs = tt.addptr %x0, %at : tensor<2x2x!tt.ptr<f32>>, tensor<2x2xi32>
    %y0 = tt.splat %y : !tt.ptr<f32> -> tensor<2x2x!tt.ptr<f32>>
    %ys = tt.addptr %y0, %at : tensor<2x2x!tt.ptr<f32>>, tensor<2x2xi32>
    %ones = arith.constant dense<1.000000e+00> : tensor<2x2xf32>
    %v = tt.load %xs : tensor<2x2x!tt.ptr<f32>>
    %b = ttg.local_alloc %v : (tensor<2x2xf32>) -> {SQUARE}
    %d, %t0 = ttng.tmem_alloc : () -> ({RESULT}, !ttg.async.token)
    %bar = ttg.local_alloc : () -> {BARRIER}
    ttng.init_barrier %bar, 1 : {BARRIER}
"""
SQUARED = [7.0, 10.0, 15.0, 22.0]


def product(use: str = "%false", flags: str = "", told: str = "", pred: str = "%true") -> str:
    types = f"{SQUARE}, {SQUARE}, {RESULT}" + (f", {BARRIER}" if told else "")
    return f"    ttng.tc_gen5_mma %b, %b, %d, {use}, {pred}{told} {flags}: {types}\n"


ASYNC = product(flags="{is_async} ", told=", %bar[%true]")
WAIT = f"    ttng.wait_barrier %bar, %zero : {BARRIER}\n"
SPOIL = f"    ttg.local_store %ones, %b : tensor<2x2xf32> -> {SQUARE}\n"
TAKE = f"""    %out, %t1 = ttng.tmem_load %d[%t0] : {RESULT} -> tensor<2x2xf32>
    tt.store %ys, %out : tensor<2x2x!tt.ptr<f32>>
"""


def multiplied(body: str, copies: str = "earliest", checks: str = "full") -> Outcome:
    x, y = np.arange(1, 5, dtype=np.float32), np.zeros(4, np.float32)
    text = HEAD + TENSOR + module(SETTING + body, "%x: !tt.ptr<f32>", "%y: !tt.ptr<f32>")
    options = ExecutorOptions(copies=copies, checks=checks)  # type: ignore[arg-type]
    return run(plan_of(text), [x, y], (1,), options)


def test_a_product_that_is_no_asynchronous_one() -> None:
    """The second adds to the first, the third does not happen."""
    outcome = multiplied(product() + product("%true") + product("%true", pred="%false") + TAKE)
    assert outcome.arrays[1].tolist() == [2 * value for value in SQUARED]
    assert outcome.result.findings == []


def test_what_a_product_adds_to_must_be_written() -> None:
    (finding,) = multiplied(product("%true") + TAKE).result.findings
    assert (finding.kind, finding.buffer) == ("uninitialised-read", "tensor memory")


@BOTH
def test_a_product_tells_its_barrier(copies: str) -> None:
    outcome = multiplied(ASYNC + WAIT + SPOIL + TAKE, copies)
    assert outcome.arrays[1].tolist() == SQUARED
    assert outcome.result.findings == []


@pytest.mark.parametrize(("copies", "want"), [("earliest", SQUARED), ("latest", [2.0] * 4)])
def test_a_write_to_what_a_product_still_reads(copies: str, want: list[float]) -> None:
    outcome = multiplied(ASYNC + SPOIL + WAIT + TAKE, copies)
    assert outcome.arrays[1].tolist() == want
    assert races(outcome.result) == [("shared memory", "writes shared memory t")]


@BOTH
def test_a_result_that_is_read_before_the_wait(copies: str) -> None:
    assert races(multiplied(ASYNC + TAKE + WAIT, copies).result) == [("tensor memory", "reads tensor memory th")]


@BOTH
def test_a_commit_is_for_all_before_it(copies: str) -> None:
    """Two products that tell nobody, the second on top of the first."""
    body = product(flags="{is_async} ") + product("%true", "{is_async} ")
    commit = f"    ttng.tc_gen5_commit %bar : {BARRIER}\n"
    outcome = multiplied(body + commit + WAIT + SPOIL + TAKE, copies)
    assert outcome.arrays[1].tolist() == [2 * value for value in SQUARED]
    assert outcome.result.findings == []
    late = multiplied(body + commit + product("%true", "{is_async} ") + WAIT + TAKE, copies).result
    assert races(late) == [("tensor memory", "reads tensor memory th")]


def test_a_tensor_is_stored_and_sliced() -> None:
    half = "!ttg.memdesc<2x1xf32, #tmem, #ttng.tensor_memory, mutable>"
    body = f"""    ttng.tmem_store %v, %d, %true : tensor<2x2xf32> -> {RESULT}
    ttng.tmem_store %ones, %d, %false : tensor<2x2xf32> -> {RESULT}
    %h = ttng.tmem_subslice %d {{N = 1 : i32}} : {RESULT} -> {half}
    %column = ttng.tmem_load %h : {half} -> tensor<2x1xf32>
    %out = tt.broadcast %column : tensor<2x1xf32> -> tensor<2x2xf32>
    tt.store %ys, %out : tensor<2x2x!tt.ptr<f32>>
"""
    assert multiplied(body).arrays[1].tolist() == [2.0, 2.0, 4.0, 4.0]


# --- barriers and partitions --------------------------------------------------------------------------------------


def specialised(default: str, partition: str, count: int = 1) -> str:
    """The partition has %in, a tile, and %go, a barrier of so many arrivals; outside they are %b and %bar."""
    return f"""    %b = ttg.local_alloc : () -> {TILE}
    %bar = ttg.local_alloc : () -> {BARRIER}
    ttng.init_barrier %bar, {count} : {BARRIER}
    ttg.warp_specialize(%b, %bar)
    default {{
{default}      ttg.warp_yield
    }}
    partition0(%in: {TILE}, %go: {BARRIER}) num_warps(1) {{
      %null = arith.constant 0 : i32
      %unit = arith.constant 1 : i32
      %threes = arith.constant dense<3.000000e+00> : tensor<4xf32>
{partition}      ttg.warp_return
    }} : ({TILE}, {BARRIER}) -> ()
"""


FILL = f"      ttg.local_store %threes, %in : tensor<4xf32> -> {TILE}\n"
ARRIVE = f"      ttng.arrive_barrier %go, 1 : {BARRIER}\n"
AWAIT = f"      ttng.wait_barrier %bar, %zero : {BARRIER}\n"
LOAD = f"    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>\n"


def test_one_part_waits_for_another() -> None:
    outcome = launched(specialised(AWAIT + LOAD + STORE, FILL + ARRIVE), checks="full")
    assert set(outcome.arrays[1].tolist()) == {3.0}
    assert outcome.result.findings == []


def test_without_the_wait_the_tile_is_read_too_soon() -> None:
    kinds = [one.kind for one in launched(specialised(LOAD + STORE, FILL + ARRIVE), checks="full").result.findings]
    assert kinds == ["uninitialised-read"]


def test_all_arrivals_are_needed() -> None:
    outcome = launched(specialised(AWAIT + LOAD + STORE, FILL + ARRIVE + ARRIVE, count=2))
    assert set(outcome.arrays[1].tolist()) == {3.0}
    with pytest.raises(Deadlock, match="phase of a barrier that nothing ends") as raised:
        launched(specialised(AWAIT + LOAD + STORE, FILL + ARRIVE, count=2))
    assert raised.value.hint == "it waits for 1 arrivals that nothing brings"


def test_parts_take_turns_phase_by_phase() -> None:
    """The partition fills the tile twice; the default part answers the first time through the same barrier."""
    answer = f"      ttng.arrive_barrier %bar, 1 : {BARRIER}\n"
    second = f"""      ttng.wait_barrier %go, %unit : {BARRIER}
      %fours = arith.constant dense<4.000000e+00> : tensor<4xf32>
      ttg.local_store %fours, %in : tensor<4xf32> -> {TILE}
{ARRIVE}"""
    default = AWAIT + LOAD + STORE + answer + f"      ttng.wait_barrier %bar, %zero : {BARRIER}\n"
    default += (
        f"      %w = ttg.local_load %b : {TILE} -> tensor<4xf32>\n      tt.store %xs, %w : tensor<4x!tt.ptr<f32>>\n"
    )
    outcome = launched(specialised(default, FILL + ARRIVE + second))
    assert set(outcome.arrays[1].tolist()) == {3.0}
    assert set(outcome.arrays[0].tolist()) == {4.0}


def test_a_barrier_that_nobody_initialised() -> None:
    body = f"    %bar = ttg.local_alloc : () -> {BARRIER}\n    ttng.wait_barrier %bar, %zero : {BARRIER}\n"
    with pytest.raises(Deadlock) as raised:
        launched(body)
    assert raised.value.hint == "nobody initialised the barrier"


def test_bytes_that_no_copy_brings() -> None:
    """Twice as many are announced as the copy has."""
    body = f"""    %size = arith.constant 64 : i32
    %stride = arith.constant 1 : i64
    %true = arith.constant true
    %desc = tt.make_tensor_descriptor %x, [%size], [%stride] : <f32>, <tensor<4xf32>>
    %b = ttg.local_alloc : () -> {TILE}
    %bar = ttg.local_alloc : () -> {BARRIER}
    ttng.init_barrier %bar, 1 : {BARRIER}
    ttng.barrier_expect %bar, 32, %true : {BARRIER}
    ttng.async_tma_copy_global_to_local %desc[%first] %b, %bar, %true
      : !tt.tensordesc<tensor<4xf32>>, {BARRIER} -> {TILE}
    ttng.wait_barrier %bar, %zero : {BARRIER}
"""
    with pytest.raises(Deadlock) as raised:
        launched(body)
    assert raised.value.hint == "it waits for 16 bytes that nothing brings"
