"""Nothing is cached by a name: what a compiled kernel depends on is its key."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compile_kernel

import harness
from harness.npu.backend import compiler
from harness.npu.backend.compiler import NpuBackend, NpuOptions
from harness.npu.backend.driver import NpuUtils
from harness.npu.fingerprint import LOWERING_ROOMS, fingerprint_of

TARGET = GPUTarget("npu", "simulated", 32)


@triton.jit
def store_seven(out):
    tl.store(out, 7.0)


def _compile() -> Any:
    return compile_kernel(ASTSource(store_seven, {"out": "*fp32"}), target=TARGET)


@pytest.mark.parametrize("room", LOWERING_ROOMS)
def test_the_fingerprint_changes_with_any_lowering_source(tmp_path: Path, room: str):
    root = Path(harness.__file__).parent
    for name in LOWERING_ROOMS:
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    before = fingerprint_of(tmp_path)
    assert before == fingerprint_of(root)
    edited = min((tmp_path / room).rglob("*.py"))
    edited.write_text(edited.read_text() + "\n# a fix\n")
    assert fingerprint_of(tmp_path) != before


def test_a_changed_lowering_misses_the_cache(session: Any, monkeypatch: pytest.MonkeyPatch):
    first, again = _compile(), _compile()
    assert first.hash == again.hash
    monkeypatch.setattr(compiler, "lowering_fingerprint", lambda: "the compiler was fixed")
    assert _compile().hash != first.hash


def test_every_option_is_part_of_the_key():
    default, checked = NpuOptions(), {"num_warps": 64}
    for field in dataclasses.fields(NpuOptions):
        changed = dataclasses.replace(default, **{field.name: checked.get(field.name, "something else")})
        assert changed.hash() != default.hash(), field.name


def test_options_that_the_jit_passes_are_all_known():
    options = NpuBackend(TARGET).parse_options({"num_warps": 8, "debug": True, "maxnreg": None})
    assert (options.num_warps, options.debug, options.maxnreg) == (8, True, None)


def test_two_programs_of_one_name_do_not_share_a_plan(session: Any):
    program = _compile().asm["npu"]
    other = program.replace(b"7.0", b"8.0")
    assert other != program
    utils = NpuUtils()
    results = []
    for text in (program, other, program):
        loaded = utils.load_binary("store_seven", text, 0, -1)[0]
        out = torch.zeros(1)
        loaded.launch((1, 1, 1), {"out": "*fp32"}, (out,))
        results.append(out.item())
    assert results == [7.0, 8.0, 7.0]
    assert utils.load_binary("store_seven", program, 0, -1)[0] is utils.load_binary("store_seven", program, 0, -1)[0]
