"""From an op to the line its user wrote."""

from __future__ import annotations

import pytest

from harness.ir import parse_module, source_location

LIBRARY = '"/usr/lib/python3/site-packages/triton/language/standard.py"'


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"kernel.py":3:4', "kernel.py:3:5"),
        ('"x"("kernel.py":3:4)', "kernel.py:3:5"),
        ('callsite("helper.py":9:0 at "kernel.py":3:4)', "helper.py:9:1"),
        (f'callsite({LIBRARY}:9:0 at "v"("kernel.py":3:4))', "kernel.py:3:5"),
        (f'callsite({LIBRARY}:9:0 at callsite({LIBRARY}:2:0 at "kernel.py":3:4))', "kernel.py:3:5"),
        ('callsite(unknown at "kernel.py":3:4)', "kernel.py:3:5"),
        ('fused["kernel.py":3:4, "kernel.py":8:0]', "kernel.py:3:5"),
        (f"{LIBRARY}:9:0", "/usr/lib/python3/site-packages/triton/language/standard.py:9:1"),
        ("unknown", "None"),
        ('"only a name"', "None"),
    ],
)
def test_the_users_line(location: str, expected: str) -> None:
    module = parse_module(f"module {{\n  %c = arith.constant 1 : i32 loc(#loc)\n}}\n#loc = loc({location})\n", "text")
    (op,) = (op for op in module.walk() if op.name == "arith.constant")
    assert str(source_location(op)) == expected
