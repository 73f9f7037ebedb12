"""The comparison: what is accepted, what is caught, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.cases import Arange, Buffer, Constant, Integers, KernelCase, Normal, Special, Tolerance, empty
from harness.cases.allocate import Allocated, allocate
from harness.cases.dtypes import DTYPES, DType
from harness.cases.evidence import BufferEvidence
from harness.errors import CaseError
from harness.goldens import Comparison, Operation, compare, run_reference
from harness.goldens.bits import bits_of, poison_is_unmistakable
from harness.goldens.compare import content

Change = Callable[[dict[str, torch.Tensor], Allocated], None]


class Kernel:
    def __init__(self, *names: str) -> None:
        self.arg_names = list(names)


def outcome(
    change: Change,
    args: dict[str, Any],
    reference: Callable[..., Any],
    roles: dict[str, str] | None = None,
    operation: Operation | None = None,
    writers: Any = None,
    **options: Any,
) -> Comparison:
    """Allocates, takes the goldens, lets `change` play the kernel, compares."""
    case = KernelCase(Kernel(*args), (1,), args, reference=reference, **options)
    memory = allocate(case, "id")
    goldens = run_reference(case, memory)
    before = memory.snapshot()
    change(memory.tensors, memory)
    return compare(case, memory, goldens, roles or {}, before, operation=operation, writers=writers)


def out_of(result: Comparison, name: str = "out") -> BufferEvidence:
    return next(one for one in result.buffers if one.name == name)


def stored(
    values: np.ndarray | list[Any], dtype: str, golden: np.ndarray | list[Any], **options: Any
) -> BufferEvidence:
    """Evidence of a buffer that holds `values` where `golden` is wanted (both in float64 or int64)."""
    wide = torch.float64 if DTYPES[dtype].is_float else torch.int64
    target = DTYPES[dtype].torch

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(torch.as_tensor(np.asarray(values), dtype=wide).to(target))

    wanted = torch.as_tensor(np.asarray(golden), dtype=wide).to(target)
    args = {"out": empty(tuple(wanted.shape), dtype)}
    return out_of(outcome(change, args, lambda: {"out": wanted}, **options))


def set_bytes(tensor: torch.Tensor, index: tuple[int, ...], raw: np.ndarray) -> None:
    """Puts raw bytes into one element, whatever the dtype thinks of them."""
    one = tensor[index].reshape(1).view(torch.uint8)
    one.copy_(torch.from_numpy(raw.copy()))


@examples(120)
@given(st.sampled_from(list(DTYPES.values())), st.data())
def test_equal_passes_and_one_flipped_bit_is_caught(dtype: DType, data: st.DataObject) -> None:
    """Kinds of kernels that only move data are bit exact in every dtype and layout."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    pad, offset = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 4))
    strides = tuple(int(np.prod(shape[i + 1 :])) * (1 + pad) for i in range(len(shape)))
    args = {
        "x": Buffer(shape, dtype, fill=Special()),
        "out": empty(shape, dtype, strides=strides, offset=offset),
    }
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
    bit = data.draw(st.integers(0, 8 * dtype.itemsize - 1))
    flip = data.draw(st.booleans())
    became_nan = []

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(tensors["x"])
        if not flip:
            return
        flat = memory.storages["out"].bytes
        place = (offset + sum(i * s for i, s in zip(index, strides, strict=True))) * dtype.itemsize + bit // 8
        was = content(memory.buffers["out"])[index]
        flat[place] ^= 1 << (bit % 8)
        now = content(memory.buffers["out"])[index]
        # From one NaN to another is no error, unless it is the poison.
        poison = poison_is_unmistakable(dtype) and (bits_of(np.asarray(now)) == dtype.poison)
        became_nan.append(dtype.is_float and bool(np.isnan(was)) and bool(np.isnan(now)) and not poison)

    result = outcome(
        change, args, lambda x: {"out": x}, operation=Operation("move"), exact_dtype=True, signed_zeros=True
    )
    mismatch = out_of(result).mismatch
    assert not result.findings
    if not flip or became_nan[0]:
        assert mismatch is None
        return
    assert mismatch is not None
    assert (mismatch.wrong, mismatch.total, mismatch.first_index) == (1, int(np.prod(shape)), index)
    assert mismatch.error_shape in ("one element", "still poison", "still poison: one element")


@pytest.mark.parametrize("dtype", [one for one in DTYPES.values() if one.is_float], ids=str)
def test_a_gross_error_is_caught_in_every_float(dtype: DType) -> None:
    golden = np.array([1.0, 2.0, -4.0, 0.5])
    wrong = golden.copy()
    wrong[2] = -2.0
    mismatch = stored(wrong, dtype.name, golden).mismatch
    assert mismatch is not None
    assert (mismatch.wrong, mismatch.first_index, mismatch.error_shape) == (1, (2,), "one element")
    assert (float(mismatch.got), float(mismatch.want)) == (-2.0, -4.0)
    assert (mismatch.max_absolute, mismatch.max_relative) == (2.0, 0.5)


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp8e4nv", "fp8e5"])
def test_narrow_floats_may_be_one_ulp_off_and_no_more(name: str) -> None:
    one = {"bf16": 2**-7, "fp16": 2**-10, "fp8e4nv": 2**-3, "fp8e5": 2**-2}[name]
    evidence = stored([1 + one], name, [1.0])
    assert evidence.mismatch is None
    assert evidence.ulp_histogram == {"1": 1}
    assert "1 ulp" in evidence.tolerance
    mismatch = stored([1 + 2 * one], name, [1.0]).mismatch
    assert mismatch is not None and mismatch.max_ulp == 2


def test_the_tolerance_grows_with_the_root_of_the_reduction() -> None:
    golden = np.ones(16)
    u = 2.0**-24
    for reduction, roundings in ((1, 16), (2, 20), (1025, 16 + 4 * 32)):
        inside, outside = golden + (roundings - 2) * u, golden + (roundings + 2) * u
        assert stored(inside, "fp32", golden, reduction=reduction).mismatch is None
        assert stored(outside, "fp32", golden, reduction=reduction).mismatch is not None


def test_an_exact_reference_has_errors_of_its_own() -> None:
    golden = np.ones(16)
    assert stored(golden + 24 * 2.0**-24, "fp32", golden).mismatch is not None
    assert stored(golden + 24 * 2.0**-24, "fp32", golden, exact_dtype=True).mismatch is None


def test_kinds_of_operations_narrow_the_tolerance() -> None:
    golden, off = np.ones(4), np.ones(4) + 8 * 2.0**-24
    assert stored(off, "fp32", golden).mismatch is None
    assert stored(off, "fp32", golden, operation=Operation("arithmetic")).mismatch is not None
    last_place = np.nextafter(np.float32(1), np.float32(2))
    assert stored([last_place], "fp32", [1.0], operation=Operation("move")).mismatch is not None
    for exact in (False, True):
        one_ulp = stored([1.125], "fp8e4nv", [1.0], operation=Operation("conversion"), exact_dtype=exact)
        assert (one_ulp.mismatch is not None) == exact
    with pytest.raises(CaseError, match="'dot' is unknown"):
        Operation("dot")


def test_cancellation_is_judged_by_the_typical_magnitude_and_not_by_the_largest() -> None:
    golden = np.array([1.0] * 10 + [1e-9])
    assert stored(golden + 2.0**-22, "fp32", golden).mismatch is None
    # One enormous element excuses nobody.
    golden[0] = 1e30
    off = golden.copy()
    off[5] += 1e-3
    mismatch = stored(off, "fp32", golden).mismatch
    assert mismatch is not None and mismatch.first_index == (5,)


def test_fp64_is_held_to_fp64() -> None:
    golden = np.full(4, 3.0)
    assert stored(golden + 2.0**-50, "fp64", golden).mismatch is None
    assert stored(golden + 2.0**-40, "fp64", golden).mismatch is not None


@pytest.mark.parametrize("extra", [{"ulp": 100.0}, {"absolute": 2e-5}, {"relative": 2e-5}])
def test_a_case_may_widen_it_with_a_reason(extra: dict[str, float]) -> None:
    golden = np.ones(4)
    evidence = stored(golden + 1e-5, "fp32", golden, tolerance=Tolerance("tf32 dot", **extra))
    assert evidence.mismatch is None and "tf32 dot" in evidence.tolerance
    assert stored(golden + 1e-4, "fp32", golden, tolerance=Tolerance("tf32 dot", **extra)).mismatch is not None


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": Tolerance("  ", ulp=1)},
        {"tolerance": Tolerance("why", ulp=float("nan"))},
        {"tolerance": Tolerance("why", absolute=float("inf"))},
        {"tolerance": Tolerance("why", relative=-1.0)},
        {"reduction": 0},
        {"reduction": 2.5},
    ],
)
def test_tolerances_that_would_pass_anything_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(CaseError):
        stored([1.0], "fp32", [1.0], **options)


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16", "fp8e5"])
@pytest.mark.parametrize(
    ("got", "want", "passes"),
    [
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (-np.inf, np.inf, False),
        (np.nan, np.inf, False),
        (57344.0, np.inf, False),  # the largest fp8e5 is one ulp from infinity
    ],
)
def test_nan_and_infinity_must_match_in_place(dtype: str, got: float, want: float, passes: bool) -> None:
    evidence = stored([1.0, got], dtype, [1.0, want], tolerance=Tolerance("huge", ulp=10, relative=10.0))
    assert (evidence.mismatch is None) == passes
    assert sum(evidence.ulp_histogram.values()) == 2


def test_signed_zeros_count_when_the_case_says_so() -> None:
    assert stored([-0.0, 1.0], "fp32", [0.0, 1.0]).mismatch is None
    mismatch = stored([-0.0, 1.0], "fp32", [0.0, 1.0], signed_zeros=True).mismatch
    assert mismatch is not None and (mismatch.got, mismatch.want) == ("-0.0", "0.0")


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16"])
@pytest.mark.parametrize("ones", [True, False])
def test_a_nan_of_any_payload_but_the_poison_s_is_a_nan(dtype: str, ones: bool) -> None:
    """Vector libraries answer with all ones where they mask a NaN in: torch.maximum does."""

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        memory.storages["out"].bytes.fill_(0xFF)

    golden = torch.full((4,), float("nan"), dtype=torch.float64)
    if ones:
        golden.view(torch.uint8).fill_(0xFF)
    assert out_of(outcome(change, {"out": empty(4, dtype)}, lambda: {"out": golden})).mismatch is None


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16"])
def test_poison_is_wrong_even_where_a_nan_is_wanted(dtype: str) -> None:
    args = {"out": empty(4, dtype)}
    golden = torch.full((4,), float("nan"))
    evidence = out_of(outcome(lambda tensors, memory: None, args, lambda: {"out": golden}))
    assert evidence.mismatch is not None and evidence.mismatch.error_shape == "still poison"
    assert evidence.mismatch.wrong == 4 and evidence.mismatch.max_ulp == float("inf")


def test_a_nan_where_the_reference_leaves_poison_is_wrong() -> None:
    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].fill_(float("nan"))

    assert out_of(outcome(change, {"out": empty(4)}, lambda out: {"out": out})).mismatch is not None
    assert out_of(outcome(lambda *_: None, {"out": empty(4)}, lambda out: {"out": out})).mismatch is None


def test_elements_a_scatter_did_not_write_are_seen() -> None:
    """Lesson: outputs pre-filled with zeros hid them, and a golden of zero would have agreed."""

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"][:3] = 0

    mismatch = out_of(outcome(change, {"out": empty((5, 4))}, lambda: {"out": torch.zeros(5, 4)})).mismatch
    assert mismatch is not None
    assert mismatch.error_shape == "still poison: a tile (rows 3-4, columns 0-3)"


@pytest.mark.parametrize("dtype", [name for name, one in DTYPES.items() if not one.is_float])
def test_integers_and_bools_are_exact(dtype: str) -> None:
    golden = np.array([0, 1, 1, 0])
    assert stored(golden, dtype, golden).mismatch is None
    mismatch = stored([0, 1, 0, 0], dtype, golden, tolerance=Tolerance("no effect on integers", absolute=9)).mismatch
    assert mismatch is not None and mismatch.first_index == (2,)
    assert out_of(outcome(lambda *_: None, {"out": empty(2, dtype)}, lambda out: {"out": out})).mismatch is None


def test_a_bool_is_its_byte() -> None:
    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        memory.storages["out"].bytes.copy_(torch.tensor([1, 255], dtype=torch.uint8))

    mismatch = out_of(outcome(change, {"out": empty(2, "int1")}, lambda: torch.tensor([True, True]))).mismatch
    assert mismatch is not None and (mismatch.got, mismatch.want) == ("byte 0xFF", "True")


def test_large_integers_are_shown_exactly() -> None:
    mismatch = stored([2**62 + 1], "int64", [2**62]).mismatch
    assert mismatch is not None and (mismatch.got, mismatch.want) == (str(2**62 + 1), str(2**62))


# --- which buffers are compared -----------------------------------------------------------------


def test_every_buffer_is_accounted_for() -> None:
    args = {"x": Buffer(4, fill=Arange()), "out": empty(4), "scratch": empty(4), "spare": Buffer(1)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(tensors["x"])
        tensors["scratch"].fill_(3)

    result = outcome(
        change,
        args,
        lambda x: {"out": x, "scratch": None},
        {"x": "in", "out": "out", "scratch": "out", "spare": "unused"},
    )
    assert [(one.name, one.role, one.compared, one.reason) for one in result.buffers] == [
        ("x", "in", False, "only read, and unchanged"),
        ("out", "out", True, ""),
        ("scratch", "out", False, "the reference says it cannot be compared (None)"),
        ("spare", "unused", False, "not used by the kernel"),
    ]
    assert not result.findings


def test_roles_nobody_measured_are_judged_by_the_bytes() -> None:
    args = {"x": Buffer(4), "y": Buffer(4), "out": empty(4)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["y"].zero_()
        tensors["out"].zero_()

    result = outcome(change, args, lambda: {"y": torch.zeros(4), "out": torch.zeros(4)})
    assert [one.role for one in result.buffers] == ["in", "inout", "out"]


def test_a_changed_input_is_found() -> None:
    """Lesson: a buffer the kernel only reads has no golden; what must hold is that it did not change."""
    args = {"x": Buffer((3, 4), "bf16", strides=(6, 1)), "out": empty(4)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["x"][1, 2:] += 1
        tensors["out"].zero_()

    result = outcome(change, args, lambda: {"out": torch.zeros(4)})
    assert [(one.kind, one.buffer) for one in result.findings] == [("input-changed", "x")]
    assert "2 of 12 elements of 'x' changed, first at [1, 2]" in result.findings[0].message
    assert out_of(result, "x").reason == "written, but the reference gives no golden"


def test_a_written_output_without_a_golden_is_found() -> None:
    args = {"a": empty(4), "b": empty(4)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["a"].zero_()
        tensors["b"].zero_()

    result = outcome(change, args, lambda: {"a": torch.zeros(4)})
    assert [(one.kind, one.buffer) for one in result.findings] == [("reference", "b")]


def test_an_alias_is_spoken_for_by_the_other_name() -> None:
    root = Buffer(8, fill=Constant(1))
    args = {"x": root, "y": root, "half": root.view((4,), offset=4)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["x"][5] = 7

    assert not outcome(change, args, lambda y: {"y": y.index_fill(0, torch.tensor([5]), 7)}).findings
    # A golden for half of the storage says nothing about the other half.

    def change_all(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["x"].fill_(7)

    result = outcome(change_all, args, lambda half: {"half": torch.full_like(half, 7)})
    assert [(one.kind, one.buffer) for one in result.findings] == [("input-changed", "x")]
    assert "4 of 8" in result.findings[0].message


def test_writes_around_a_buffer_are_found() -> None:
    args = {"out": empty((2, 3), "int16", strides=(5, 1), offset=1)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].zero_()
        storage = memory.storages["out"]
        storage.guarded[storage.start - 4 : storage.start - 2] ^= 255
        storage.guarded[storage.start + storage.length] ^= 255
        storage.bytes[2 * 4 : 2 * 6] ^= 255

    result = outcome(change, args, lambda: {"out": torch.zeros(2, 3, dtype=torch.int16)})
    assert out_of(result).mismatch is None
    assert [one.kind for one in result.findings] == ["wrote-outside"] * 3
    before, after, hole = (one.message for one in result.findings)
    assert "1 element was written before the start of buffer 'out', first at element -2" in before
    assert "1 element was written after the end of buffer 'out', first at element 9" in after
    assert "2 elements were written in a hole of the layout of buffer 'out', first at element 4" in hole


def test_strided_outputs_are_compared_in_place() -> None:
    """Lesson: view_as on the way out put right values in the wrong places."""
    args = {"x": Buffer((2, 3, 4, 4)), "out": empty((2, 3, 4, 4), strides=(48, 1, 12, 3))}

    def packed(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        memory.storages["out"].bytes.view(torch.float32).copy_(tensors["x"].flatten())

    def right(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(tensors["x"])

    assert out_of(outcome(right, args, lambda x: {"out": x})).mismatch is None
    mismatch = out_of(outcome(packed, args, lambda x: {"out": x})).mismatch
    assert mismatch is not None and mismatch.error_shape == "in the wrong places (packed: the strides are ignored)"


def test_writers_are_asked_for_the_wrong_bytes() -> None:
    asked: list[tuple[str, list[int]]] = []

    def writers(storage: str, offsets: list[int]) -> list[tuple[int, int, int]]:
        asked.append((storage, offsets))
        return [(3, 0, 0)]

    args = {"out": empty((2, 2), "fp16", strides=(4, 1), offset=1)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(torch.tensor([[1, 5], [1, 5]]))

    mismatch = out_of(outcome(change, args, lambda: torch.ones(2, 2), writers=writers)).mismatch
    assert mismatch is not None and mismatch.writers == ((3, 0, 0),)
    assert asked == [("out", [4, 12])]


def test_writers_of_all_wrong_elements_are_named_and_not_of_the_first_alone() -> None:
    def writers(storage: str, offsets: list[int]) -> list[tuple[int, int, int]]:
        return list(dict.fromkeys((offset // 400, 0, 0) for offset in offsets))  # a hundred elements each

    args = {"out": empty((100, 100))}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].zero_()

    mismatch = out_of(outcome(change, args, lambda: torch.ones(100, 100), writers=writers)).mismatch
    assert mismatch is not None
    assert [x for x, _, _ in mismatch.writers] == [0, 14, 28, 42, 56, 70, 84, 99]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_empty_and_scalar_buffers(shape: tuple[int, ...]) -> None:
    args = {"x": Buffer(shape, fill=Integers()), "out": empty(shape, offset=2)}

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        tensors["out"].copy_(tensors["x"])

    result = outcome(change, args, lambda x: {"out": x})
    assert out_of(result).compared and out_of(result).mismatch is None
    assert not result.findings


def test_evidence_is_json() -> None:
    mismatch = stored([1.0, np.nan, 3.0], "bf16", [1.0, 2.0, 3.0])
    assert json.loads(json.dumps(asdict(mismatch)))["mismatch"]["got"] == "nan"


def test_a_float32_kernel_passes_its_own_float64_reference() -> None:
    """The bound holds for honest arithmetic: sums, softmax and a dot computed in float32."""
    args = {
        "x": Buffer((64, 1000), fill=Normal()),
        "out": empty((64, 1000)),
        "total": empty(64),
        "dot": empty((64, 64)),
    }

    def change(tensors: dict[str, torch.Tensor], memory: Allocated) -> None:
        x = tensors["x"].numpy()
        shifted = np.exp(x - x.max(axis=1, keepdims=True))
        tensors["out"].copy_(torch.from_numpy(shifted / shifted.sum(axis=1, keepdims=True)))
        sequential = np.zeros(64, np.float32)
        for column in x.T:
            sequential += column
        tensors["total"].copy_(torch.from_numpy(sequential))
        tensors["dot"].copy_(torch.from_numpy(x @ x.T))

    result = outcome(
        change,
        args,
        lambda x: {"out": x.softmax(-1), "total": x.sum(-1), "dot": x @ x.T},
        reduction=1000,
    )
    assert [one.name for one in result.buffers if one.mismatch] == []
