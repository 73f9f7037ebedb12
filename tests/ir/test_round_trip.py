"""Reading and printing are each other's inverse, in the syntax Triton itself prints and reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_structure import facts
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr

from harness.ir import parse_module, print_module
from harness.ir.registry import registry

EVERY_OP = Path(__file__).with_name("every_op.mlir")


def plain(text: str) -> list[str]:
    """The lines without locations and comments."""
    without = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)|[ \t]*//.*", "", text)
    return [line for line in without.splitlines() if line and not line.startswith("#loc")]


def test_every_spelling_prints_as_it_was_read() -> None:
    text = EVERY_OP.read_text()
    module = parse_module(text, EVERY_OP.name)
    printed = print_module(module)
    assert plain(printed) == plain(text)
    assert facts(parse_module(printed, "again")) == facts(module)


def test_every_op_of_the_dialect_is_in_the_corpus() -> None:
    text = EVERY_OP.read_text()
    missing = [name for name in registry().operations if name.startswith("tt.") and name not in text]
    assert missing == []


@triton.jit
def helper(x, y):
    return tl.where(x > y, x, y), x % y


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row > n:
        return
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    total = tl.zeros((BLOCK,), tl.float32)
    for step in tl.range(0, n, 4, num_stages=2):
        high, rest = helper(value, total)
        total += tl.exp(high - tl.max(value, 0)) / (rest + 0.1) * tl.cumsum(value, 0)
        while step < row:
            step += 1
    tl.device_print("total", total)
    tl.store(out + row * n + cols, total.to(tl.float16), mask=cols < n, eviction_policy="evict_last")


def front_end_text() -> str:
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from harness.npu.backend.compiler import NpuBackend

    backend = NpuBackend(GPUTarget("npu", "simulated", 32))
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    signature = {"x": "*fp32", "out": "*fp16", "n": "i32", "BLOCK": "constexpr"}
    source: Any = ASTSource(kernel, signature, {(3,): 64})
    arguments = [options, backend.get_codegen_implementation(options), backend.get_module_map(), context]
    return str(source.make_ir(backend.target, *arguments))


def reread(text: str, folder: Path) -> str:
    """The text as Triton's own reader and printer give it back."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    path = folder / "printed.mlir"
    path.write_text(text)
    return str(ir.parse_mlir_module(str(path), context))


def test_triton_reads_what_we_print(tmp_path: Path) -> None:
    module = parse_module(front_end_text(), "front end")
    assert facts(parse_module(reread(print_module(module), tmp_path), "reread")) == facts(module)


def test_printing_again_gives_the_same_text() -> None:
    printed = print_module(parse_module(front_end_text(), "front end"))
    assert print_module(parse_module(printed, "printed")) == printed


def constant_of(text: str) -> Any:
    module = parse_module(f"module {{\n  %c = arith.constant {text} loc(unknown)\n}}", "constant")
    return next(op for op in module.walk() if op.name == "arith.constant").properties["value"]


@examples(20)
@given(st.integers(0, 2**32 - 1))
def test_hexadecimal_floats_are_bits(bits: int) -> None:
    value = np.array(bits, np.uint32).view(np.float32)
    scalar, splat = constant_of(f"0x{bits:08X} : f32"), constant_of(f"dense<0x{bits:08X}> : tensor<4xf32>")
    assert isinstance(scalar, FloatAttr) and isinstance(splat, DenseIntOrFPElementsAttr)
    np.testing.assert_array_equal(np.float32(scalar.value.data), value)
    np.testing.assert_array_equal(np.frombuffer(splat.data.data, np.float32), np.full(4, value))


FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("name", FLOATS)
@examples(20)
@given(st.floats(allow_nan=False), st.booleans())
def test_printed_floats_read_back_to_the_same_bits(name: str, number: float, as_tensor: bool) -> None:
    with np.errstate(over="ignore"):
        value = float(np.float64(number).astype(FLOATS[name]))
    assume(np.isfinite(value))
    text = f"dense<[1.0, {value:.17e}]> : tensor<2x{name}>" if as_tensor else f"{value:.17e} : {name}"
    module = parse_module(f"module {{\n  %c = arith.constant {text} loc(unknown)\n}}", "constant")
    assert facts(parse_module(print_module(module), "printed")) == facts(module)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_floats_print_as_mlir_prints_them(tmp_path: Path) -> None:
    numbers = [0.1, 1e-30, 123456789.0, 3.4e38, 0.00123456789, 1e10, 2.0**26 + 4, 5e-324, 1e300, 65504.0, 6e-8]
    lines = [
        f"    %c{at}{name} = arith.constant {value:.17e} : {name}"
        for name in FLOATS
        for at, number in enumerate(numbers)
        if np.isfinite(value := float(np.float64(number).astype(FLOATS[name])))
    ]
    text = "module {\n  tt.func @f() {\n" + "\n".join(lines) + "\n    tt.return\n  }\n}\n"
    theirs = reread(text, tmp_path)
    ours = print_module(parse_module(text, "floats"))
    values = re.compile(r"arith\.constant (\S+ : \w+)")
    assert values.findall(ours) == values.findall(theirs)
