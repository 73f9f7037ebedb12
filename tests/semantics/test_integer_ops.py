"""Integer ops against Python's big integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from op_call import EXAMPLES, WIDTHS, call, integers, raw, wrapped

Exact = Callable[[int, int, int], int]


def divide(left: int, right: int) -> int:
    """Towards zero; 0 for a division by zero, which MLIR leaves undefined."""
    return 0 if right == 0 else abs(left) // abs(right) * (-1 if (left < 0) != (right < 0) else 1)


def shift(left: int, right: int, bits: int) -> int:
    return left << right if 0 <= right < bits else 0


BINARY: dict[str, Exact] = {
    "arith.addi": lambda a, b, bits: a + b,
    "arith.subi": lambda a, b, bits: a - b,
    "arith.muli": lambda a, b, bits: a * b,
    "arith.andi": lambda a, b, bits: a & b,
    "arith.ori": lambda a, b, bits: a | b,
    "arith.xori": lambda a, b, bits: a ^ b,
    "arith.maxsi": lambda a, b, bits: max(a, b),
    "arith.minsi": lambda a, b, bits: min(a, b),
    "arith.maxui": lambda a, b, bits: max(raw(a, bits), raw(b, bits)),
    "arith.minui": lambda a, b, bits: min(raw(a, bits), raw(b, bits)),
    "arith.divsi": lambda a, b, bits: divide(a, b),
    "arith.shli": shift,
    "arith.shrui": lambda a, b, bits: raw(a, bits) >> b if 0 <= b < bits else 0,
    "arith.shrsi": lambda a, b, bits: a >> (b if 0 <= b < bits else bits - 1),
    "tt.mulhiui": lambda a, b, bits: raw(a, bits) * raw(b, bits) >> bits,
}
# Undefined where the divisor is zero: not compared there.
DIVIDING: dict[str, Exact] = {
    "arith.remsi": lambda a, b, bits: a - divide(a, b) * b,
    "arith.floordivsi": lambda a, b, bits: a // b,
    "arith.ceildivsi": lambda a, b, bits: -(-a // b),
    "arith.divui": lambda a, b, bits: raw(a, bits) // raw(b, bits),
    "arith.remui": lambda a, b, bits: raw(a, bits) % raw(b, bits),
    "arith.ceildivui": lambda a, b, bits: -(-raw(a, bits) // raw(b, bits)),
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, bits: abs(a),
    "math.ctlz": lambda a, bits: bits - raw(a, bits).bit_length(),
    "math.cttz": lambda a, bits: bits if a == 0 else (raw(a, bits) & -raw(a, bits)).bit_length() - 1,
    "math.ctpop": lambda a, bits: bin(raw(a, bits)).count("1"),
}
PREDICATES: dict[str, Exact] = {
    "eq": lambda a, b, bits: a == b,
    "ne": lambda a, b, bits: a != b,
    "slt": lambda a, b, bits: a < b,
    "sle": lambda a, b, bits: a <= b,
    "sgt": lambda a, b, bits: a > b,
    "sge": lambda a, b, bits: a >= b,
    "ult": lambda a, b, bits: raw(a, bits) < raw(b, bits),
    "ule": lambda a, b, bits: raw(a, bits) <= raw(b, bits),
    "ugt": lambda a, b, bits: raw(a, bits) > raw(b, bits),
    "uge": lambda a, b, bits: raw(a, bits) >= raw(b, bits),
}
# i1 has no division in Triton, and every shift of it is past the width.
ON_BOOL = [name for name in BINARY if not name.startswith(("arith.div", "arith.sh", "tt."))]


def operands(data: st.DataObject, bits: int) -> tuple[list[int], list[int]]:
    pairs = data.draw(st.lists(st.tuples(integers(bits), integers(bits)), min_size=1, max_size=16))
    return [a for a, _ in pairs], [b for _, b in pairs]


def array(values: list[int], bits: int) -> np.ndarray:
    return np.array(values, np.bool_ if bits == 1 else f"i{bits // 8}")


@pytest.mark.parametrize("bits", WIDTHS)
@EXAMPLES
@given(data=st.data())
def test_binary_ops(bits: int, data: st.DataObject) -> None:
    left, right = operands(data, bits)
    for name, exact in {**BINARY, **DIVIDING}.items():
        divisors = [b or 1 for b in right] if name in DIVIDING else right
        want = [wrapped(int(exact(a, b, bits)), bits) for a, b in zip(left, divisors, strict=True)]
        got = call(name, f"i{bits}", f"i{bits}", array(left, bits), array(divisors, bits))
        assert got.tolist() == want, name


@pytest.mark.parametrize("name", ON_BOOL)
def test_binary_ops_on_i1(name: str) -> None:
    """A set bit is -1 to signed ops, 1 to unsigned ones; arithmetic wraps."""
    left, right = [0, 0, 1, 1], [0, 1, 0, 1]
    want = [bool(BINARY[name](-a, -b, 1) & 1) for a, b in zip(left, right, strict=True)]
    got = call(name, "i1", "i1", array(left, 1), array(right, 1))
    assert got.tolist() == want


@pytest.mark.parametrize("bits", WIDTHS)
@EXAMPLES
@given(data=st.data())
def test_unary_ops(bits: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(integers(bits), min_size=1, max_size=8))
    for name, exact in UNARY.items():
        got = call(name, f"i{bits}", f"i{bits}", array(values, bits))
        assert got.tolist() == [wrapped(exact(a, bits), bits) for a in values], name


@pytest.mark.parametrize("bits", (1, *WIDTHS))
@EXAMPLES
@given(data=st.data())
def test_comparisons(bits: int, data: st.DataObject) -> None:
    left, right = operands(data, bits) if bits > 1 else ([0, 0, -1, -1], [0, -1, 0, -1])
    for predicate, exact in PREDICATES.items():
        got = call("arith.cmpi", f"i{bits}", "i1", array(left, bits), array(right, bits), predicate=predicate)
        assert got.tolist() == [bool(exact(a, b, bits)) for a, b in zip(left, right, strict=True)], predicate


@pytest.mark.parametrize("source", (1, *WIDTHS))
@EXAMPLES
@given(data=st.data())
def test_width_changes(source: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(integers(source), min_size=1, max_size=8)) if source > 1 else [0, -1]
    for target in (1, *WIDTHS):
        if source < target:
            expected = {"arith.extsi": [wrapped(a, target) for a in values]}
            expected["arith.extui"] = [wrapped(raw(a, source), target) for a in values]
        else:
            expected = {"arith.trunci": [wrapped(a, target) if target > 1 else bool(a & 1) for a in values]}
        for name, want in expected.items():
            if source != target:
                assert call(name, f"i{source}", f"i{target}", array(values, source)).tolist() == want, (name, target)


@EXAMPLES
@given(data=st.data())
def test_signed_upper_half_of_a_product(data: st.DataObject) -> None:
    for bits, symbol in ((32, "__nv_mulhi"), (64, "__nv_mul64hi")):
        left, right = operands(data, bits)
        kind = f"i{bits}"
        got = call("tt.extern_elementwise", kind, kind, array(left, bits), array(right, bits), symbol=symbol)
        assert got.tolist() == [a * b >> bits for a, b in zip(left, right, strict=True)]


def test_operands_broadcast() -> None:
    left, right = np.arange(4, dtype=np.int32).reshape(4, 1), np.array([[1, 2, 3]], np.int32)
    for name in ("arith.divsi", "arith.remsi", "arith.divui", "arith.shrui", "arith.shli", "tt.mulhiui"):
        assert call(name, "i32", "i32", left, right).shape == (4, 3)
