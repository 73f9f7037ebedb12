"""Index arithmetic that does wrap around in its type, and memory that one kernel reads and writes."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_kit import check, ops_of

HEAD = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32, %m: i32) {
    %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %p = tt.addptr %xs, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %ns = tt.splat %n : i32 -> tensor<8xi32>
    %ms = tt.splat %m : i32 -> tensor<8xi32>
    %fives = arith.constant dense<5.0> : tensor<8xf32>
"""
TAIL = "    tt.return\n  }\n}\n"
LAST, FIRST = (1 << 31) - 1, -(1 << 31)


def checked(body: str, *scalars: int) -> list[str]:
    return ops_of(check(HEAD + body + TAIL, [np.full(8, 4, np.float32), *scalars], 1))


PREDICATES = ("slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne")


def loaded_where(index: str) -> str:
    """Loads where %at compares with %m, once for each comparison (5 where it does not hold), all in one number."""
    body, total = f"    %at = {index} : tensor<8xi32>\n", "%fives"
    for predicate in PREDICATES:
        body += f"""    %c_{predicate} = arith.cmpi {predicate}, %at, %ms : tensor<8xi32>
    %v_{predicate} = tt.load %p, %c_{predicate}, %fives : tensor<8x!tt.ptr<f32>>
    %t_{predicate} = arith.addf {total}, {total} : tensor<8xf32>
    %d_{predicate} = arith.addf %t_{predicate}, %v_{predicate} : tensor<8xf32>
"""
        total = f"%d_{predicate}"
    return body + f"    tt.store %p, {total} : tensor<8x!tt.ptr<f32>>\n"


@pytest.mark.parametrize("n", [0, LAST - 3, FIRST, FIRST + 3])
@pytest.mark.parametrize("m", [5, -2, LAST - 1, FIRST + 2])
@pytest.mark.parametrize("index", ["arith.addi %ns, %lane", "arith.subi %ns, %lane", "arith.muli %ns, %lane"])
def test_a_mask_is_true_where_it_was(n: int, m: int, index: str) -> None:
    checked(loaded_where(index), n, m)


@pytest.mark.parametrize("m", [0, 5, 8, 9, -2, LAST, FIRST])
@pytest.mark.parametrize(("step", "left"), [(1, 4), (2, 5), (-1, 5), (-4, 6)])
def test_a_bound_holds_where_the_comparison_did(m: int, step: int, left: int) -> None:
    """Of indices that cannot wrap around. What is left of the comparisons: "ne", "eq" of every other index, unsigned
    ones with a number, or of indices, that may be negative, and whether that number is."""
    body = f"    %steps = arith.constant dense<{step}> : tensor<8xi32>\n"
    names = checked(body + loaded_where("arith.muli %lane, %steps"), 0, m)
    assert names.count("arith.cmpi") == left


def test_a_tile_is_what_memory_held_before_the_store_after_it() -> None:
    body = """    %v = tt.load %p : tensor<8x!tt.ptr<f32>>
    tt.store %p, %fives : tensor<8x!tt.ptr<f32>>
    %w = tt.load %p : tensor<8x!tt.ptr<f32>>
    %s = arith.subf %v, %w : tensor<8xf32>
    tt.store %p, %s : tensor<8x!tt.ptr<f32>>
"""
    assert checked(body, 0, 0).count("npu.start_load") == 2


@pytest.mark.parametrize("n", [0, (1 << 28) - 1, -(1 << 28), (1 << 30) + 1])
@pytest.mark.parametrize(("more", "is_bound"), [(0, True), (3, False)])
def test_a_tile_that_begins_at_a_multiple_of_its_extent_cannot_wrap_around(n: int, more: int, is_bound: bool) -> None:
    body = f"""    %eights = arith.constant dense<8> : tensor<8xi32>
    %more = arith.constant dense<{more}> : tensor<8xi32>
    %multiple = arith.muli %ns, %eights : tensor<8xi32>
    %base = arith.addi %multiple, %more : tensor<8xi32>
    %at = arith.addi %base, %lane : tensor<8xi32>
    %c = arith.cmpi slt, %at, %ms : tensor<8xi32>
    tt.store %p, %fives, %c : tensor<8x!tt.ptr<f32>>
"""
    assert ("arith.cmpi" not in checked(body, n, 5)) == is_bound
