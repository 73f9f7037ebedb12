"""Runs of ops as machine code: what they compute is what NumPy computes, to the bit where no function is involved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import EXAMPLES, plan_of, run, ttir
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import Misaligned, OutOfBounds, Trap
from harness.executor import ExecutorOptions
from harness.executor.native.step import GroupStep
from harness.executor.plan import Plan

NATIVE = ExecutorOptions(native_elements=0)
PLAIN = ExecutorOptions(native=False)


def groups_of(plan: Plan) -> list[GroupStep]:
    blocks = [block for function in plan.functions.values() for block in function.blocks]
    return [group for block in blocks for group in block.groups]


def both_ways(
    kernel: Any, signature: dict[str, str], constants: dict[str, Any], arguments: list[Any], grid: int
) -> Any:
    """The buffers of a launch with native code (which must have been used) and without."""
    plan = plan_of(ttir(kernel, signature, constants))
    native = run(plan, arguments, (grid,), NATIVE)
    assert any(group.compiled for group in groups_of(plan)), "nothing was compiled"
    plain = run(plan, arguments, (grid,), PLAIN)
    assert native.result.loads == plain.result.loads and native.result.stores == plain.result.stores
    return native.arrays, plain.arrays


@triton.jit
def rows_kernel(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < n
    value = tl.load(x + at, inside, other=0.0)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / n, 0.0)
    tl.store(y + at, centred * tl.max(value, axis=0), inside)
    tl.store(z + at, tl.cumsum(centred, axis=0), inside)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("extent", [8, 16, 64, 128, 256, 2048])
def test_sums_along_rows_are_numpy_s_to_the_bit(extent: int, dtype: str) -> None:
    n = extent - 3
    x = np.random.default_rng(extent).standard_normal(7 * n).astype(dtype)
    kind = {"float32": "*fp32", "float64": "*fp64"}[dtype]
    signature = {"x": kind, "y": kind, "z": kind, "n": "i32"}
    empty = np.zeros_like(x)
    native, plain = both_ways(rows_kernel, signature, {"BLOCK": extent}, [x, empty, empty, n], 7)
    for got, want in zip(native, plain, strict=True):
        assert got.tobytes() == want.tobytes()


@triton.jit
def columns_kernel(x, y, z, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + tl.program_id(0) * ROWS * COLUMNS + row[:, None] * COLUMNS + column[None, :])
    tl.store(y + tl.program_id(0) * COLUMNS + column, tl.sum(tile, axis=0))
    scaled = tile * tl.min(tile, axis=1)[:, None]
    tl.store(z + tl.program_id(0) * ROWS + row, tl.sum(scaled, axis=1))


@pytest.mark.parametrize(("rows", "columns"), [(2, 8), (16, 16), (8, 64), (64, 8)])
def test_folds_along_either_axis(rows: int, columns: int) -> None:
    x = np.random.default_rng(1).standard_normal(5 * rows * columns).astype(np.float32)
    y, z = np.zeros(5 * columns, np.float32), np.zeros(5 * rows, np.float32)
    signature = dict.fromkeys("xyz", "*fp32")
    native, plain = both_ways(columns_kernel, signature, {"ROWS": rows, "COLUMNS": columns}, [x, y, z], 5)
    for got, want in zip(native, plain, strict=True):
        assert got.tobytes() == want.tobytes()


@triton.jit
def shift_kernel(x, BLOCK: tl.constexpr):
    """Every element moves one place on: all are read before one is written."""
    at = tl.program_id(0) * (BLOCK + 1) + tl.arange(0, BLOCK)
    tl.store(x + at + 1, tl.load(x + at) + 1.0)


@triton.jit
def twice_kernel(x, y, BLOCK: tl.constexpr):
    """The second store wins wherever both write."""
    at = tl.program_id(0) * (BLOCK + 1) + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at + 1, value * 2.0)
    tl.store(y + at, value * 3.0)
    tl.store(x + at, value + tl.sum(value, axis=0))


def test_a_store_over_what_is_still_to_be_read() -> None:
    x = np.arange(3 * 65, dtype=np.float32)
    (native,), (plain,) = both_ways(shift_kernel, {"x": "*fp32"}, {"BLOCK": 64}, [x], 3)
    assert native.tobytes() == plain.tobytes()
    assert native[1] == 1.0 and native[64] == 64.0


def test_stores_in_their_order_and_updates_in_place() -> None:
    x, y = np.arange(3 * 65, dtype=np.float32), np.zeros(3 * 65, np.float32)
    signature = {"x": "*fp32", "y": "*fp32"}
    native, plain = both_ways(twice_kernel, signature, {"BLOCK": 64}, [x, y], 3)
    for got, want in zip(native, plain, strict=True):
        assert got.tobytes() == want.tobytes()
    # Both pointers to one buffer: other code, the same meaning.
    plan = plan_of(ttir(twice_kernel, signature, {"BLOCK": 64}))
    shared = [run_aliased(plan, x, options) for options in (NATIVE, PLAIN)]
    assert shared[0].tobytes() == shared[1].tobytes()


def run_aliased(plan: Plan, x: np.ndarray, options: ExecutorOptions) -> np.ndarray:
    from harness.executor import Allocation, Memory, PointerArgument, launch

    copy, memory = x.copy(), Memory()
    allocation = memory.add(Allocation("x", copy.view(np.uint8), copy.ctypes.data, 4))
    launch(plan, (3, 1, 1), [PointerArgument(allocation)] * 2, memory, options)
    return copy


@triton.jit
def gather_kernel(x, index, y, n, offset, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, at < n, other=0)
    keep = (at < n) & (where >= 0)
    value = tl.load(x + where + offset, keep, other=-1.0)
    tl.store(y + (n - 1 - at) * 2, value * value, keep)


GATHER = {"x": "*fp32", "index": "*i64", "y": "*fp32", "n": "i32", "offset": "i32"}


@EXAMPLES
@given(seed=st.integers(0, 1000), n=st.integers(1, 96))
def test_loads_and_stores_by_index(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.standard_normal(50).astype(np.float32), np.full(2 * n, 7.0, np.float32)
    index = random.integers(-3, 50, n)
    native, plain = both_ways(gather_kernel, GATHER, {"BLOCK": 32}, [x, index, y, n, 0], -(-n // 32))
    for got, want in zip(native, plain, strict=True):
        assert got.tobytes() == want.tobytes()


def trap_of(plan: Plan, arguments: list[Any], options: ExecutorOptions) -> Trap:
    with pytest.raises(Trap) as caught:
        run(plan, arguments, (3,), options)
    return caught.value


@pytest.mark.parametrize(("element", "offset"), [(70, 0), (5, 50), (0, -1)])
def test_an_access_outside_is_told_as_numpy_tells_it(element: int, offset: int) -> None:
    """The element, the program and the line, though vectors and other programs went before."""
    x, y, index = np.zeros(50, np.float32), np.zeros(192, np.float32), np.zeros(96, np.int64)
    index[70] = element
    plan = plan_of(ttir(gather_kernel, GATHER, {"BLOCK": 32}))
    native, plain = (trap_of(plan, [x, index, y, 96, offset], options) for options in (NATIVE, PLAIN))
    assert isinstance(native, OutOfBounds)
    assert (str(native), native.where, native.program) == (str(plain), plain.where, plain.program)


def test_a_misaligned_access_is_told() -> None:
    plan = plan_of(ttir(shift_kernel, {"x": "*fp32"}, {"BLOCK": 64}))
    from harness.executor import Allocation, Memory, PointerArgument, launch

    memory = Memory()
    allocation = memory.add(Allocation("x", np.zeros(4 * 256, np.uint8), 0x10000, 4))
    with pytest.raises(Misaligned):
        launch(plan, (1, 1, 1), [PointerArgument(allocation, 2)], memory, NATIVE)


@triton.jit
def wrap_kernel(x, y, start, BLOCK: tl.constexpr):
    """An index that passes the largest int32 within a vector, where the mask is off by then."""
    at = start + tl.arange(0, BLOCK)
    value = tl.load(x + at - 2147483640, at > 0, other=5.0)
    tl.store(y + tl.arange(0, BLOCK), value + value)


def test_an_index_that_wraps_around() -> None:
    x, y = np.arange(8, dtype=np.float32), np.zeros(32, np.float32)
    plan = plan_of(ttir(wrap_kernel, {"x": "*fp32", "y": "*fp32", "start": "i32"}, {"BLOCK": 32}))
    native, plain = (run(plan, [x, y, 2147483640], (1,), options).arrays[1] for options in (NATIVE, PLAIN))
    assert native.tobytes() == plain.tobytes()
    assert list(native[:9]) == [0, 2, 4, 6, 8, 10, 12, 14, 10]


@triton.jit
def special_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, at < n, other=1.0), tl.load(y + at, at < n, other=1.0)
    low, high = tl.minimum(a, b), tl.maximum(a, b)
    exact = tl.where(a < b, low / high, tl.fma(a, b, low)) + tl.abs(high)
    tl.store(out + at, exact, at < n)
    tl.store(out + n + at, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL), at < n)


def test_special_values() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, -3e38], np.float32)
    x, y = (part.reshape(-1).copy() for part in np.meshgrid(values, values))
    out = np.zeros(2 * x.size, np.float32)
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    native, plain = both_ways(special_kernel, signature, {"BLOCK": 32}, [x, y, out, x.size], 3)
    got, want = native[2], plain[2]
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all()


@triton.jit
def functions_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, other=1.0)
    tl.store(out + at, tl.exp(value) * (2.0 + tl.erf(value)), at < n)


def test_functions_are_close() -> None:
    """Within the few units in the last place that two libraries may differ by."""
    x = np.linspace(-20, 20, 1000).astype(np.float32)
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    native, plain = both_ways(functions_kernel, signature, {"BLOCK": 128}, [x, np.zeros_like(x), x.size], 8)
    np.testing.assert_allclose(native[1], plain[1], rtol=5e-7)


def test_a_small_launch_compiles_nothing() -> None:
    x = np.arange(65, dtype=np.float32)
    plan = plan_of(ttir(shift_kernel, {"x": "*fp32"}, {"BLOCK": 64}) + "\n")
    run(plan, [x], (1,))
    assert groups_of(plan) and not any(group.compiled for group in groups_of(plan))
