"""A product of a type that the matrix unit does not multiply is refused when it is lowered, at its line."""

from __future__ import annotations

import dataclasses

import pytest
from machine_run import program_of

from harness.errors import Refusal
from harness.npu.machine import Machine, load_machine

DOT = """!tile = tensor<16x16xf32>
#a = loc("kernel.py":7:3)
module {
tt.func public @k(%x: !tt.ptr<f32>) {
  %a = arith.constant dense<1.0> : !tile
  %c = tt.dot %a, %a, %a, inputPrecision = PRECISION : !tile * !tile -> !tile loc(#a)
  %one = arith.constant 1 : i64
  npu.store %c to %x[%one, %one] : !tile -> !tt.ptr<f32>
  tt.return
}
}
"""


def multiplying(*elements: str) -> Machine:
    machine = load_machine("tiny")
    passes = tuple((element, 1) for element in elements)
    return dataclasses.replace(machine, matrix=dataclasses.replace(machine.matrix, passes=passes))


def test_a_type_that_the_array_does_not_multiply_is_refused_at_the_products_line() -> None:
    text = DOT.replace("PRECISION", "tf32")
    with pytest.raises(Refusal, match="the matrix unit of tiny does not multiply tf32") as refused:
        program_of(text, multiplying("bf16", "f32"))
    assert str(refused.value.where) == "kernel.py:7:4"
    assert refused.value.hint == "it does: bf16, f32"
    program_of(text, multiplying("tf32"))
