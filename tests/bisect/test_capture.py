"""The modules before every pass, whatever becomes of the compiler."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.bisect.capture import LAST_STAGE, capturing, gpu_target, run_apart
from harness.bisect.stages import FINAL, Capture, modules_of
from harness.cases.loading import load_templates
from harness.errors import UsageError

CASES = Path(__file__).with_name("bisect_cases.py")


def captured(target: str, kernel: str, *arguments: Any, grid: tuple[int, ...] = (1,), **options: Any) -> list[Capture]:
    """The captures of one `kernel[grid](...)`."""
    module = {template.name: template for template in load_templates(CASES)}[kernel].build.__globals__
    captures: list[Capture] = []
    with capturing(gpu_target(target), lambda capture, *rest: captures.append(capture)):
        module[f"{kernel}_kernel"][grid](*arguments, **options)
    return captures


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942"])
def test_every_pass_of_both_stages(target: str) -> None:
    x, out = torch.zeros(100), torch.zeros(100)
    (one,) = captured(target, "double", x, out, 100, BLOCK=64, grid=(2,))
    names = [stage.pass_name for stage in one.stages]
    assert one.failure is None
    assert (one.kernel, names[0], names[-1]) == ("double_kernel", "inline", FINAL)
    assert {"triton-loop-unroll", "convert-triton-to-tritongpu", "tritongpu-coalesce"} <= set(names)
    pipelines = [stage.pipeline for stage in one.stages]
    first = names.index("convert-triton-to-tritongpu")
    assert pipelines == ["ttir"] * first + ["ttgir"] * (len(names) - first)
    assert "ttg.target" in one.stages[-1].text and "ttg.target" not in one.stages[0].text
    assert all(stage.text.rstrip().splitlines()[-1].startswith(("#", "}")) for stage in one.stages)


def test_arguments_are_specialised_as_on_the_device() -> None:
    x, out = torch.zeros(128), torch.zeros(128)
    (one,) = captured("cuda:90", "double", x, out, 128, BLOCK=64)
    (odd,) = captured("cuda:90", "double", x[1:], out, 1, BLOCK=64)
    assert one.stages[0].text.count("tt.divisibility = 16") >= 3
    assert "%n: i32" not in odd.stages[0].text


def test_nothing_of_it_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second capture compiles anew, and the knobs and the active driver are as they were."""
    from triton import knobs

    x, out = torch.zeros(100), torch.zeros(100)
    before = dict(os.environ)
    for _ in range(2):
        assert len(captured("cuda:90", "double", x, out, 100, BLOCK=64)) == 1
    assert knobs.runtime.add_stages_inspection_hook is None
    assert {name for name in os.environ if name.startswith("MLIR")} == {n for n in before if n.startswith("MLIR")}


@pytest.mark.parametrize("name", ["cuda", "cuda:hopper", "vulkan:1", ""])
def test_a_target_that_is_none(name: str) -> None:
    with pytest.raises(UsageError):
        gpu_target(name)


# --- compilers that do not get through ------------------------------------------------------------------------------


def parsed(folder: Path) -> Any:
    """A small module, with the context that Triton's own stages expect on it."""
    from triton._C.libtriton import ir

    path = folder / "module.mlir"
    path.write_text("module { tt.func public @k() { tt.return } }\n")
    context = ir.context()
    ir.load_dialects(context)
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    return module


def passes_then(end: Any) -> Any:
    """A stage: two passes of Triton's, then `end`."""

    def run(module: Any, _: dict[str, Any]) -> Any:
        from triton._C.libtriton import ir, passes

        manager = ir.pass_manager(module.context)
        manager.enable_debug()
        passes.common.add_cse(manager)
        passes.common.add_symbol_dce(manager)
        manager.run(module, "stage")
        end()
        return module

    return run


def nothing() -> None:
    """The stage gets through."""


def test_stages_that_get_through(tmp_path: Path) -> None:
    stages = {"ttir": passes_then(nothing), LAST_STAGE: passes_then(nothing)}
    capture = run_apart("k", parsed(tmp_path), stages, {})
    want = [("cse", "ttir"), ("symbol-dce", "ttir"), ("cse", "ttgir"), ("symbol-dce", "ttgir"), (FINAL, "ttgir")]
    assert [(stage.pass_name, stage.pipeline) for stage in capture.stages] == want
    assert all("tt.func public @k" in stage.text for stage in capture.stages)


def test_an_abort_leaves_the_modules_before_it(tmp_path: Path) -> None:
    stages = {"ttir": passes_then(nothing), LAST_STAGE: passes_then(lambda: os.kill(os.getpid(), signal.SIGABRT))}
    capture = run_apart("k", parsed(tmp_path), stages, {})
    assert [(stage.pass_name, stage.pipeline) for stage in capture.stages][-2:] == [
        ("cse", "ttgir"),
        ("symbol-dce", "ttgir"),
    ]
    assert len(capture.stages) == 4
    assert capture.failure is not None
    assert (capture.failure.pass_name, capture.failure.pipeline) == ("symbol-dce", "ttgir")
    assert "SIGABRT" in capture.failure.what


def test_a_failed_pass_is_named_with_what_the_compiler_said(tmp_path: Path) -> None:
    def fail() -> None:
        os.write(2, b"kernel.py:7:3: error: operand does not dominate this use\n")
        raise RuntimeError("PassManager::run failed")

    capture = run_apart("k", parsed(tmp_path), {LAST_STAGE: passes_then(fail)}, {})
    assert capture.failure is not None
    assert capture.failure.what == "RuntimeError: PassManager::run failed"
    assert capture.failure.cause == "kernel.py:7:3: error: operand does not dominate this use"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("// -----// IR Dump Before Inliner (inline) ('builtin.module' operation) //----- //", "inline"),
        (
            "// -----// IR Dump Before TritonCombine: triton-combine ('builtin.module' operation) //----- //",
            "triton-combine",
        ),
        ("// -----// IR Dump Before NoArgument ('builtin.module' operation) //----- //", "NoArgument"),
    ],
)
def test_headers_of_the_releases(header: str, name: str) -> None:
    said = "a pass may say something too\n"
    assert list(modules_of(f"{header}\nmodule {{\n}}\n\n\n{said}")) == [(name, "module {\n}\n")]
