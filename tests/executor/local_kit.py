"""Programs that copy four elements of x through the memory inside the chip to four of y."""

from __future__ import annotations

import numpy as np
from executor_kit import Outcome, module, plan_of, pointers, run

from harness.executor import ExecutorOptions, LaunchResult

HEAD = """#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
"""
TILE = "!ttg.memdesc<4xf32, #shared, #smem, mutable>"
TILES = "!ttg.memdesc<2x4xf32, #shared, #smem, mutable>"
# %xs, %ys: pointers to this program's four elements of x and y.
ADDRESSES = """    %four = arith.constant 4 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %four : i32
    %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %firsts = tt.splat %first : i32 -> tensor<4xi32>
    %at = arith.addi %lanes, %firsts : tensor<4xi32>
    %x0 = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %xs = tt.addptr %x0, %at : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %y0 = tt.splat %y : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %ys = tt.addptr %y0, %at : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %twos = arith.constant dense<2.000000e+00> : tensor<4xf32>
"""
STORE = "    tt.store %ys, %v : tensor<4x!tt.ptr<f32>>\n"


def launched(body: str, copies: str = "earliest", programs: int = 3, checks: str = "fast") -> Outcome:
    """One launch of `programs` programs over x = 1, 2, 3, ... and y = 0."""
    x = np.arange(1, 4 * programs + 1, dtype=np.float32)
    y = np.zeros_like(x)
    options = ExecutorOptions(copies=copies, checks=checks)  # type: ignore[arg-type]
    plan = plan_of(HEAD + module(ADDRESSES + body, *pointers(x, y)))
    return run(plan, [x, y], (programs,), options)


def races(result: LaunchResult) -> list[tuple[str, str]]:
    """(buffer, the first words of the message after the program) of each race."""
    return [(one.buffer, one.message.split(") ", 1)[1][:22]) for one in result.findings if one.kind == "race"]
