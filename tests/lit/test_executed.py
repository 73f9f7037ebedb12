"""`harness-exec`: two modules are executed on the same inputs and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lit import executed

ADD = """tt.func public @add(%out: !tt.ptr<i32>, %x: i32, %y: f32) -> f32 {
  %one = arith.constant 1 : i32
  %sum = arith.addi %x, %one : i32
  tt.store %out, %sum : !tt.ptr<i32>
  tt.return %y : f32
}
"""
RUN = "// RUN: harness-exec %s %t.mlir --arguments=8,5,0.5\n"


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("%out", "%out", ""),
        (
            "constant 1",
            "constant 2",
            "with 8,5,0.5 argument 0: 1 of 8 elements differ, first element 0: 6 became 7",
        ),
        (
            "return %y",
            "return %z",
            "with 8,5,0.5 returned value 0: 1 of 1 elements differ, first element 0: 0.5 became 1.0",
        ),
        ("tt.store %out", "tt.store %far", "the module after is stopped: OutOfBounds"),
    ],
)
def test_what_a_module_leaves_is_compared(
    old: str, new: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    more = "  %z = arith.addf %y, %y : f32\n  %n = arith.constant 9 : i32\n"
    more += "  %far = tt.addptr %out, %n : !tt.ptr<i32>, i32\n"
    before = ADD.replace("  %one", f"{more}  %one", 1)
    files = write(tmp_path, "before.mlir", before), write(tmp_path, "after.mlir", before.replace(old, new, 1))
    assert executed.main([*files, "--arguments=8,5,0.5"]) == (executed.DIFFERS if said else 0)
    err = capfd.readouterr().err
    assert said in err and bool(err) is bool(said)


def test_each_program_of_a_grid_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Only program 2 is wrong."""
    text = """tt.func public @ids(%out: !tt.ptr<i32>) {
  %i = tt.get_program_id x : i32
  %two = arith.constant 2 : i32
  %p = tt.addptr %out, %i : !tt.ptr<i32>, i32
  %q = arith.minsi %i, %two : i32
  tt.store %p, %q : !tt.ptr<i32>
  tt.return
}
"""
    files = write(tmp_path, "a.mlir", text), write(tmp_path, "b.mlir", text.replace("constant 2", "constant 1"))
    assert executed.main([*files, "--arguments=4", "--grid=2"]) == 0
    assert executed.main([*files, "--arguments=4", "--grid=3"]) == executed.DIFFERS
    assert "first element 2: 2 became 1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one.mlir"], "takes two files"),
        (["a.mlir", "b.mlir", "--argument=3"], "has no --argument"),
        (["a.mlir", "b.mlir", "--grid=0"], "is no number of programs"),
        (["{before}", "{before}", "--arguments=3"], "takes 3 arguments, --arguments has 1"),
        (["{before}", "{before}", "--arguments=3,x,1"], "argument 1 is no number: 'x'"),
        (["{before}", "{before}", "--arguments=0,5,0.5"], "itself is stopped"),
        (["absent.mlir", "{before}", "--arguments=0"], "absent.mlir cannot be read"),
    ],
)
def test_a_wrong_command_is_its_author_s(words: list[str], said: str, tmp_path: Path) -> None:
    before = write(tmp_path, "before.mlir", ADD)
    with pytest.raises(UsageError, match=said):
        executed.main([word.format(before=before) for word in words])


def test_a_case_whose_pass_changes_what_is_computed(judge) -> None:
    """A stand-in for a pass: sed."""
    verdict = judge(f"// RUN: sed 's/constant 1/constant 2/' %s > %t.mlir\n{RUN}{ADD}")
    assert (verdict.outcome, verdict.bucket, verdict.stage) == ("fail", "filecheck", "harness-exec")
    assert "1 of 8 elements differ" in verdict.summary
    assert judge(f"// RUN: triton-opt %s -canonicalize -o %t.mlir\n{RUN}{ADD}").outcome == "pass"


def test_an_op_without_a_meaning_is_named(judge) -> None:
    unknown = ADD.replace("  tt.return", '  "nobody.knows"() : () -> ()\n  tt.return')
    verdict = judge(f"// RUN: harness-exec %s %s --arguments=8,5,0.5\n{unknown}")
    assert (verdict.outcome, verdict.bucket) == ("fail", "unsupported-op")
    assert "nobody.knows" in verdict.summary
