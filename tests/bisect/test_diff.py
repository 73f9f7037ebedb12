"""The difference of two modules: what the pass changed, and nothing that only moved or was renumbered."""

from __future__ import annotations

from harness.bisect.diff import module_diff
from harness.cases.location import SourceLocation

BEFORE = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#loc = loc("kernel.py":3:0)
#loc1 = loc("kernel.py":5:4)
#loc2 = loc("/x/triton/language/standard.py":9:4)
#loc3 = loc("kernel.py":7:8)
#loc4 = loc("sum"(#loc1))
#loc5 = loc(callsite(#loc2 at #loc3))
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @kernel(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32 loc("n"(#loc))) {
    %0 = arith.addi %n, %n : i32 loc(#loc4)
    %1 = arith.muli %0, %n : i32 loc(#loc5)
    %2 = tt.addptr %x, %1 : !tt.ptr<f32>, i32 loc(#loc4)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""


def edited(*pairs: tuple[str, str]) -> str:
    text = BEFORE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_renumbered_values_and_moved_locations_are_no_difference() -> None:
    after = edited(("%1", "%b"), ("%0", "%1"), ("%2", "%0"), ("kernel.py", "other.py"), ("#loc4)", "#loc5)"))
    assert module_diff(BEFORE, after).changed == ()


def test_a_changed_op_is_shown_alone_with_the_line_of_the_kernel_it_came_from() -> None:
    inserted = "    %9 = arith.constant 7 : i32 loc(#loc4)\n    %1 = arith.subi %0, %n : i32 loc(#loc5)"
    diff = module_diff(BEFORE, edited(("    %1 = arith.muli %0, %n : i32 loc(#loc5)", inserted)))
    assert [one.sign + one.text for one in diff.changed] == [
        "-    %1 = arith.muli %0, %n : i32",
        "+    %9 = arith.constant 7 : i32",
        "+    %1 = arith.subi %0, %n : i32",
    ]
    assert diff.ops() == ["+1 arith.constant", "-1 arith.muli", "+1 arith.subi"]
    assert SourceLocation("kernel.py", 7) in diff.places(), "the caller's line, not that of Triton's library"


def test_layouts_show_only_where_nothing_else_has_changed() -> None:
    before = edited(("%0 = arith.addi %n, %n : i32", "%0 = tt.splat %n : i32 -> tensor<4xi32, #blocked>"))
    other = before.replace("-> tensor<4xi32, #blocked>", "-> tensor<4xi32, #other>")
    assert len(module_diff(before, other).changed) == 2
    both = other.replace("arith.muli", "arith.subi")
    assert [one.op for one in module_diff(before, both).changed] == ["arith.muli", "arith.subi"]
