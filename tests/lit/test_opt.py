"""triton-opt out of the wheel: its command line, modules of one file, diagnostics, and a compiler that dies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from harness.errors import UnsupportedFlag, UsageError
from harness.lit import opt
from harness.lit.aliases import with_local_scope
from harness.lit.compiler import PassRequest, installed_compiler
from harness.lit.diagnostics import Diagnostic, diagnostics_of, disagreements, expectations_of
from harness.lit.forked import failing_pass, run_opt

# Arithmetic that triton-licm moves out of the loop.
LOOP = """
tt.func @squares(%a: i32, %n: i32, %p: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %square = arith.muli %a, %a : i32
    tt.store %p, %square : !tt.ptr<i32>
  }
  tt.return
}
"""
WRONG = """
tt.func @wrong(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i64
  tt.return %b : i32
}
"""
# The inner bound is the outer variable, and the attribute skips the check that forbids to fuse that.
NEST = """
module attributes {"ttg.num-warps" = 4 : i32} {
tt.func @nest(%n: i64, %p: !tt.ptr<i64>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %n step %c1 : i64 {
    scf.for %j = %c0 to %i step %c1 : i64 {
      tt.store %p, %j : !tt.ptr<i64>
    }
  } {"ttg.always-fuse"}
  tt.return
}
}
"""
# tt.load asks for a number of warps, which nobody gave: the compiler aborts.
NO_WARPS = """
tt.func @load(%p: tensor<32x!tt.ptr<f32>>) -> tensor<32xf32> {
  %x = tt.load %p : tensor<32x!tt.ptr<f32>>
  tt.return %x : tensor<32xf32>
}
"""


def ran(tmp_path: Path, text: str, *flags: str) -> tuple[int, str, str]:
    """Status, output and stderr of triton-opt over this text."""
    path = tmp_path / "input.mlir"
    path.write_text(text, encoding="utf-8")
    with tempfile.TemporaryFile() as empty, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        request = opt.parse_arguments([str(path), *flags])
        result = run_opt(request, empty.fileno(), out.fileno(), err.fileno())
        out.seek(0)
        err.seek(0)
        return result.status, out.read().decode(), err.read().decode()


def test_flags_are_read_in_each_of_their_forms():
    request = opt.parse_arguments(
        ["-a", "--b=x=1 y=2", "-c{z=3}", "in.mlir", "-o", "out", "-split-input-file", "--pass-pipeline=any(d,e)"]
    )
    assert (request.input, request.output, request.split_input_file) == ("in.mlir", "out", True)
    assert request.passes[:3] == (PassRequest("a"), PassRequest("b", "x=1 y=2"), PassRequest("c", "z=3"))
    assert request.passes[3].text == "d,e"


def test_flags_that_change_nothing_are_taken():
    flags = ["--mlir-disable-threading", "-verify-each=true", "--mlir-print-local-scope=false"]
    assert opt.parse_arguments(flags) == opt.OptRequest()


@pytest.mark.parametrize(
    "flag", ["--mlir-print-ir-after-all", "-debug-only=x", "--pass-pipeline=tt.func(cse)", "--run-reproducer"]
)
def test_flags_without_a_counterpart_are_unsupported_by_name(flag):
    with pytest.raises(UnsupportedFlag, match=r"^unsupported: (--.* has no counterpart|a pipeline must begin)"):
        opt.parse_arguments([flag])


@pytest.mark.parametrize("arguments", [["a", "b"], ["-o"], ["-split-input-file=maybe"]])
def test_command_lines_that_are_none(arguments):
    with pytest.raises(UsageError):
        opt.parse_arguments(arguments)


def test_a_pass_runs(tmp_path):
    status, output, errors = ran(tmp_path, LOOP, "-triton-licm")
    assert (status, errors) == (0, "")
    assert output.index("arith.muli") < output.index("scf.for")


def test_options_reach_the_pass_and_the_order_is_kept(tmp_path):
    text = "tt.func @f() {\n  tt.return\n}\n"
    flags = ["-convert-triton-to-tritongpu=target=cuda:90 num-warps=8 threads-per-warp=32 num-ctas=1"]
    assert '"ttg.num-warps" = 8' in ran(tmp_path, text, *flags)[1]


def test_modules_of_a_split_file_are_printed_apart_and_one_that_fails_stops_no_other(tmp_path):
    text = f"{LOOP}// -----\n{WRONG}// -----\n{LOOP}"
    status, output, errors = ran(tmp_path, text, "-split-input-file", "-triton-licm")
    assert status == 1
    first, second, third = output.split("// -----\n")
    assert first == third != second == ""
    line = text.splitlines().index("  %b = arith.addi %a, %a : i64") + 1
    assert f":{line}:19" in errors


def test_expected_diagnostics(tmp_path):
    good = WRONG.replace("  %b", "  // expected-error @+1 {{expects different type than prior uses}}\n  %b")
    assert ran(tmp_path, good, "-verify-diagnostics") == (0, "", "")
    split = f"{LOOP}// -----\n{good}"
    assert ran(tmp_path, split, "-verify-diagnostics", "-split-input-file")[0] == 0


def test_diagnostics_nobody_expects_and_expectations_nobody_meets(tmp_path):
    text = "// expected-error @below {{another}}\n" + WRONG
    status, _, errors = ran(tmp_path, text, "-verify-diagnostics")
    assert status == 1
    unexpected, missing = errors.splitlines()
    assert unexpected.startswith('error: line 4: unexpected error "use of value')
    assert missing == 'error: line 1: expected error "another" was not produced'


def test_diagnostics_nobody_expects_are_nothing_where_only_expected_ones_count(tmp_path):
    assert ran(tmp_path, WRONG, "-verify-diagnostics=only-expected") == (0, "", "")
    missing = "// expected-error @below {{another}}\n" + WRONG
    assert ran(tmp_path, missing, "-verify-diagnostics=only-expected")[0] == 1


def test_a_failure_of_a_pass_can_be_expected(tmp_path):
    loop = "  scf.for %i"
    expected = "  // expected-error @below {{does not dominate}}\n  // expected-note @below {{defined here}}\n"
    text = NEST.replace(loop, expected + loop)
    assert ran(tmp_path, text, "-verify-diagnostics", "-tritongpu-fuse-nested-loops") == (0, "", "")
    assert ran(tmp_path, text, "-verify-diagnostics")[0] == 1


def test_notes_are_asked_for_only_where_they_are_printed(tmp_path):
    """While it reads a module a wheel prints errors alone; a pass's notes count."""
    clash = "tt.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {\n  // expected-error @+1 {{expects different type}}\n"
    clash += "  %c = tt.join %a, %b : tensor<2xf32> -> tensor<2x2xf32>\n  tt.return\n}\n"
    assert ran(tmp_path, "// expected-note @+1 {{prior use}}\n" + clash, "-verify-diagnostics")[0] == 0
    good = "// expected-note @+1 {{prior use}}\n" + LOOP
    assert ran(tmp_path, good, "-verify-diagnostics")[0] == 1


def test_places_of_expectations():
    text = "\n".join(
        [
            "// expected-error @below {{a}}",
            "// expected-note @below {{b}}",
            "code",
            "// expected-warning @above {{c}}",
            "code // expected-remark {{d}}",
            "// expected-error-re @-2 {{e {{[0-9]+}} f}}",
            "// expected-error @unknown {{g}}",
        ]
    )
    found = expectations_of(text, first_line=10)
    assert [(one.severity, one.text, one.line) for one in found] == [
        ("error", "a", 12),
        ("note", "b", 12),
        ("warning", "c", 12),
        ("remark", "d", 14),
        ("error", "e {{[0-9]+}} f", 13),
        ("error", "g", 0),
    ]
    assert found[4].accepts(Diagnostic("error", "so e 12 f.", "x", 13))
    assert not found[4].accepts(Diagnostic("error", "so e x f.", "x", 13))


def test_what_the_wheel_says_beside_the_compiler_is_no_diagnostic():
    log = 'loc("x.mlir":3:4): error: bad\nx.mlir:1:1: error: Failures have been detected while processing an MLIR pass'
    log += " pipeline\nx.mlir:1:1: note: Pipeline failed while executing [...]\nx.mlir:9:2: remark: hm\n"
    found = diagnostics_of(log)
    assert [(one.severity, one.line) for one in found] == [("error", 3), ("error", 1), ("note", 1), ("remark", 9)]
    assert disagreements([], found) == ['line 3: unexpected error "bad"', 'line 9: unexpected remark "hm"']


def test_dialects_nobody_registered(tmp_path):
    text = '"nobody.knows"() : () -> ()\n'
    assert ran(tmp_path, text)[0] == 1
    if installed_compiler().textual.refusal:
        with pytest.raises(UnsupportedFlag):
            opt.check_supported(opt.parse_arguments(["-allow-unregistered-dialect"]), installed_compiler())
    else:
        assert "nobody.knows" in ran(tmp_path, text, "-allow-unregistered-dialect")[1]


def test_aliases_are_written_out_on_request():
    text = "#a = #ttg.b<{x}>\n#c = #ttg.slice<{parent = #a}>\n!t = i32\nf : tensor<4x!t, #c> #ttg.a #a1\n"
    assert with_local_scope(text) == "f : tensor<4xi32, #ttg.slice<{parent = #ttg.b<{x}>}>> #ttg.a #a1\n"


def test_locations_are_printed_on_request(tmp_path):
    assert "loc(" in ran(tmp_path, LOOP, "--mlir-print-debuginfo")[1]
    assert "loc(" not in ran(tmp_path, LOOP)[1]


NAMED = """
tt.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("twice"("%x":1:2))
  %1 = arith.muli %0, %a : i32 loc("product"(unknown))
  tt.return %1 : i32
}
"""


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ((), "%1 = arith.muli %0, %arg0 : i32\n"),
        (("--mlir-print-debuginfo",), "%1 = arith.muli %0, %arg0 : i32 loc(#"),
        (("--mlir-use-nameloc-as-prefix",), "%product = arith.muli %twice, %arg0 : i32\n"),
        (
            ("--mlir-print-debuginfo", "--mlir-use-nameloc-as-prefix"),
            "%product = arith.muli %twice, %arg0 : i32 loc(#",
        ),
    ],
)
def test_values_are_called_after_their_locations_on_request(tmp_path, flags, line):
    """A wheel does so whenever it prints locations."""
    status, output, _ = ran(tmp_path, NAMED, *flags)
    assert status == 0
    assert line in output
    assert ('"%x":1:2' in output) == ("--mlir-print-debuginfo" in flags)


def test_the_pass_that_fails_is_found_among_several(tmp_path):
    path = tmp_path / "input.mlir"
    path.write_text(NEST)
    request = opt.parse_arguments([str(path), "-cse", "-tritongpu-fuse-nested-loops", "-canonicalize"])
    assert failing_pass(request, 1) == "tritongpu-fuse-nested-loops"
    assert failing_pass(opt.parse_arguments([str(path), "-cse"]), 1) == ""


def test_a_signal_that_mlir_catches_is_a_signal(tmp_path):
    """Of an abort MLIR makes a failed pass; triton-opt would have died, and `not --crash` must see that."""
    status, output, errors = ran(tmp_path, NO_WARPS, "-tritongpu-coalesce")
    assert (status, output) == (-6, "")
    assert "LLVM ERROR: failed to lookup the number of warps" in errors


@pytest.mark.parametrize(
    ("log", "crashed"),
    [
        ("m.mlir:0:0: error: A signal was caught while processing the MLIR module: reproducer generated\n", True),
        ("m.mlir:3:3: error: no warps\nLLVM ERROR: failed to lookup the number of warps\n", True),
        ("python: Coalesce.cpp:12: void run(): Assertion `order.size() == rank' failed.\n", True),
        ("m.mlir:0:0: error: Failures have been detected while processing an MLIR pass pipeline\n", False),
    ],
)
def test_what_tells_a_crash_from_a_failed_pass(log, crashed):
    """MLIR words a caught signal in two ways, by what ran in the process before."""
    assert opt.is_crash(log) is crashed
