"""`matmul_scaled` against the formats' definitions, and `inline_assembly` against the manual of PTX."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from machine_kit import Assembly, Buffers, launched

from harness.errors import IllegalInstruction
from harness.ir.enums import SCALED_ELEMENT
from harness.npu.isa.program import Tile
from harness.semantics import numpy_dtype

M, N, K, GROUP = 4, 16, 64, 32
# OCP Microscaling Formats 1.0: a sign, two bits of exponent, one of mantissa.
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]
BYTES = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e2m1": "i8", "bf16": "bf16", "fp16": "f16"}
Case = tuple[str, str, bool, bool]


@dataclasses.dataclass
class Operand:
    """An operand as it lies in memory, and the numbers that it means, (rows, K)."""

    stored: np.ndarray
    meant: np.ndarray
    scale: np.ndarray | None


def drawn(rng: np.random.Generator, rows: int, kind: str, scaled: bool, along_k: bool) -> Operand:
    """Elements of small whole numbers and halves, of which every sum is exact; two e2m1 share a byte, the first one
    the low half, along K or along the rows."""
    if kind == "e2m1":
        codes = rng.integers(0, 16, (rows, K), dtype=np.uint8)
        low, high = (codes[:, 0::2], codes[:, 1::2]) if along_k else (codes[0::2], codes[1::2])
        stored, meant = (high << 4 | low).view(np.int8), np.array(E2M1)[codes]
    else:
        stored = rng.integers(-3, 4, (rows, K)).astype(numpy_dtype(BYTES[kind]))
        meant = stored.astype(np.float64)
    if not scaled:
        return Operand(stored, meant, None)
    exponents = rng.integers(-2, 3, (rows, K // GROUP))
    factors = np.repeat(2.0**exponents, GROUP, axis=1)
    return Operand(stored, meant * factors, (exponents + 127).astype(np.int8))


def assembled(kinds: tuple[str, str], stored: dict[str, np.ndarray], packs: tuple[bool, bool]) -> Assembly:
    """Loads whatever of a, a_scale, b, b_scale there is, and c; stores the product."""
    code = Assembly(*["ptr"] * (len(stored) + 1))
    tiles: dict[str, Tile] = {}
    elements = {"a": BYTES[kinds[0]], "b": BYTES[kinds[1]], "c": "f32"}
    for number, (name, array) in enumerate(stored.items()):
        tile = tiles[name] = code.tile(elements.get(name, "i8"), array.shape, lane=None if "scale" in name else -1)
        code.load(tile, code.argument(number), [array.shape[1], 1])
    result = code.tile("f32", (M, N))
    operands = [tiles.get(name) for name in ("a", "a_scale", "b", "b_scale", "c")]
    numbers = [SCALED_ELEMENT.values[kind] for kind in kinds]
    code.emit("matmul_scaled", [result], operands, *numbers, 0, *map(int, packs))
    code.store(result, code.argument(len(stored)), [N, 1])
    code.emit("halt")
    return code


def product(left: Operand, right: Operand, c: np.ndarray, kinds: tuple[str, str], packs: tuple[bool, bool]):
    stored = {"a": left.stored, "a_scale": left.scale, "b": right.stored.T.copy(), "b_scale": right.scale, "c": c}
    given = {name: array for name, array in stored.items() if array is not None}
    out = np.zeros((M, N), np.float32)
    launched(assembled(kinds, given, packs), (1, 1, 1), Buffers(**given, out=out))
    return out


@pytest.mark.parametrize(
    ("a", "b", "scaled", "packs"),
    [
        ("e2m1", "e2m1", (True, True), (True, True)),
        ("e2m1", "e2m1", (True, True), (False, False)),
        ("e2m1", "e4m3", (True, True), (True, True)),
        ("e5m2", "e2m1", (True, False), (True, False)),
        ("bf16", "e2m1", (False, True), (True, True)),
        ("e4m3", "fp16", (True, False), (True, True)),
        ("e4m3", "e5m2", (False, False), (True, True)),
    ],
)
def test_a_scaled_product_is_that_of_what_its_operands_mean(
    a: str, b: str, scaled: tuple[bool, bool], packs: tuple[bool, bool]
) -> None:
    rng = np.random.default_rng(3)
    left, right = drawn(rng, M, a, scaled[0], packs[0]), drawn(rng, N, b, scaled[1], packs[1])
    c = rng.integers(-9, 10, (M, N)).astype(np.float32)
    np.testing.assert_array_equal(product(left, right, c, (a, b), packs), left.meant @ right.meant.T + c)


def test_a_scale_of_all_ones_is_no_number() -> None:
    rng = np.random.default_rng(4)
    left, right = drawn(rng, M, "e2m1", True, True), drawn(rng, N, "e2m1", True, True)
    assert left.scale is not None
    left.scale[1, 0] = -1  # 0xFF
    out = product(left, right, np.zeros((M, N), np.float32), ("e2m1", "e2m1"), (True, True))
    assert np.isnan(out[1]).all()
    assert not np.isnan(np.delete(out, 1, axis=0)).any()


WRONG = {
    "a": ((M, K), "a product of .* to .4, 16."),  # e2m1 packs two a byte: K is 128
    "b": ((K, N), "a product of .* to .4, 16."),
    "a_scale": ((M, 128), "a scale of .4, 128. for .4, 64."),
    "b_scale": ((2, N), "a scale of .2, 16. for .16, 64."),
}


@pytest.mark.parametrize("name", WRONG)
def test_operands_that_do_not_fit_one_another_are_illegal(name: str) -> None:
    shape, message = WRONG[name]
    stored = {
        "a": np.zeros((M, K // 2), np.int8), "a_scale": np.zeros((M, 2), np.int8),
        "b": np.zeros((K // 2, N), np.int8), "b_scale": np.zeros((N, 2), np.int8),
        "c": np.zeros((M, N), np.float32),
    }  # fmt: skip
    stored[name] = np.zeros(shape, np.int8)
    code = assembled(("e2m1", "e2m1"), stored, (True, True))
    with pytest.raises(IllegalInstruction, match=message):
        launched(code, (1, 1, 1), Buffers(**stored, out=np.zeros((M, N), np.float32)))


def test_elements_of_another_size_than_their_type_are_illegal() -> None:
    stored = {"a": np.zeros((M, K), np.int8), "b": np.zeros((K, N), np.int8), "c": np.zeros((M, N), np.float32)}
    code = assembled(("e4m3", "e4m3"), stored, (True, True))
    at = next(n for n, one in enumerate(code.program.instructions) if one.opcode == "matmul_scaled")
    known = code.program.instructions[at]
    immediates = (SCALED_ELEMENT.values["bf16"], *known.immediates[1:])
    code.program.instructions[at] = dataclasses.replace(known, immediates=immediates)
    with pytest.raises(IllegalInstruction, match="a tile of f8E4M3FN holds no bf16"):
        launched(code, (1, 1, 1), Buffers(**stored, out=np.zeros((M, N), np.float32)))


# --- inline assembly -------------------------------------------------------------------------------------------------

ROUNDED = "cvt.rna.tf32.f32 $0, $1;"


def rounding(text: str, source: str = "f32") -> Assembly:
    code = Assembly("ptr", "ptr")
    values, result = code.tile(source, (16,)), code.tile("f32", (16,))
    code.load(values, code.argument(0), [1])
    code.emit("inline_assembly", [result], [values], code.text(text), code.text("=r,r"), 1)
    code.store(result, code.argument(1), [1])
    code.emit("halt")
    return code


def test_assembly_that_is_known_computes_what_it_says() -> None:
    """To ten bits of mantissa, to the nearest, halves away from zero."""
    step = 2.0**-10
    data = np.array([1, 1 + step / 2, 1 + step / 4, 1 + step * 3 / 2, 1 + step * 7 / 16, 3, 1e-3, 0] * 2, np.float32)
    data[8:] *= -1
    out = np.full(16, 7, np.float32)
    launched(rounding(ROUNDED), (1, 1, 1), Buffers(x=data, out=out))
    mantissa, exponent = np.frexp(data.astype(np.float64))
    want = np.ldexp(np.sign(mantissa) * np.floor(np.abs(mantissa) * 2**11 + 0.5) / 2**11, exponent)
    np.testing.assert_array_equal(out, want.astype(np.float32))


@pytest.mark.parametrize(("text", "source"), [("mov.b32 $0, $1;", "f32"), (ROUNDED, "f16")])
def test_other_assembly_is_not_guessed_at(text: str, source: str) -> None:
    data = np.zeros(16, numpy_dtype(source))
    with pytest.raises(IllegalInstruction, match=r"elementwise_inline_asm"):
        launched(rounding(text, source), (1, 1, 1), Buffers(x=data, out=np.zeros(16, np.float32)))
