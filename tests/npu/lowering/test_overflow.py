"""A kernel whose values do not fit is refused with what it needs, what there is, and what would fit."""

from __future__ import annotations

import numpy as np
import pytest
from machine_run import program_of, simulated

from harness.errors import Refusal
from harness.npu.machine import load_machine

LINES = '#a = loc("kernel.py":7:3)\n#b = loc("kernel.py":9:3)\n'


def product(rows: int) -> str:
    tile = f"tensor<{rows}x64xf32>"
    return f"""{LINES}module {{
tt.func public @k(%x: !tt.ptr<f32>, %s: i64) {{
  %one = arith.constant 1 : i64
  %a = npu.load %x[%s, %one] : !tt.ptr<f32> -> {tile} loc(#a)
  %b = npu.load %x[%one, %s] : !tt.ptr<f32> -> {tile} loc(#b)
  %c = arith.addf %a, %b : {tile} loc(#b)
  %d = arith.mulf %a, %c : {tile} loc(#b)
  npu.store %d to %x[%s, %one] : {tile} -> !tt.ptr<f32>
  tt.return
}}
}}
"""


def test_usage_budget_values_lines_and_a_block_that_fits() -> None:
    with pytest.raises(Refusal) as refused:
        program_of(product(128), load_machine("tiny"))
    assert refused.value.what == (
        "the kernel needs 8192 bytes of each lane's scratchpad, and machine 'tiny' has 4096; "
        "the largest: 4096 for tensor<128x64xf32> at kernel.py:7:4; 4096 for tensor<128x64xf32> at kernel.py:9:4"
    )
    assert str(refused.value.where) == "kernel.py:7:4"
    assert refused.value.hint == "blocks of 64x64 in place of 128x64 would fit"
    program_of(product(64), load_machine("tiny"))


def test_too_many_scalars() -> None:
    loads = "\n".join(f"  %v{n} = tt.load %x : !tt.ptr<i32> loc(#a)" for n in range(1100))
    sums = "\n".join(f"  %s{n + 1} = arith.addi %s{n}, %v{n} : i32" for n in range(1100))
    text = f"""{LINES}module {{
tt.func public @k(%x: !tt.ptr<i32>) {{
  %s0 = arith.constant 0 : i32
{loads}
{sums}
  tt.store %x, %s1100 : !tt.ptr<i32>
  tt.return
}}
}}
"""
    with pytest.raises(
        Refusal, match=r"needs 1101 scalar registers, and machine 'default' has 1024; the largest: 1 for a"
    ):
        program_of(text, load_machine("default"))


def test_an_op_without_an_instruction_is_named() -> None:
    text = f"""{LINES}module {{
tt.func public @k(%x: !tt.ptr<i32>) {{
  %v = tt.atomic_load acquire, gpu, %x : (!tt.ptr<i32>) -> i32 loc(#b)
  tt.store %x, %v : !tt.ptr<i32>
  tt.return
}}
}}
"""
    with pytest.raises(Refusal, match=r"kernel.py:9:4: tt.atomic_load has no instruction on the machine"):
        program_of(text, load_machine("default"))


def walk(rows: int) -> str:
    """A loop that doubles tiles of `rows` rows, and one that sums what comes after."""
    tile = f"tensor<{rows}x64xf32>"
    return f"""module {{
tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{
  %one = arith.constant 1 : i64
  %pitch = arith.constant 64 : i64
  %c0 = arith.constant 0 : i32
  %step = arith.constant {rows * 64} : i32
  scf.for %i = %c0 to %n step %step : i32 {{
    %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
    %q = tt.addptr %y, %i : !tt.ptr<f32>, i32
    %a = npu.load %p[%pitch, %one] : !tt.ptr<f32> -> {tile} loc("kernel.py":7:3)
    %b = arith.addf %a, %a : {tile}
    npu.store %b to %q[%pitch, %one] : {tile} -> !tt.ptr<f32>
  }}
  tt.return
}}
}}
"""


@pytest.mark.parametrize(("rows", "loads"), [(16, 3), (64, 1), (128, 1)])
def test_loops_whose_second_buffers_do_not_fit_do_without(rows: int, loads: int) -> None:
    """16 rows are 512 bytes a lane: three buffers fit into 4096. Of 64 and 128 rows only one does."""
    program = program_of(walk(rows), load_machine("tiny"))
    assert [one.opcode for one in program.instructions].count("dma_load") >= loads
    assert any(one.opcode == "apart" for one in program.instructions) == (loads > 1)
    x, y = np.arange(rows * 192, dtype=np.float32), np.zeros(rows * 192, np.float32)
    got = simulated(walk(rows), [x, y, rows * 192], 1, load_machine("tiny"))
    assert got == [x.tobytes(), (2 * x).tobytes()]


def test_without_them_too_much_is_refused_as_such() -> None:
    with pytest.raises(Refusal, match=r"needs 8192 bytes of each lane's .* 8192 for tensor<256x64xf32>") as refused:
        program_of(walk(256), load_machine("tiny"))
    assert refused.value.hint == "blocks of 128x64 in place of 256x64 would fit"
