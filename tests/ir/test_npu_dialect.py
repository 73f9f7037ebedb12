"""The `npu` dialect: every op reads and prints alike."""

from __future__ import annotations

import re
from pathlib import Path

from ir_structure import facts
from xdsl.ir import Operation

from harness.ir import parse_module, print_module
from harness.ir.dialects.npu import LOADS, STORES, Access, transfer
from harness.ir.registry import registry

EVERY_OP = Path(__file__).with_name("every_npu_op.mlir")


def plain(text: str) -> list[str]:
    """The lines without locations."""
    without = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", text)
    return [line for line in without.splitlines() if line and not line.startswith("#loc")]


def ops() -> list[Operation]:
    return list(parse_module(EVERY_OP.read_text(), EVERY_OP.name).walk())


def test_every_op_prints_as_it_was_read() -> None:
    module = parse_module(EVERY_OP.read_text(), EVERY_OP.name)
    printed = print_module(module)
    assert plain(printed) == plain(EVERY_OP.read_text())
    assert facts(parse_module(printed, "again")) == facts(module)


def test_every_op_is_in_the_corpus() -> None:
    text = EVERY_OP.read_text()
    names = [name for name in registry().operations if name.startswith("npu.")]
    assert names
    assert [name for name in names if f" {name} " not in text] == []


def test_a_transfer_is_made_again_of_its_parts() -> None:
    for op in ops():
        if not isinstance(op, (*LOADS, *STORES)):
            continue
        results = [value.type for value in op.results]
        value, other = getattr(op, "value", None), getattr(op, "other", None)
        again = transfer(type(op), Access.of(op), results, value=value, other=other, attributes=op.attributes)
        assert list(again.operands) == list(op.operands)
        assert again.properties == op.properties
        again.verify()
