"""Stores and products that take effect between their beginning and the wait for them; what races with them; and
memory inside the chip that nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest
from executor_kit import Outcome, module, plan_of, run
from local_kit import ADDRESSES, HEAD, STORE, TILE, launched, races

from harness.errors import UnsupportedOp
from harness.executor import ExecutorOptions

BOTH = pytest.mark.parametrize("copies", ["earliest", "latest"])

# --- stores through descriptors ----------------------------------------------------------------------------------

# Twos from shared memory to this program's four elements of y.
STORING = f"""    %size = arith.constant 64 : i32
    %stride = arith.constant 1 : i64
    %desc = tt.make_tensor_descriptor %y, [%size], [%stride] : <f32>, <tensor<4xf32>>
    %b = ttg.local_alloc %twos : (tensor<4xf32>) -> {TILE}
    ttng.async_tma_copy_local_to_global %desc[%first] %b : !tt.tensordesc<tensor<4xf32>>, {TILE}
"""
STORED = "    ttng.async_tma_store_wait {pendings = 0 : i32}\n"
OVERWRITE = f"    ttg.local_store %a, %b : tensor<4xf32> -> {TILE}\n"
XS = "    %a = tt.load %xs : tensor<4x!tt.ptr<f32>>\n"


@BOTH
def test_a_store_that_is_waited_for(copies: str) -> None:
    outcome = launched(XS + STORING + STORED + OVERWRITE, copies)
    assert set(outcome.arrays[1].tolist()) == {2.0}
    assert races(outcome.result) == []


@pytest.mark.parametrize(("copies", "want"), [("earliest", 2.0), ("latest", 1.0)])
def test_a_write_to_what_a_store_still_reads(copies: str, want: float) -> None:
    """The store may see either; both lines are told."""
    outcome = launched(XS + STORING + OVERWRITE + STORED, copies)
    assert outcome.arrays[1][0] == want
    assert races(outcome.result) == [("shared memory", "writes shared memory t")]
    (finding,) = outcome.result.findings
    assert finding.where is not None and finding.other is not None
    assert finding.where.line - finding.other.line == 1


@BOTH
def test_a_store_that_nobody_waits_for_is_carried_out_in_the_end(copies: str) -> None:
    assert set(launched(STORING, copies).arrays[1].tolist()) == {2.0}


@pytest.mark.parametrize(("copies", "want"), [("earliest", 2.0), ("latest", 0.0)])
def test_a_load_of_what_a_store_still_writes(copies: str, want: float) -> None:
    early = "    %v = tt.load %ys : tensor<4x!tt.ptr<f32>>\n    tt.store %xs, %v : tensor<4x!tt.ptr<f32>>\n"
    outcome = launched(STORING + early + STORED, copies)
    assert outcome.arrays[0][0] == want
    assert races(outcome.result) == [("y", "loads from buffer 'y' ")]


@BOTH
def test_an_atomic_on_what_a_copy_still_reads(copies: str) -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %yes = arith.constant dense<true> : tensor<4xi1>
    %c = ttg.async_copy_global_to_local %xs, %b : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
    %o = tt.atomic_rmw fadd, relaxed, gpu, %xs, %twos, %yes
      : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
    %w = ttg.async_wait %g {{num = 0 : i32}}
"""
    assert races(launched(body, copies).result) == [("x", "updates buffer 'x' whe")]


def test_a_copy_of_what_a_store_still_writes() -> None:
    body = f"""{STORING}    %d = ttg.local_alloc : () -> {TILE}
    %c = ttg.async_copy_global_to_local %ys, %d : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
"""
    for copies in ("earliest", "latest"):
        assert races(launched(body, copies).result) == [("y", "loads from buffer 'y' ")]


# --- copies of AMD's ---------------------------------------------------------------------------------------------

TO_LOCAL = f"""    %b = ttg.local_alloc : () -> {TILE}
    %c = amdg.buffer_load_to_local %x[%at] into %b : <f32>[tensor<4xi32>] -> <4xf32, #shared, #smem, mutable>
"""
FROM_LOCAL = f"    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>\n{STORE}"


@BOTH
@pytest.mark.parametrize(
    "wait",
    [
        "    %g = ttg.async_commit_group tokens %c\n    %w = ttg.async_wait %g {num = 0 : i32}\n",
        "    %w = amdg.async_wait %c {num_inst = 0 : i32}\n",
    ],
)
def test_a_buffer_s_load_to_shared_memory(wait: str, copies: str) -> None:
    outcome = launched(TO_LOCAL + wait + FROM_LOCAL, copies, checks="full")
    assert outcome.arrays[1].tolist() == outcome.arrays[0].tolist()
    assert outcome.result.findings == []
    early = launched(TO_LOCAL + FROM_LOCAL + wait, copies)
    assert races(early.result) == [("shared memory", "reads shared memory th")]
    overwritten = launched(TO_LOCAL + "    tt.store %xs, %twos : tensor<4x!tt.ptr<f32>>\n" + wait, copies)
    assert races(overwritten.result) == [("x", "stores to buffer 'x' w")]


def test_a_wait_for_some_of_a_copy_s_instructions_is_refused() -> None:
    with pytest.raises(UnsupportedOp, match=r"amdg\.async_wait that leaves 2 instructions outstanding"):
        launched(TO_LOCAL + "    %w = amdg.async_wait %c {num_inst = 2 : i32}\n")


# --- memory that nobody wrote --------------------------------------------------------------------------------------


def test_a_read_of_shared_memory_that_nobody_wrote() -> None:
    """Half of the tile is written, the other half read."""
    body = f"""    %b = ttg.local_alloc : () -> !ttg.memdesc<2x4xf32, #shared, #smem, mutable>
    %t0 = ttg.memdesc_index %b[%zero] : !ttg.memdesc<2x4xf32, #shared, #smem, mutable> -> {TILE}
    %t1 = ttg.memdesc_index %b[%one] : !ttg.memdesc<2x4xf32, #shared, #smem, mutable> -> {TILE}
    ttg.local_store %twos, %t0 : tensor<4xf32> -> {TILE}
    %u = ttg.local_load %t0 : {TILE} -> tensor<4xf32>
    %v = ttg.local_load %t1 : {TILE} -> tensor<4xf32>
{STORE}"""
    assert launched(body).result.findings == []
    (finding,) = launched(body, checks="full").result.findings
    assert (finding.kind, finding.buffer, finding.programs) == ("uninitialised-read", "shared memory", ((0, 0, 0),))
    assert finding.message == "program (0, 0, 0) reads element [0] of a tile in shared memory, which nobody wrote"
    assert finding.where is not None and finding.other is not None
    assert finding.where.line - finding.other.line == 5


@BOTH
def test_what_a_copy_brings_is_written(copies: str) -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %none = arith.constant dense<false> : tensor<4xi1>
    %c = ttg.async_copy_global_to_local %xs, %b mask %none
      : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
    %w = ttg.async_wait %g {{num = 0 : i32}}
    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>
{STORE}"""
    outcome = launched(body, copies, checks="full")
    assert outcome.result.findings == []
    assert not outcome.arrays[1].any()


def test_a_read_before_the_copy_is_a_race_and_no_more() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %c = ttg.async_copy_global_to_local %xs, %b : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %c
    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>
{STORE}"""
    assert [one.kind for one in launched(body, "latest", checks="full").result.findings] == ["race"]


def test_a_finding_of_many_batches_is_told_once() -> None:
    body = f"""    %b = ttg.local_alloc : () -> {TILE}
    %v = ttg.local_load %b : {TILE} -> tensor<4xf32>
{STORE}"""
    x = np.ones(12, np.float32)
    options = ExecutorOptions(checks="full", batch_elements=4)
    plan = plan_of(HEAD + module(ADDRESSES + body, "%x: !tt.ptr<f32>", "%y: !tt.ptr<f32>"))
    assert len(run(plan, [x, np.zeros_like(x)], (3,), options).result.findings) == 1


# --- products of warp groups ---------------------------------------------------------------------------------------

MMA = (
    "#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>\n"
    "#wide = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n"
)
SQUARE = "!ttg.memdesc<2x2xf32, #wide, #smem, mutable>"
ACC = "tensor<2x2xf32, #mma>"
# b holds [[1, 2], [3, 4]]; each product squares it.
PRODUCT = f"""    %two = arith.constant 2 : i32
    %i = tt.make_range {{end = 2 : i32, start = 0 : i32}} : tensor<2xi32>
    %rows = tt.expand_dims %i {{axis = 1 : i32}} : tensor<2xi32> -> tensor<2x1xi32>
    %cols = tt.expand_dims %i {{axis = 0 : i32}} : tensor<2xi32> -> tensor<1x2xi32>
    %twice = arith.constant dense<2> : tensor<2x1xi32>
    %row_at = arith.muli %rows, %twice : tensor<2x1xi32>
    %r = tt.broadcast %row_at : tensor<2x1xi32> -> tensor<2x2xi32>
    %c = tt.broadcast %cols : tensor<1x2xi32> -> tensor<2x2xi32>
    %at = arith.addi %r, %c : tensor<2x2xi32>
    %x0 = tt.splat %x : !tt.ptr<f32> -> tensor<2x2x!tt.ptr<f32>>
    %xs = tt.addptr %x0, %at : tensor<2x2x!tt.ptr<f32>>, tensor<2x2xi32>
    %pid = tt.get_program_id x : i32
    %four = arith.constant 4 : i32
    %own = arith.muli %pid, %four : i32
    %mine = tt.addptr %y, %own : !tt.ptr<f32>, i32
    %y0 = tt.splat %mine : !tt.ptr<f32> -> tensor<2x2x!tt.ptr<f32>>
    %ys = tt.addptr %y0, %at : tensor<2x2x!tt.ptr<f32>>, tensor<2x2xi32>
    %v = tt.load %xs : tensor<2x2x!tt.ptr<f32>>
    %b = ttg.local_alloc %v : (tensor<2x2xf32>) -> {SQUARE}
    %none = arith.constant dense<0.000000e+00> : {ACC}
    %ones = arith.constant dense<1.000000e+00> : tensor<2x2xf32>
    %p = ttng.warp_group_dot %b, %b, %none {{inputPrecision = 2 : i32, isAsync = true}} : {SQUARE} * {SQUARE} -> {ACC}
"""
SPOIL = f"    ttg.local_store %ones, %b : tensor<2x2xf32> -> {SQUARE}\n"


def waited(result: str, source: str = "%p", pendings: int = 0) -> str:
    return f"    {result} = ttng.warp_group_dot_wait {source} {{pendings = {pendings} : i32}} : {ACC}\n"


def taken(source: str) -> str:
    return f"""    %out = ttg.convert_layout {source} : {ACC} -> tensor<2x2xf32>
    tt.store %ys, %out : tensor<2x2x!tt.ptr<f32>>
"""


def multiplied(body: str, copies: str, programs: int = 1) -> Outcome:
    x, y = np.arange(1, 5, dtype=np.float32), np.zeros(4 * programs, np.float32)
    text = HEAD + MMA + module(PRODUCT + body, "%x: !tt.ptr<f32>", "%y: !tt.ptr<f32>")
    return run(plan_of(text), [x, y], (programs,), ExecutorOptions(copies=copies))  # type: ignore[arg-type]


SQUARED = [7.0, 10.0, 15.0, 22.0]


@BOTH
def test_a_product_that_is_waited_for(copies: str) -> None:
    outcome = multiplied(waited("%q") + SPOIL + taken("%q"), copies)
    assert outcome.arrays[1].tolist() == SQUARED
    assert outcome.result.findings == []


@pytest.mark.parametrize(("copies", "want"), [("earliest", SQUARED), ("latest", [2.0, 2.0, 2.0, 2.0])])
def test_a_write_to_what_a_product_still_reads(copies: str, want: list[float]) -> None:
    outcome = multiplied(SPOIL + waited("%q") + taken("%q"), copies)
    assert outcome.arrays[1].tolist() == want
    assert races(outcome.result) == [("shared memory", "writes shared memory t")]


@BOTH
def test_products_end_in_order(copies: str) -> None:
    """Waiting for all but the newest leaves the second one, which adds to the first."""
    second = f"""    %d = ttg.local_alloc %v : (tensor<2x2xf32>) -> {SQUARE}
    %p2 = ttng.warp_group_dot %d, %d, %p {{inputPrecision = 2 : i32, isAsync = true}} : {SQUARE} * {SQUARE} -> {ACC}
"""
    outcome = multiplied(second + waited("%q", "%p2", 1) + SPOIL + waited("%z", "%q") + taken("%z"), copies)
    assert outcome.arrays[1].tolist() == [2 * value for value in SQUARED]
    assert outcome.result.findings == []


@BOTH
def test_a_result_that_is_read_before_the_wait(copies: str) -> None:
    outcome = multiplied(taken("%p") + waited("%q"), copies)
    assert outcome.arrays[1].tolist() == SQUARED
    (finding,) = outcome.result.findings
    assert (finding.kind, finding.buffer) == ("race", "registers")
    assert "reads the result of an asynchronous product" in finding.message
    assert finding.where is not None and finding.other is not None and finding.where.line > finding.other.line


@BOTH
def test_a_wait_that_leaves_the_product_is_none(copies: str) -> None:
    outcome = multiplied(waited("%q", pendings=1) + taken("%q"), copies)
    assert [one.buffer for one in outcome.result.findings] == ["registers"]


@BOTH
def test_a_loop_carries_a_product(copies: str) -> None:
    """Program p goes round p + 1 times, so that the last products of the programs are different ones."""
    loop = f"""    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %trips = arith.addi %pid, %one : i32
    %r2 = scf.for %k = %zero to %trips step %one iter_args(%acc = %none) -> ({ACC}) : i32 {{
      %n = ttng.warp_group_dot %b, %b, %acc {{inputPrecision = 2 : i32, isAsync = true}} : {SQUARE} * {SQUARE} -> {ACC}
      %m = ttng.warp_group_dot_wait %n {{pendings = 1 : i32}} : {ACC}
      scf.yield %m : {ACC}
    }}
"""
    outcome = multiplied(loop + waited("%q", "%r2") + taken("%q"), copies, programs=3)
    assert outcome.arrays[1].tolist() == [times * value for times in (1, 2, 3) for value in SQUARED]
    assert outcome.result.findings == []
