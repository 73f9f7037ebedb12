"""Text that is not IR, or holds an op nobody defined, is one typed error with a line; never xDSL's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError, ParseError, UnsupportedOp
from harness.ir import attribute, operation_name, parse_module, print_module, source_location

EVERY_OP = Path(__file__).with_name("every_op.mlir").read_text()


def body(line: str) -> str:
    return "module {\n  tt.func @f(%a: i32, %t: tensor<8xf32>) {\n    " + line + "\n    tt.return\n  }\n}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = arith.addi %a, %b : i32", "%b is used but never defined"),
        ("%0 = arith.addi %a, %t : i32", "%t has type tensor<8xf32> but is used as i32"),
        ("%0 = arith.addi %a %a : i32", "',' is expected"),
        ("%0 = arith.addi %a#1, %a : i32", "%a has 1 results, not 2"),
        ("%0:2 = arith.addi %a, %a : i32", "arith.addi has 1 results, 2 are named"),
        ("%a = arith.addi %a, %a : i32", "%a is defined twice"),
        ("%0 = tt.get_program_id w : i32", "'w' is not a program axis"),
        ("%0 = arith.constant dense<0x1FFFFFFFF> : tensor<4xf32>", "0x1FFFFFFFF is not a value of tensor<4xf32>"),
        ("%0 = arith.constant 3 : i32 loc(#nowhere)", "#nowhere is not defined"),
        ('%0 = "tt.make_range"() {end = 8 : i32} : (i32) -> tensor<8xi32>', "has 0 operands but 1 operand types"),
        ("cf.br ^bb7", "block ^bb7 is used but never defined"),
        ("%0 = tt.load %a : i32", "i32 is not a pointer"),
        ("%0 = arith.constant 3 : tensor<8xi32", "Expected '>'"),
        ("nonsense", "an operation is expected"),
    ],
)
def test_message_and_line(line: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(body(line), "kernel.mlir")
    assert message in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.file == "kernel.mlir"
    assert 3 <= caught.value.where.line <= 5


def test_an_unknown_op_in_its_own_syntax_is_named_at_the_kernels_line() -> None:
    text = body('%0 = ttng.mystery %a {x = "//"} : i32 -> i32 loc(#loc2)') + (
        '#loc1 = loc("kernel.py":7:4)\n#loc2 = loc("name"(#loc1))\n'
    )
    with pytest.raises(UnsupportedOp) as caught:
        parse_module(text, "kernel.mlir")
    assert str(caught.value).startswith("kernel.py:7:5: unsupported op ttng.mystery")


def test_an_unknown_op_in_generic_syntax_is_a_placeholder() -> None:
    text = body('%0 = "ttng.mystery"(%a) <{x = 1 : i32}> ({\n    }) {y = #ttng.z<q>} : (i32) -> i32 loc("k.py":7:4)')
    module = parse_module(text, "kernel.mlir")
    (op,) = (op for op in module.walk() if operation_name(op) == "ttng.mystery")
    assert str(attribute(op, "x")) == "1 : i32"
    assert str(source_location(op)) == "k.py:7:5"
    assert print_module(parse_module(print_module(module), "again")) == print_module(module)


def test_an_op_without_a_location_is_at_its_line_of_the_text() -> None:
    module = parse_module(body("%0 = arith.addi %a, %a : i32"), "lit.mlir")
    (op,) = (op for op in module.walk() if op.name == "arith.addi")
    assert str(source_location(op)) == "lit.mlir:3:10"


@examples(25)
@given(st.data())
def test_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(EVERY_OP) - 1))
    length = data.draw(st.integers(0, 12))
    put = data.draw(
        st.sampled_from(["", "<", ">", "(", ")", "{", "}", "%", "#", "!", '"', "loc(", ":", "0x", "i1", "\n"])
    )
    try:
        parse_module(EVERY_OP[:start] + put + EVERY_OP[start + length :], "damaged.mlir")
    except HarnessError as error:
        assert error.where is not None
