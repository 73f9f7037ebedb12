"""The dialects of Triton's GPU pipelines: every op reads and prints as MLIR writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ir_structure import facts

from harness.errors import UnsupportedOp
from harness.ir import parse_module, print_module
from harness.ir.registry import registry

EVERY_OP = Path(__file__).with_name("every_gpu_op.mlir")
DIALECTS = ("ttg.", "ttng.", "amdg.", "rocdl.")


def plain(text: str) -> list[str]:
    """The lines without locations."""
    without = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", text)
    return [line for line in without.splitlines() if line and not line.startswith("#loc")]


def test_every_op_prints_as_it_was_read() -> None:
    module = parse_module(EVERY_OP.read_text(), EVERY_OP.name)
    printed = print_module(module)
    assert plain(printed) == plain(EVERY_OP.read_text())
    assert facts(parse_module(printed, "again")) == facts(module)


def test_every_op_is_in_the_corpus() -> None:
    text = EVERY_OP.read_text()
    ops = [name for name in registry().operations if name.startswith(DIALECTS)]
    assert [name for name in ops if not re.search(rf" {re.escape(name)}[ (\n]", text)] == []


@pytest.mark.parametrize(
    "layout",
    [
        "#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [2, 2]}>",
        "#ttg.generic_linear<{register = [[1]], lane = [], warp = [], block = []}>",
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[0]]}>",
    ],
)
def test_a_layout_prints_as_it_was_read(layout: str) -> None:
    parameters = f"%arg0: tensor<4xf32, {layout}>, %arg1: !ttg.async.token"
    line = f"  tt.func public @k({parameters}) attributes {{noinline = false}} {{"
    text = f"module {{\n{line}\n    tt.return\n  }}\n}}\n"
    assert line in plain(print_module(parse_module(text, "layout")))


def test_the_name_that_a_dialect_had_is_read() -> None:
    line = "    %0 = amdgpu.in_thread_transpose %arg0 : tensor<4x4xf16> -> tensor<4x4xf16>"
    text = f"module {{\n  tt.func public @k(%arg0: tensor<4x4xf16>) {{\n{line}\n    tt.return\n  }}\n}}\n"
    assert line.replace("amdgpu", "amdg") in plain(print_module(parse_module(text, "old")))


def test_an_alias_stands_for_its_layout() -> None:
    layout = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
    body = (
        "module {{\n  tt.func public @k(%arg0: !ttg.memdesc<4xf32, {}, #ttg.shared_memory>) {{\n tt.return\n }}\n}}\n"
    )
    aliased = parse_module(f"#shared = {layout}\n{body.format('#shared')}", "aliased")
    assert plain(print_module(aliased)) == plain(print_module(parse_module(body.format(layout), "spelled out")))


def test_an_unknown_op_is_named_with_its_line() -> None:
    text = 'module {\n  tt.func @k() {\n    ttng.tmem_unheard_of %x : i32 loc("kernel.py":7:3)\n    tt.return\n  }\n}\n'
    with pytest.raises(UnsupportedOp, match=r"kernel\.py:7.*unsupported op ttng\.tmem_unheard_of"):
        parse_module(text, "unknown")


def test_tokens_of_older_releases_come_without_a_word_in_front() -> None:
    """Up to 3.4: `ttg.async_commit_group %token`."""
    body = "    %0 = ttg.async_commit_group {}%arg0\n    tt.return"
    text = f"module {{{{\n  tt.func public @k(%arg0: !ttg.async.token) {{{{\n{body}\n  }}}}\n}}}}\n"
    older, today = (parse_module(text.format(word), "commit") for word in ("", "tokens "))
    assert plain(print_module(older)) == plain(print_module(today))
