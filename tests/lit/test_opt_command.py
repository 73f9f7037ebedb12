"""`harness opt` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.lit.compiler import installed_compiler

MODULE = "tt.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  tt.return %a : i32\n}\n"
NO_WARPS = "tt.func @load(%p: tensor<32x!tt.ptr<f32>>) {\n  %x = tt.load %p : tensor<32x!tt.ptr<f32>>\n  tt.return\n}\n"


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "input.mlir"
    path.write_text(MODULE)
    return path


def test_passes_run_and_the_module_is_printed(file, capfd):
    assert main(["opt", str(file), "-canonicalize"]) == 0
    out, err = capfd.readouterr()
    assert "tt.return %arg0" in out and "arith.addi" not in out and err == ""


def test_the_output_goes_where_it_is_asked_for(file, tmp_path, capfd):
    assert main(["opt", "-cse", str(file), "-o", str(tmp_path / "out.mlir")]) == 0
    assert capfd.readouterr().out == ""
    assert "arith.addi" not in (tmp_path / "out.mlir").read_text()


def test_an_input_that_is_no_module_is_a_diagnostic(file, capfd):
    file.write_text("nonsense\n")
    assert main(["opt", str(file)]) == 1
    assert "input.mlir" in capfd.readouterr().err


def test_a_crash_is_said_in_a_sentence(file, capfd):
    file.write_text(NO_WARPS)
    assert main(["opt", str(file), "-cse", "-tritongpu-coalesce"]) in (0, 128 + 6)
    file.write_text(NO_WARPS.replace("tt.return", "tt.store %p, %x : tensor<32x!tt.ptr<f32>>\n  tt.return"))
    assert main(["opt", str(file), "-cse", "-tritongpu-coalesce"]) == 128 + 6
    assert "harness opt: the compiler ended by SIGABRT in tritongpu-coalesce" in capfd.readouterr().err


@pytest.mark.parametrize("place", ["no/such/folder/out.mlir", "."])
def test_an_output_that_cannot_be_written_is_a_sentence(file, tmp_path, capfd, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    assert main(["opt", str(file), "-cse", "-o", place]) == 2
    assert capfd.readouterr().err.startswith(f"triton-opt: cannot write {place}: ")


def test_an_input_that_is_not_there_is_a_sentence(tmp_path, capfd):
    assert main(["opt", str(tmp_path / "none.mlir")]) == 2
    assert capfd.readouterr().err == f"triton-opt: cannot read {tmp_path}/none.mlir: No such file or directory\n"


def test_what_the_wheel_cannot_do_is_a_sentence_and_no_pass(file, capfd):
    assert main(["opt", str(file), "--no-such-pass"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == f"harness: unsupported: no-such-pass has no binding in triton {installed_compiler().release}\n"


def test_the_list_of_passes_has_flags_options_and_the_way(capfd):
    assert main(["opt", "--list-passes"]) == 0
    out = capfd.readouterr().out
    count, _, rest = out.partition(" passes of triton ")
    rows = [line.split() for line in rest.splitlines()[1:] if line.startswith("  --")]
    assert int(count) == len(rows) == len({row[0] for row in rows})
    listed = {row[0]: row[1:] for row in rows}
    assert listed["--triton-combine"] == ["passes.ttir.add_combine"]
    assert listed["--tritongpu-pipeline"][0] == "passes.ttgpuir.add_pipeline"
    assert "num-stages" in " ".join(listed["--tritongpu-pipeline"])


def test_a_case_is_updated_and_what_is_done_is_said(file, capfd):
    file.write_text("// RUN: triton-opt %s -cse | FileCheck %s\n" + MODULE)
    assert main(["opt", "--update", str(file)]) == 0
    assert capfd.readouterr().out.endswith("input.mlir: check lines rewritten, for you to read\n")
    assert main(["opt", "--update", str(file)]) == 0
    assert capfd.readouterr().out.endswith("input.mlir: as it was\n")


def test_without_arguments_it_says_how_it_is_used(capfd):
    assert main(["opt"]) == 0
    assert "--list-passes" in capfd.readouterr().out
    assert main(["opt", "--update"]) == 2
