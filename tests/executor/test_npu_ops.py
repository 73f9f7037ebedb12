"""The `npu` dialect in the executor: strided transfers with bounds and wrap-around, at once and begun early."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from executor_kit import EXAMPLES, everywhere, module, plan_of, pointers, run
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import OutOfBounds
from harness.executor import ExecutorOptions
from harness.executor.plan import ExecutorBug

COPIES = ("earliest", "latest")


def index_of(position: int, wrap: tuple[int, int] | None) -> int:
    return position if wrap is None else int(np.fmod(wrap[0] + position, wrap[1]))


@st.composite
def transfers(
    draw: st.DrawFn,
) -> tuple[tuple[int, int], list[int], list[tuple[int, int]], list[tuple[int, int] | None]]:
    """Extents, strides, bounds and wraps of a tile that stays within 256 elements before and behind."""
    extents = draw(st.sampled_from([(4, 8), (1, 8), (8, 2)]))
    strides = draw(st.lists(st.integers(-9, 9), min_size=2, max_size=2))
    bounds = [tuple(draw(st.tuples(st.integers(-3, extent + 2), st.integers(-3, extent + 2)))) for extent in extents]
    wraps = [draw(st.none() | st.tuples(st.integers(-20, 20), st.integers(1, 9))) for _ in extents]
    return extents, strides, bounds, wraps  # type: ignore[return-value]


def constants(numbers: dict[str, int]) -> str:
    return "".join(f"    %{name} = arith.constant {number} : i64\n" for name, number in numbers.items())


@given(transfers(), st.booleans())
@EXAMPLES
def test_loads_what_the_description_says(case: tuple, masked: bool) -> None:
    extents, strides, bounds, wraps = case
    numbers = {"s0": strides[0], "s1": strides[1]}
    for axis in (0, 1):
        numbers |= {f"l{axis}": bounds[axis][0], f"u{axis}": bounds[axis][1]}
        start, size = wraps[axis] or (0, 1)
        numbers |= {f"w{axis}": start, f"z{axis}": size}
    wrapped = [f"{axis}: %w{axis} mod %z{axis}" for axis in (0, 1) if wraps[axis] is not None]
    wrap = f" wrap [{', '.join(wrapped)}]" if wrapped else ""
    shape = "x".join(map(str, extents))
    mask = f" mask %odd : tensor<{extents[0]}x1xi1>" if masked else ""
    odd = ", ".join(f"[{str(bool(row % 2)).lower()}]" for row in range(extents[0]))
    body = (
        constants(numbers)
        + f"""    %odd = arith.constant dense<[{odd}]> : tensor<{extents[0]}x1xi1>
    %other = arith.constant 7.000000e+00 : f32
    %a = npu.load %x[%s0, %s1] lower [0: %l0, 1: %l1] upper [0: %u0, 1: %u1]{wrap}{mask}
        other %other : f32 : !tt.ptr<f32> -> tensor<{shape}xf32>
    %row = arith.constant {extents[1]} : i64
    %one = arith.constant 1 : i64
    npu.store %a to %y[%row, %one] : tensor<{shape}xf32> -> !tt.ptr<f32>"""
    )
    x, y = np.arange(512, dtype=np.float32), np.zeros(extents, np.float32)
    got = everywhere(module(body, *pointers(x, y)), [(x, 256), y])[1]
    for at in product(*map(range, extents)):
        inside = all(low <= i < high for i, (low, high) in zip(at, bounds, strict=True)) and (not masked or at[0] % 2)
        address = 256 + sum(s * index_of(i, w) for s, i, w in zip(strides, at, wraps, strict=True))
        assert got[at] == (x[address] if inside else 7), at


PER_PROGRAM = """    %pid = tt.get_program_id x : i32
    %p = arith.extsi %pid : i32 to i64
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %four = arith.constant 4 : i64
    %eight = arith.constant 8 : i64
    %first = arith.muli %p, %eight : i64
    %xs = tt.addptr %x, %first : !tt.ptr<f32>, i64
    %ys = tt.addptr %y, %first : !tt.ptr<f32>, i64
"""


def test_strides_bounds_and_wraps_may_differ_between_programs() -> None:
    body = (
        PER_PROGRAM
        + """    %step = arith.addi %p, %one : i64
    %a = npu.load %x[%step] upper [0: %p] wrap [0: %p mod %step] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
    )
    x, y = np.arange(1, 101, dtype=np.float32), np.zeros((6, 8), np.float32)
    got = everywhere(module(body, *pointers(x, y)), [x, y], (6,))[1]
    for p in range(6):
        want = [x[(p + 1) * ((p + i) % (p + 1))] if i < p else 0 for i in range(8)]
        assert got[p].tolist() == want


def test_outside_of_a_buffer_is_a_trap_that_names_the_program() -> None:
    body = (
        PER_PROGRAM
        + """    %a = npu.load %xs[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %a to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
    )
    x, y = np.zeros(20, np.float32), np.zeros(24, np.float32)
    with pytest.raises(OutOfBounds, match=r"buffer 'x'.* by program \(2, 0, 0\)"):
        run(plan_of(module(body, *pointers(x, y))), [x, y], (3,))


# --- begun and waited for --------------------------------------------------------------------------------------

OVERWRITTEN = (
    PER_PROGRAM
    + """    %twos = arith.constant dense<2.000000e+00> : tensor<8xf32>
    %t:2 = npu.start_load %xs[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %twos to %xs[%one] : tensor<8xf32> -> !tt.ptr<f32>
    %a = npu.wait %t#1, %t#0 : tensor<8xf32>
    npu.store %a to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
)


@pytest.mark.parametrize(("copies", "want"), [("earliest", 1), ("latest", 2)])
def test_a_load_reads_memory_at_its_start_or_at_its_wait(copies: str, want: int) -> None:
    x, y = np.ones(24, np.float32), np.zeros(24, np.float32)
    options = ExecutorOptions(copies=copies)  # type: ignore[arg-type]
    got = run(plan_of(module(OVERWRITTEN, *pointers(x, y))), [x, y], (3,), options).arrays[1]
    assert (got == want).all()


@pytest.mark.parametrize(("copies", "want"), [("earliest", 2), ("latest", 1)])
def test_a_store_writes_memory_at_its_start_or_at_its_wait(copies: str, want: int) -> None:
    body = (
        PER_PROGRAM
        + """    %twos = arith.constant dense<2.000000e+00> : tensor<8xf32>
    %t = npu.start_store %twos to %xs[%one] : tensor<8xf32> -> !tt.ptr<f32>
    %a = npu.load %xs[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.wait %t
    npu.store %a to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
    )
    x, y = np.ones(24, np.float32), np.zeros(24, np.float32)
    options = ExecutorOptions(copies=copies)  # type: ignore[arg-type]
    outcome = run(plan_of(module(body, *pointers(x, y))), [x, y], (3,), options)
    assert (outcome.arrays[1] == want).all()
    assert (outcome.arrays[0] == 2).all()


@pytest.mark.parametrize("copies", COPIES)
def test_a_tile_that_nobody_waited_for_is_no_value(copies: str) -> None:
    body = (
        PER_PROGRAM
        + """    %t:2 = npu.start_load %xs[%one] : !tt.ptr<f32> -> tensor<8xf32>
    npu.store %t#0 to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
    )
    x, y = np.ones(24, np.float32), np.zeros(24, np.float32)
    with pytest.raises(ExecutorBug):
        run(plan_of(module(body, *pointers(x, y))), [x, y], (3,), ExecutorOptions(copies=copies))  # type: ignore[arg-type]


CARRIED = (
    PER_PROGRAM
    + """    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %init = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %t:2 = npu.start_load %xs[%one] : !tt.ptr<f32> -> tensor<8xf32>
    %r:3 = scf.for %i = %i0 to %pid step %i1 iter_args(%sum = %init, %tile = %t#0, %token = %t#1)
        -> (tensor<8xf32>, tensor<8xf32>, !npu.token)  : i32 {
      %a = npu.wait %token, %tile : tensor<8xf32>
      %next = arith.addf %sum, %a : tensor<8xf32>
      %odd = arith.andi %i, %i1 : i32
      %is_odd = arith.cmpi eq, %odd, %i1 : i32
      %u:2 = scf.if %is_odd -> (tensor<8xf32>, !npu.token) {
        %v:2 = npu.start_load %x[%one] : !tt.ptr<f32> -> tensor<8xf32>
        scf.yield %v#0, %v#1 : tensor<8xf32>, !npu.token
      } else {
        %v:2 = npu.start_load %xs[%one] upper [0: %four] : !tt.ptr<f32> -> tensor<8xf32>
        scf.yield %v#0, %v#1 : tensor<8xf32>, !npu.token
      }
      scf.yield %next, %u#0, %u#1 : tensor<8xf32>, tensor<8xf32>, !npu.token
    }
    %last = npu.wait %r#2, %r#1 : tensor<8xf32>
    %all = arith.addf %r#0, %last : tensor<8xf32>
    npu.store %all to %ys[%one] : tensor<8xf32> -> !tt.ptr<f32>"""
)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("elements", [1 << 18, 1])
def test_what_is_outstanding_goes_round_loops_that_programs_leave_one_by_one(copies: str, elements: int) -> None:
    x, y = np.arange(48, dtype=np.float32), np.zeros((6, 8), np.float32)
    options = ExecutorOptions(copies=copies, batch_elements=elements)  # type: ignore[arg-type]
    got = run(plan_of(module(CARRIED, *pointers(x, y))), [x, y], (6,), options).arrays[1]
    rows = x.reshape(6, 8)
    for p in range(6):
        half = np.where(np.arange(8) < 4, rows[p], 0)
        want = rows[p] + sum((rows[0] if i % 2 else half for i in range(p)), np.zeros(8))
        assert got[p].tolist() == want.tolist()


def test_a_described_tensor_gives_its_pointer_and_what_lies_around_it() -> None:
    body = """    %p = npu.descriptor_base %d : !tt.tensordesc<tensor<2x4xf32>> -> !tt.ptr<f32>
    %f = npu.descriptor_fill %d : !tt.tensordesc<tensor<2x4xf32>> -> f32
    %one = arith.constant 1 : i64
    %four = arith.constant 4 : i64
    %a = npu.load %p[%four, %one] upper [0: %one] other %f : f32 : !tt.ptr<f32> -> tensor<2x4xf32>
    npu.store %a to %y[%four, %one] : tensor<2x4xf32> -> !tt.ptr<f32>"""
    from harness.executor import Allocation, DescriptorArgument, Memory, PointerArgument, launch

    plan = plan_of(module(body, "%d: !tt.tensordesc<tensor<2x4xf32>>", "%y: !tt.ptr<f32>"))
    x, y, memory = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), Memory()
    places = [
        PointerArgument(memory.add(Allocation(name, array.view(np.uint8), 0x1000 * at, 4)))
        for at, (name, array) in enumerate((("x", x), ("y", y)), 1)
    ]
    described = DescriptorArgument(places[0], (2, 4), (4, 1), "nan")
    launch(plan, (1, 1, 1), [described, places[1]], memory)
    assert y[:4].tolist() == [0, 1, 2, 3]
    assert np.isnan(y[4:]).all()
