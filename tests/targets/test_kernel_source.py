"""A failure folder's kernel.py is a module that imports, with what the kernel needs and nothing else."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from harness.targets.kernel_source import kernel_file

UNUSED = sys.maxsize
BLOCKS = [4, 8]
CONFIGS = [triton.Config({"BLOCK": block}) for block in BLOCKS]


@triton.jit
def twice(value):
    return value + value


@triton.autotune(CONFIGS, key=[])
@triton.jit
def tuned(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), twice(1))


def made(factor: int) -> Any:
    @triton.jit
    def inner(out):
        tl.store(out, twice(2))

    return inner


def test_a_kernel_comes_with_what_it_needs(tmp_path: Path) -> None:
    text = kernel_file([tuned, tuned])
    (tmp_path / "kernel.py").write_text(text, encoding="utf-8")
    module = runpy.run_path(str(tmp_path / "kernel.py"))
    assert set(module["tuned"].arg_names) == {"out", "BLOCK"}
    assert [config.kwargs["BLOCK"] for config in module["CONFIGS"]] == BLOCKS
    assert text.count("def tuned") == text.count("def twice") == 1
    assert not {"UNUSED", "sys", "Path", "made", "kernel_file", "test_"} & set(module)


def test_a_kernel_made_by_a_function_comes_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(kernel_file([made(3)]), encoding="utf-8")
    module = runpy.run_path(str(tmp_path / "kernel.py"))
    assert module["inner"].arg_names == ["out"] and "twice" in module and "made" not in module


def test_no_kernel_no_text() -> None:
    assert kernel_file([]) == ""
