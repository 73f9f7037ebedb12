"""Text that was read before reads as it does the first time: by its meaning, not by the names in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ir_structure import facts
from xdsl.dialects.builtin import ModuleOp

from harness.errors import ParseError
from harness.ir import parse_module, print_module
from harness.ir.dialects import ALL
from harness.ir.parser import ModuleParser
from harness.ir.registry import Registry

LAYOUT = (
    "#blocked = #ttg.blocked<{sizePerThread = [%d], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
    "#inner = #ttg.slice<{dim = 0, parent = #blocked}>\n"
)


def body(*lines: str) -> str:
    text = "".join(f'    {line} loc("kernel.py":{number}:0)\n' for number, line in enumerate(lines, 1))
    return f"module {{\n  tt.func @f(%a: i32, %b: i32, %t: tensor<8xf32>) {{\n{text}  }}\n}}\n"


def printed(*lines: str) -> str:
    return print_module(parse_module(body(*lines), "kernel.mlir"), locations=False)


def afresh(text: str) -> ModuleOp:
    return ModuleParser(Registry([build() for build in ALL]), text, "kernel.mlir").module()


@pytest.mark.parametrize("file", ["every_op.mlir", "every_gpu_op.mlir", "every_npu_op.mlir"])
def test_a_second_reading_is_the_first(file: str) -> None:
    text = print_module(afresh(Path(__file__).with_name(file).read_text()))
    first = parse_module(text, "kernel.mlir")
    assert print_module(first) == text
    assert facts(parse_module(text, "kernel.mlir")) == facts(first)


@pytest.mark.parametrize("alias", ["#blocked", "#inner"])
def test_an_alias_is_what_its_own_module_says(alias: str) -> None:
    line = f"%0 = tt.make_range {{start = 0 : i32, end = 8 : i32}} : tensor<8xi32, {alias}>"
    for size in (1, 2, 1):
        text = print_module(parse_module(LAYOUT % size + body(line), "kernel.mlir"))
        assert f"sizePerThread = [{size}]" in text


def test_a_type_alias_is_what_its_own_module_says() -> None:
    for type_ in ("f32", "f64"):
        text = f"!t = {type_}\n" + body("%0 = ub.poison : !t")
        assert f"ub.poison : {type_}" in print_module(parse_module(text, "kernel.mlir"))


def test_operands_are_those_the_text_names() -> None:
    text = printed(
        "%0 = arith.subi %a, %a : i32",
        "%1 = arith.subi %a, %b : i32",
        "%2 = arith.subi %b, %a : i32",
        "%3:2 = arith.mulsi_extended %a, %b : i32",
        "%4 = arith.subi %3#1, %a : i32",
        "%5 = arith.subi %3#0, %3#1 : i32",
    )
    pairs = [line.split("arith.subi ")[1].split(" :")[0] for line in text.splitlines() if "arith.subi" in line]
    results = next(line.split(":")[0].strip() for line in text.splitlines() if "mulsi" in line)
    assert pairs == ["%a, %a", "%a, %b", "%b, %a", f"{results}#1, %a", f"{results}#0, {results}#1"]


def test_a_name_in_a_string_is_no_operand() -> None:
    rest = "{hex = false, isSigned = array<i32: 1>} : %a : i32"
    text = printed(f'tt.print "% " {rest}', f'tt.print "%a " {rest}', f'tt.print "%b " {rest}')
    assert [name in text for name in ('"% "', '"%a "', '"%b "')] == [True] * 3


def test_what_is_wrong_with_words_that_were_right_before_is_said() -> None:
    with pytest.raises(ParseError, match=r"kernel.mlir:4:\d+: %t has type tensor<8xf32> but is used as i32"):
        parse_module(body("%0 = arith.addi %a, %b : i32", "%1 = arith.addi %a, %t : i32"), "kernel.mlir")


def test_a_large_constant_is_not_kept_for_other_modules() -> None:
    registry = Registry([build() for build in ALL])
    lines = [f"%{extent} = arith.constant dense<0> : tensor<{extent}xi64>" for extent in (8, 1 << 16)]
    ModuleParser(registry, body(*lines), "kernel.mlir").module()
    assert [recipe.large for recipe in registry.memo.recipes.values()] == [False]
