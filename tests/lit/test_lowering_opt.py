"""`harness opt` with passes of the simulated NPU's lowering, and the tool `harness-opt` of RUN lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UnsupportedFlag, UsageError
from harness.lit.lowering import parse_arguments, pass_names
from harness.lit.tools import tool_call

TEXT = """module {
  tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %3 = tt.load %2 : tensor<8x!tt.ptr<f32>>
    %4 = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %5 = tt.addptr %4, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %5, %3 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "copy.mlir"
    path.write_text(TEXT)
    return path


def test_passes_run_in_the_order_given(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(file), "--npu-analyze-pointers", "--npu-schedule", "--machine=tiny"]) == 0
    out = capfd.readouterr().out
    assert "npu.start_load %x[" in out
    assert "tt.load" not in out
    assert "loc(" not in out


def test_the_ir_after_each_pass(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(file), "--npu-inline", "--npu-analyze-pointers", "--print-after"]) == 0
    first, _, second = capfd.readouterr().out.partition("// after npu-analyze-pointers\n")
    assert first.startswith("// after npu-inline\n")
    assert "tt.load" in first
    assert "npu.load" in second


def test_the_whole_pipeline_is_a_flag() -> None:
    assert parse_arguments(["--npu-lower"]).passes == pass_names()


def test_a_pass_may_be_named_by_a_flag_of_its_own(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(file), "--pass", "npu-analyze-pointers", "--pass=npu-schedule", "--print-after"]) == 0
    named = capfd.readouterr().out
    assert "// after npu-schedule\n" in named
    assert main(["opt", str(file), "--npu-analyze-pointers", "--npu-schedule", "--print-after"]) == 0
    assert capfd.readouterr().out == named
    assert parse_arguments(["--pass", "npu-lower"]).passes == pass_names()


def test_the_program_comes_last(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(file), "--npu-lower", "--npu-encode", "--machine=tiny"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("program ")
    assert "dma_load" in out
    with pytest.raises(UsageError, match="npu-schedule after npu-encode"):
        parse_arguments(["--npu-encode", "--npu-schedule"])


def test_without_addresses_there_is_no_program(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", str(file), "--npu-encode"]) == 2
    assert "npu-allocate, or npu-lower, comes first" in capfd.readouterr().err


def test_modules_of_one_file_are_lowered_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(f"{TEXT}// -----\n{TEXT}")
    assert main(["opt", str(path), "--npu-analyze-pointers", "-split-input-file"]) == 0
    one, two = capfd.readouterr().out.split("// -----\n")
    assert one == two


def test_a_pass_of_tritons_among_ours_is_refused() -> None:
    with pytest.raises(UnsupportedFlag, match="--canonicalize beside passes"):
        parse_arguments(["--npu-inline", "-canonicalize"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--npu-inlin"],
        ["--pass"],
        ["--pass", "canonicalize"],
        ["--pass", "npu-inlin"],
        ["a.mlir", "b.mlir", "--npu-inline"],
        ["--machine"],
    ],
)
def test_what_is_no_command_line_is_said(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_arguments(arguments)
    with pytest.raises(UsageError):
        tool_call(("harness-opt", *arguments))


def test_text_that_is_no_ir_fails_with_its_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.mlir"
    path.write_text("module {\n  tt.nothing\n}\n")
    assert main(["opt", str(path), "--npu-inline"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"UnsupportedOp: {path}:2:")
