"""Reductions and scans: any region, any axis, any extent, and the same bits in every batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from executor_kit import MLIR, everywhere, module, pointers

ROWS = 5
FLOATS = np.array([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, 3.0, -0.0], np.float32)


def tile(kind: str, rows: int, columns: int) -> str:
    """Loads %t: rows x columns of %x for every program, %at its element numbers; %pid; %row: rows numbers of a
    result of `rows`, %column of `columns`."""
    both, size = f"{rows}x{columns}", rows * columns
    return f"""
  %pid = tt.get_program_id x : i32
  %size = arith.constant {size} : i32
  %from = arith.muli %pid, %size : i32
  %xp = tt.addptr %x, %from : !tt.ptr<{kind}>, i32
  %r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32>
  %c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32>
  %r1 = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
  %c1 = tt.expand_dims %c {{axis = 0 : i32}} : tensor<{columns}xi32> -> tensor<1x{columns}xi32>
  %w = arith.constant dense<{columns}> : tensor<{rows}x1xi32>
  %rw = arith.muli %r1, %w : tensor<{rows}x1xi32>
  %rb = tt.broadcast %rw : tensor<{rows}x1xi32> -> tensor<{both}xi32>
  %cb = tt.broadcast %c1 : tensor<1x{columns}xi32> -> tensor<{both}xi32>
  %at = arith.addi %rb, %cb : tensor<{both}xi32>
  %xs = tt.splat %xp : !tt.ptr<{kind}> -> tensor<{both}x!tt.ptr<{kind}>>
  %xa = tt.addptr %xs, %at : tensor<{both}x!tt.ptr<{kind}>>, tensor<{both}xi32>
  %t = tt.load %xa : tensor<{both}x!tt.ptr<{kind}>>"""


def keep(pointer: str, value: str, kind: str, extent: int, lanes: str) -> str:
    return f"""
  %{pointer}n = arith.constant {extent} : i32
  %{pointer}f = arith.muli %pid, %{pointer}n : i32
  %{pointer}p = tt.addptr %{pointer}, %{pointer}f : !tt.ptr<{kind}>, i32
  %{pointer}s = tt.splat %{pointer}p : !tt.ptr<{kind}> -> tensor<{extent}x!tt.ptr<{kind}>>
  %{pointer}a = tt.addptr %{pointer}s, {lanes} : tensor<{extent}x!tt.ptr<{kind}>>, tensor<{extent}xi32>
  tt.store %{pointer}a, {value} : tensor<{extent}x!tt.ptr<{kind}>>"""


def keep_tile(value: str, kind: str, rows: int, columns: int) -> str:
    both = f"{rows}x{columns}"
    return f"""
  %yp = tt.addptr %y, %from : !tt.ptr<{kind}>, i32
  %ys = tt.splat %yp : !tt.ptr<{kind}> -> tensor<{both}x!tt.ptr<{kind}>>
  %ya = tt.addptr %ys, %at : tensor<{both}x!tt.ptr<{kind}>>, tensor<{both}xi32>
  tt.store %ya, {value} : tensor<{both}x!tt.ptr<{kind}>>"""


def region(kind: str, ops: str) -> str:
    return f"({{\n  ^bb0(%a: {kind}, %b: {kind}):\n    %z = {ops}\n    tt.reduce.return %z : {kind}\n  }})"


def folded(result: str, source: str, rows: int, columns: int, kind: str, axis: int, body: str) -> str:
    types = f"(tensor<{rows}x{columns}x{kind}>) -> tensor<{(columns, rows)[axis]}x{kind}>"
    return f'\n  {result} = "tt.reduce"({source}) <{{axis = {axis} : i32}}> {region(kind, body)} : {types}'


def reduced(kind: str, rows: int, columns: int, axis: int, body: str) -> str:
    extent = (columns, rows)[axis]
    text = tile(kind, rows, columns) + folded("%s", "%t", rows, columns, kind, axis, body)
    return text + keep("y", "%s", kind, extent, "%c" if axis == 0 else "%r")


def scanned(kind: str, rows: int, columns: int, axis: int, body: str, reverse: bool) -> str:
    shape = f"tensor<{rows}x{columns}x{kind}>"
    inner = region(kind, body).replace("reduce.return", "scan.return")
    text = tile(kind, rows, columns)
    attributes = f"<{{axis = {axis} : i32, reverse = {str(reverse).lower()}}}>"
    text += f'\n  %s = "tt.scan"(%t) {attributes} {inner} : ({shape}) -> {shape}'
    return text + keep_tile("%s", kind, rows, columns)


def fold(values: np.ndarray, axis: int, combine: Callable[[Any, Any], Any]) -> np.ndarray:
    parts = np.moveaxis(values, axis, 0)
    total = parts[0]
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            total = combine(total, part)
    return total


def prefixes(values: np.ndarray, axis: int, combine: Callable[[Any, Any], Any], reverse: bool) -> np.ndarray:
    parts = np.moveaxis(values, axis, 0)
    parts = parts[::-1] if reverse else parts
    done = [parts[0]]
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            done.append(combine(done[-1], part))
    return np.moveaxis(np.stack(done[::-1] if reverse else done), 0, axis)


COMBINE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "sum": ("arith.addi %a, %b : i32", lambda a, b: a + b),
    "product": ("arith.muli %a, %b : i32", lambda a, b: a * b),
    "max": ("arith.maxsi %a, %b : i32", np.maximum),
    "umin": ("arith.minui %b, %a : i32", lambda a, b: np.minimum(a.view("u4"), b.view("u4")).view("i4")),
    "xor": ("arith.xori %a, %b : i32", np.bitwise_xor),
    # The last of two: associative, does not commute.
    "last": ("arith.addi %b, %zero : i32", lambda a, b: b),
}


@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (5, 3), (1, 7), (6, 1)])
@pytest.mark.parametrize("name", COMBINE)
def test_integer_folds(name: str, shape: tuple[int, int]) -> None:
    body, combine = COMBINE[name]
    rows, columns = shape
    x = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, (ROWS, rows, columns)).astype(np.int32)
    zero = "  %zero = arith.constant 0 : i32\n"
    for axis in (0, 1):
        y = np.zeros((ROWS, (columns, rows)[axis]), np.int32)
        text = module(zero + reduced("i32", rows, columns, axis, body), *pointers(x, y))
        assert np.array_equal(everywhere(text, [x, y], (ROWS,))[1], fold(x, axis + 1, combine))
        for reverse in (False, True):
            text = module(zero + scanned("i32", rows, columns, axis, body, reverse), *pointers(x, x))
            got = everywhere(text, [x, np.zeros_like(x)], (ROWS,))[1]
            assert np.array_equal(got, prefixes(x, axis + 1, combine, reverse))


EXTREMES = ("maximumf", "minimumf", "maxnumf", "minnumf")


def extreme(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By the order -inf < ... < -0.0 < 0.0 < ... < inf."""
    sign = 1 if name.startswith("max") else -1
    order = [np.where(v == 0, np.where(np.signbit(v), -1e-300, 1e-300), v.astype(np.float64)) * sign for v in (a, b)]
    chosen = np.where(order[0] >= order[1], a, b)
    missing = np.isnan(a) | np.isnan(b)
    if name.endswith("imumf"):
        return np.where(missing, np.nan, chosen).astype(a.dtype)
    return np.where(missing, np.where(np.isnan(a), b, a), chosen).astype(a.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_know_nan_and_the_signs_of_zeros(name: str, dtype: type) -> None:
    kind = MLIR[np.dtype(dtype).name]
    numbers = np.random.default_rng(1)
    x = numbers.choice(FLOATS, (64, 2, 4), p=[0.2, 0.2, 0.05, 0.1, 0.05, 0.05, 0.05, 0.3]).astype(dtype)
    x[:8] = numbers.choice(np.array([0.0, -0.0], dtype), (8, 2, 4))
    body = f"arith.{name} %a, %b : {kind}"
    y = np.zeros((64, 2), dtype)
    got = everywhere(module(reduced(kind, 2, 4, 1, body), *pointers(x, y)), [x, y], (64,))[1]
    want = fold(x, 2, lambda a, b: extreme(name, a, b))
    bits = f"u{x.itemsize}"
    assert ((got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))).all()
    got = everywhere(module(scanned(kind, 2, 4, 1, body, False), *pointers(x, x)), [x, np.zeros_like(x)], (64,))[1]
    want = prefixes(x, 2, lambda a, b: extreme(name, a, b), False)
    assert ((got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_floats_do_not_depend_on_the_batch(axis: int, dtype: type) -> None:
    """Also after a scan with a region of its own, which leaves the tile in another order in memory."""
    kind = MLIR[np.dtype(dtype).name]
    x = np.random.default_rng(2).standard_normal((23, 32, 16)).astype(dtype)
    extent = (16, 32)[axis]
    y = np.zeros((23, extent), dtype)
    add = f"arith.addf %a, %b : {kind}"
    everywhere(module(reduced(kind, 32, 16, axis, add), *pointers(x, y)), [x, y], (23,))
    shape = f"tensor<32x16x{kind}>"
    larger = f"""({{
  ^bb0(%a: {kind}, %b: {kind}):
    %g = arith.cmpf ogt, %a, %b : {kind}
    %z = arith.select %g, %a, %b : {kind}
    tt.scan.return %z : {kind}
  }})"""
    for scan_axis in (0, 1):
        attributes = f"<{{axis = {scan_axis} : i32, reverse = false}}>"
        text = tile(kind, 32, 16) + f'\n  %u = "tt.scan"(%t) {attributes} {larger} : ({shape}) -> {shape}'
        text += folded("%s", "%u", 32, 16, kind, axis, add)
        text += keep("y", "%s", kind, extent, "%c" if axis == 0 else "%r")
        everywhere(module(text, *pointers(x, y)), [x, y], (23,))


def test_a_region_of_two_operands_that_reads_the_function_around_it() -> None:
    """The largest after adding the program's number where the index is odd; the first one on ties."""
    shape, index = "tensor<4x8xi32>", "tensor<4x8xi32>"
    text = (
        tile("i32", 4, 8)
        + f"""
  %one = arith.constant 1 : i32
  %s:2 = "tt.reduce"(%t, %cb) <{{axis = 1 : i32}}> ({{
  ^bb0(%a: i32, %i: i32, %b: i32, %j: i32):
    %ai = arith.andi %i, %one : i32
    %bj = arith.andi %j, %one : i32
    %ap = arith.muli %ai, %pid : i32
    %bp = arith.muli %bj, %pid : i32
    %as = arith.addi %a, %ap : i32
    %bs = arith.addi %b, %bp : i32
    %g = arith.cmpi sge, %as, %bs : i32
    %v = arith.select %g, %a, %b : i32
    %k = arith.select %g, %i, %j : i32
    tt.reduce.return %v, %k : i32, i32
  }}) : ({shape}, {index}) -> (tensor<4xi32>, tensor<4xi32>)"""
        + keep("y", "%s#0", "i32", 4, "%r")
        + keep("z", "%s#1", "i32", 4, "%r")
    )
    x = np.random.default_rng(3).integers(0, 4, (ROWS, 4, 8)).astype(np.int32)
    y, z = np.zeros((ROWS, 4), np.int32), np.zeros((ROWS, 4), np.int32)
    _, values, indices = everywhere(module(text, *pointers(x, y, z)), [x, y, z], (ROWS,))
    weighted = x + (np.arange(8) % 2) * np.arange(ROWS)[:, None, None]
    best = weighted.argmax(axis=2)
    assert np.array_equal(indices, best)
    assert np.array_equal(values, np.take_along_axis(x, best[..., None], 2)[..., 0])


def test_a_region_with_a_branch() -> None:
    text = (
        tile("i32", 2, 8)
        + """
  %zero = arith.constant 0 : i32
  %s = "tt.reduce"(%t) <{axis = 1 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %g = arith.cmpi slt, %a, %b : i32
    %z = scf.if %g -> (i32) {
      scf.yield %b : i32
    } else {
      %n = arith.addi %a, %zero : i32
      scf.yield %n : i32
    }
    tt.reduce.return %z : i32
  }) : (tensor<2x8xi32>) -> tensor<2xi32>"""
        + keep("y", "%s", "i32", 2, "%r")
    )
    x = np.random.default_rng(4).integers(-99, 99, (ROWS, 2, 8)).astype(np.int32)
    y = np.zeros((ROWS, 2), np.int32)
    assert np.array_equal(everywhere(module(text, *pointers(x, y)), [x, y], (ROWS,))[1], x.max(axis=2))
