"""`harness coverage`: what the cases executed against what the front end can produce."""

from __future__ import annotations

import json

import pytest

from harness.cases.evidence import Evidence, Verdict
from harness.cli import main
from harness.commands.coverage import coverage_map
from harness.commands.front_end_ops import FRONT_END_OPS, UNREACHABLE
from harness.reports import Recorder, RunInfo
from harness.targets.op_usage import ops_used
from harness.verdicts import Fingerprint

TTIR = """\
#loc = loc("k.py":7:0)
module {
  tt.func public @k(%x: !tt.ptr<f64> loc("x"(#loc)), %f16: i32 loc(unknown)) attributes {noinline = false} {
    %v = arith.constant dense<0xFF800000> : tensor<4xf32> loc(#loc)
    %row = tt.get_program_id x : i32 loc(#loc)
    %cols = tt.make_range {end = 1024 : i64, start = 0 : i64} : tensor<1024xi32> loc(#loc)
    %m = arith.cmpi slt, %cols, %f16 : tensor<4xi16> loc(#loc)
    %s = arith.select %m, %v, %v : tensor<4xi1>, tensor<4xf32> loc(callsite(#loc at #loc))
    %p = tt.addptr %x, %row : !tt.ptr<f64>, i32 loc(#loc)
    %r:2 = "tt.reduce"(%s, %s) <{axis = 0 : i8}> ({
    ^bb0(%a: f32 loc(#loc), %b: f32 loc(#loc)):
      %c = arith.addf %a, %b : f32 loc(#loc)
      tt.reduce.return %c : f32 loc(#loc)
    }) : (tensor<4xf32>, tensor<4xbf16>) -> (f32, bf16) loc(#loc)
    %h = arith.truncf %s : tensor<4xf32> to tensor<4xf16> loc(#loc)
    %d = tt.dot %h, %h, %s, inputPrecision = ieee : tensor<4x4xf16> * tensor<4x4xf16> -> tensor<4x4xf32> loc(#loc)
    %e = tt.dot_scaled %h scale %h, %h, %s lhs = e2m1 rhs = bf16 {fastMath = false} : tensor<4x4xi8> -> tensor<4xf32>
    %o = tt.atomic_rmw fadd, acq_rel, gpu, %p, %r#0, %m : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<4xi1>) -> f32
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""


def test_ops_are_read_with_the_types_they_work_on():
    assert ops_used([TTIR]) == {
        "arith.addf": ["f32"],
        "arith.cmpi": ["i16", "slt"],
        "arith.constant": ["f32"],
        "arith.select": ["f32"],
        "arith.truncf": ["f32->f16"],
        "tt.addptr": ["f64", "i32"],
        "tt.atomic_rmw": ["fadd f32"],
        "tt.dot": ["f16"],
        "tt.dot_scaled": ["bf16", "e2m1"],
        "tt.get_program_id": ["x"],
        "tt.make_range": ["i32"],
        "tt.reduce": ["bf16", "f32"],
        "tt.reduce.return": ["f32"],
        "tt.return": [],
    }


def verdict(case: str, outcome: str, operations: dict[str, list[str]]) -> Verdict:
    evidence = Evidence(case, "npu", stage="compare", operations=operations)
    return Verdict(case, "npu", outcome, "compare", "", "", evidence)


def test_only_passing_cases_count_and_holes_have_names():
    verdicts = [
        verdict("a", "pass", {"arith.addf": ["f32"], "scf.yield": [], "gpu.barrier": [], "tt.new_op": []}),
        verdict("b", "fail", {"arith.addf": ["f64"], "arith.subf": ["f32"]}),
    ]
    expected = {"arith.addf": ("f32", "f64"), "arith.subf": ("f32",), "ttg.barrier": ()}
    found = coverage_map(verdicts, expected)
    add, subtract, barrier = found.ops
    assert (add.cases, add.covered, add.missing) == (("a",), ("f32",), ("f64",))
    assert (subtract.is_hole, barrier.is_hole) == (True, False)
    assert found.unlisted == ("tt.new_op",)


def test_an_op_no_case_can_execute_says_why_and_one_that_a_case_did_does_not():
    expected = {"tt.advance": (), "ub.poison": (), "tt.new": ()}
    advance, poison, new = coverage_map([verdict("a", "pass", {"tt.advance": []})], expected).ops
    assert (advance.is_hole, advance.reason) == (False, "")
    assert poison.is_hole and "--target ttir" in poison.reason
    assert new.is_hole and not new.reason


def test_reasons_are_about_ops_of_the_table():
    assert set(UNREACHABLE) - set(FRONT_END_OPS) == set()


def test_everything_in_the_table_can_be_read():
    """An op the front end produces and harness.ir does not define would be refused in every kernel."""
    from harness.ir.registry import registry

    known = set(registry().operations)
    assert set(FRONT_END_OPS) - known == set()


@pytest.mark.parametrize("format_", ["text", "md", "json"])
def test_the_command_prints_the_map_of_a_record(tmp_path, capsys, format_):
    recorder = Recorder.start(tmp_path, RunInfo(), Fingerprint)
    recorder.add(verdict("k/a.py::a[npu]", "pass", {"arith.addf": ["f32"]}))
    recorder.finish()
    assert main(["coverage", str(tmp_path), "--format", format_]) == 0
    text = capsys.readouterr().out
    assert "arith.addf" in text and "arith.subf" in text
    assert "rewrites it" in text
    if format_ == "json":
        assert json.loads(text)["ops"][0]["covered"] == ["f32"]


def test_a_run_of_some_cases_says_what_it_leaves_out(tmp_path, capsys):
    for cases in (["k/a.py::a[npu]", "k/b.py::b[npu]", "k/c.py::c[npu]"], ["k/b.py::b[npu]"]):
        recorder = Recorder.start(tmp_path, RunInfo(("pytest", "-k", "x")), Fingerprint)
        for case in cases:
            recorder.add(verdict(case, "pass", {"arith.addf": ["f32"]}))
        recorder.finish()
    assert main(["coverage", str(tmp_path)]) == 0
    told = "Of a run of 1 case (pytest -k x). Not part of it: 2 cases of earlier runs, such as k/a.py::a[npu]."
    assert told in capsys.readouterr().out


def test_a_record_without_ops_is_one_sentence(tmp_path, capsys):
    recorder = Recorder.start(tmp_path, RunInfo(), Fingerprint)
    recorder.add(verdict("k/a.py::a[gpu]", "pass", {}))
    recorder.finish()
    assert main(["coverage", str(tmp_path)]) == 2
    said = "no case of the record says which ops it executed (cases do that ran to their end on the npu or ttir target)"
    assert said in capsys.readouterr().err
