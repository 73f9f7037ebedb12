"""Lanes that no program uses are left out, and nothing else changes. Whole numbers are exact in f32, so that sums in
another order have the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import everywhere, plan_of, run, ttir

from harness.errors import OutOfBounds
from harness.executor import ExecutorOptions

PIXELS, WIDTH, TAPS = 12, 16, 3
GROUPS = 5
GRID = (1, 3, GROUPS)
ALWAYS, NEVER = ExecutorOptions(idle_elements=0), ExecutorOptions(idle_elements=1 << 60)
SIGNATURE = {"x": "*fp32", "w": "*fp32", "bias": "*fp32", "out": "*fp32", "channels": "i32"}
CONSTANTS = {"PIXELS": PIXELS, "TAPS": TAPS, "WIDTH": WIDTH}


@triton.jit
def depthwise(x, w, bias, out, channels, PIXELS: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr):
    """As Inductor's template of a grouped convolution: program (_, y, z) multiplies a tile of columns of group z, of
    which `channels` are there."""
    row, lanes = tl.arange(0, WIDTH), tl.arange(0, WIDTH)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    group = tl.program_id(2)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    for tap in range(TAPS):
        pixel = row + tap - 1
        inside = (pixel >= 0) & (pixel < PIXELS)
        at = (group * channels + lanes[None, :]) * PIXELS + pixel[:, None]
        a = tl.load(x + at, inside[:, None] & (lanes < channels)[None, :], 0.0)
        at = ((group * channels + column[None, :]) * channels + lanes[:, None]) * TAPS + tap
        b = tl.load(w + at, (lanes < channels)[:, None] & (column < channels)[None, :], 0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    stored = (row < PIXELS)[:, None] & (column < channels)[None, :]
    total += tl.load(bias + group * channels + column[None, :], stored)
    tl.store(out + (group * channels + column[None, :]) * PIXELS + row[:, None], total, stored)


@triton.jit
def normalised(x, w, bias, out, channels, PIXELS: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr):
    """All lanes meet in a sum, and the masked ones are ones."""
    lanes = tl.arange(0, WIDTH)
    row = tl.load(x + tl.program_id(2) * PIXELS + lanes, lanes < channels, 1.0)
    tl.store(out + tl.program_id(2) * PIXELS + lanes, row + tl.sum(row, 0), lanes < channels)


@triton.jit
def last_program(x, w, bias, out, channels, PIXELS: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr):
    """The first program uses one lane, the last one all."""
    lanes, group = tl.arange(0, WIDTH), tl.program_id(2)
    some = lanes < 1 + group * 4
    tl.store(out + lanes, tl.load(x + lanes, some) + group, some)


@triton.jit
def table(x, w, bias, out, channels, PIXELS: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr):
    """What is in use is in memory."""
    lanes = tl.arange(0, WIDTH)
    some = lanes < tl.load(bias).to(tl.int32)
    tl.store(out + lanes, tl.load(x + lanes, some), some)


def buffers(channels: int) -> list[Any]:
    values = np.random.default_rng(0)
    shapes = ((GROUPS * channels, PIXELS), (GROUPS * channels, channels, TAPS), (GROUPS * channels,))
    x, w, bias = (values.integers(-8, 9, shape).astype(np.float32) for shape in shapes)
    return [x, w, bias, np.full((GROUPS * channels, PIXELS), np.nan, np.float32), channels]


def convolved(x: np.ndarray, w: np.ndarray, bias: np.ndarray, channels: int) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1))).reshape(GROUPS, channels, -1)
    windows = np.stack([padded[:, :, tap : tap + PIXELS] for tap in range(TAPS)], axis=2)
    taps = w.reshape(GROUPS, channels, channels, TAPS)
    return np.einsum("gctp,goct->gop", windows, taps).reshape(-1, PIXELS) + bias[:, None]


def of(kernel: Any) -> str:
    return ttir(kernel, SIGNATURE, CONSTANTS)


@pytest.mark.parametrize("channels", [1, 2, 3, 9, 16])
def test_a_grouped_convolution(channels):
    x, w, bias, *rest = buffers(channels)
    got = everywhere(of(depthwise), [x, w, bias, *rest], GRID)[3]
    assert np.array_equal(got, convolved(x, w, bias, channels))


@pytest.mark.parametrize("channels, lanes", [(1, 1), (3, 4), (8, 8), (9, WIDTH)])
def test_tiles_end_where_the_masks_do(channels, lanes):
    plan = plan_of(of(depthwise))
    plan.shorter.clear()
    plan.of_launch.clear()
    run(plan, buffers(channels), GRID, ALWAYS)
    widest = [shorter.widest for shorter in plan.shorter.values()]
    assert widest == ([] if lanes == WIDTH else [WIDTH * lanes])


def test_a_small_launch_is_not_looked_at():
    plan = plan_of(of(depthwise))
    plan.of_launch.clear()
    run(plan, buffers(1), GRID)
    assert not plan.of_launch


@pytest.mark.parametrize("kernel", [normalised, last_program, table])
def test_lanes_in_use_stay(kernel):
    plan, arguments = plan_of(of(kernel)), buffers(1)
    arguments[2][0] = 3
    want, got = (run(plan, arguments, GRID, options).arrays for options in (NEVER, ALWAYS))
    assert [array.tobytes() for array in want] == [array.tobytes() for array in got]
    assert not plan.shorter


def test_a_program_without_any_work_is_checked_all_the_same():
    """What it loads and nobody uses lies outside."""
    x, *rest = buffers(1)
    for options in (NEVER, ALWAYS):
        with pytest.raises(OutOfBounds) as trap:
            run(plan_of(of(depthwise)), [x[:-1], *rest], GRID, options)
        assert trap.value.program == (0, 0, GROUPS - 1)
