"""`harness opt --update`: check lines from what is printed, which then hold, and the same each time."""

from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.lit.update import check_lines, update_file

CASE = """// RUN: triton-opt %s -triton-licm | FileCheck %s
// RUN: triton-opt %s | FileCheck %s --check-prefix=PLAIN

// What the case is about stays.

// CHECK: old
// CHECK-NOT: older
// OTHER: of nobody's
tt.func @squares(%a: i32, %n: i32, %p: !tt.ptr<i32>) {
  // PLAIN-NEXT: old too
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %square = arith.muli %a, %a : i32
    tt.store %p, %square : !tt.ptr<i32>
  }
  tt.return
}
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "case.mlir"
    path.write_text(CASE)
    return path


def test_check_lines_are_written_anew_above_their_function(path, judge):
    assert update_file(path)
    text = path.read_text()
    assert "old" not in text.replace("holds", "")
    assert "// What the case is about stays.\n" in text and "// OTHER: of nobody's\n" in text
    lines = text.splitlines()
    function = lines.index("tt.func @squares(%a: i32, %n: i32, %p: !tt.ptr<i32>) {")
    start = lines.index("// CHECK-LABEL: tt.func @squares(")
    assert all(line.startswith(("// CHECK", "// PLAIN", "// OTHER")) for line in lines[start:function])
    moved = [line for line in lines if line.startswith("// CHECK-NEXT")]
    order = [next(i for i, line in enumerate(moved) if word in line) for word in ("arith.muli", "scf.for")]
    assert order == sorted(order)
    assert judge(text).outcome == "pass"


def test_a_second_time_changes_nothing(path):
    update_file(path)
    before = path.read_text()
    assert not update_file(path)
    assert path.read_text() == before


def test_the_lines_that_are_written_can_fail(path, judge):
    update_file(path)
    assert judge(path.read_text().replace("%square = arith.muli", "%square = arith.addi")).bucket == "filecheck"


def test_two_run_lines_with_one_prefix_and_two_outputs_are_refused(path):
    path.write_text(CASE.replace("--check-prefix=PLAIN", ""))
    with pytest.raises(UsageError, match=r"case.mlir:2: two RUN lines print different things for CHECK"):
        update_file(path)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("triton-opt %s", "no RUN line pipes triton-opt into FileCheck"),
        ("triton-opt %s -tritongpu-coalesce -o /no/such/folder/x | FileCheck %s", "triton-opt failed: "),
    ],
)
def test_what_cannot_be_updated_is_refused_and_left_alone(path, run, said):
    text = CASE.replace("-triton-licm", "").replace("triton-opt %s  | FileCheck %s\n", f"{run}\n", 1)
    path.write_text("\n".join(line for line in text.splitlines() if "PLAIN" not in line))
    before = path.read_text()
    with pytest.raises(UsageError, match=said):
        update_file(path)
    assert path.read_text() == before


def test_names_by_chance_become_variables_and_everything_else_stays():
    printed = """#blocked = #ttg.blocked<{order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @f(%arg0: tensor<4xi32, #blocked>) -> i32 {
    %0:2 = "x.y"(%arg0) ({
    ^bb0(%arg1: i32):
      x.z %arg1 {a = [[1, 2], [3]]}
    }) : (tensor<4xi32, #blocked>) -> (i32, i32)
    tt.return %0#1 : i32
  }
}
// -----
#blocked = #ttg.blocked<{order = [1]}>
module {
  tt.func @f(%arg0: tensor<4xi32, #blocked>) {
  }
}
"""
    sections = check_lines(printed, "A")
    assert [name for name, _ in sections] == ["", "f", "", "f"]
    word = "[A-Za-z0-9_]+"
    assert sections[0][1] == [f"// A-DAG: #[[$BLOCKED:{word}]] = #ttg.blocked<{{order = [0]}}>"]
    assert sections[2][1] == [f"// A-DAG: #[[$BLOCKED:{word}]] = #ttg.blocked<{{order = [1]}}>"]
    assert sections[1][1] == [
        "// A-LABEL: tt.func public @f(",
        f"// A-SAME: %[[ARG0:{word}]]: tensor<4xi32, #[[$BLOCKED]]>) -> i32 {{",
        f'// A-NEXT: %[[V0:{word}]]:2 = "x.y"(%[[ARG0]]) ({{',
        f"// A-NEXT: ^[[BB0:{word}]](%[[ARG1:{word}]]: i32):",
        r"// A-NEXT: x.z %[[ARG1]] {a = {{\[\[}}1, 2], [3]]}",
        "// A-NEXT: }) : (tensor<4xi32, #[[$BLOCKED]]>) -> (i32, i32)",
        "// A-NEXT: tt.return %[[V0]]#1 : i32",
    ]
