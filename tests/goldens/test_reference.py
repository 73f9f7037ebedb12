"""What a reference gets, what it may return, and how its mistakes are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from harness.cases import Arange, Buffer, KernelCase, Launch, empty
from harness.cases.allocate import allocate
from harness.cases.dtypes import DTYPES
from harness.cases.location import SourceLocation
from harness.errors import CaseError, ReferenceFailed
from harness.goldens import run_reference
from harness.targets.failures import Context, failure_of


class Kernel:
    def __init__(self, *names: str) -> None:
        self.arg_names = list(names)


def run(reference: Any, args: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    args = {"x": Buffer((2, 3), fill=Arange()), "out": empty((2, 3)), "n": 3} if args is None else args
    case = KernelCase(Kernel(*args), (1,), args, reference=reference, **options)
    return run_reference(case, allocate(case, "id"), SourceLocation("cases.py", 7))


def line_of(function: Callable[..., Any], further: int = 0) -> SourceLocation:
    return SourceLocation(__file__, function.__code__.co_firstlineno + further)


def test_it_gets_what_it_names_and_goldens_have_the_buffers_dtype() -> None:
    goldens = run(lambda x, n: {"out": x * n})
    assert list(goldens) == ["out"]
    assert goldens["out"].dtype == np.float32
    assert goldens["out"].tolist() == [[0, 3, 6], [9, 12, 15]]


def test_floats_come_in_float64_unless_exact_and_poison_keeps_its_dtype() -> None:
    seen: dict[str, Any] = {}

    def reference(x, out, items, index):  # type: ignore[no-untyped-def]
        seen.update(x=x, out=out, items=items, index=index)
        return {"out": out}

    args = {
        "x": Buffer(4, "bf16"),
        "out": empty(4, "fp16"),
        "items": (Buffer(2, "fp8e5"), 3),
        "index": Buffer(4, "int32"),
    }
    run(reference, args)
    assert (seen["x"].dtype, seen["out"].dtype, seen["index"].dtype) == (torch.float64, torch.float16, torch.int32)
    assert isinstance(seen["items"], list) and seen["items"][0].dtype == torch.float64 and seen["items"][1] == 3
    run(reference, args, exact_dtype=True)
    assert (seen["x"].dtype, seen["items"][0].dtype) == (torch.bfloat16, torch.float8_e5m2)


def test_layouts_reach_the_reference_and_its_writes_stay_its_own() -> None:
    """Lesson: .contiguous() on the way in lost the layout."""
    seen: list[torch.Tensor] = []

    def reference(x):  # type: ignore[no-untyped-def]
        seen.append(x.clone(memory_format=torch.preserve_format))
        assert x.stride() == (1, 9) and x.storage_offset() == 5
        x.zero_()
        return {"out": x}

    buffer = Buffer((2, 3), strides=(1, 9), offset=5, fill=Arange())
    case = KernelCase(Kernel("x", "out"), (1,), {"x": buffer, "out": empty((2, 3))}, reference=reference)
    memory = allocate(case, "id")
    run_reference(case, memory)
    assert memory.tensors["x"].tolist() == seen[0].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_index_put_keeps_the_poison_of_the_rows_it_leaves_alone() -> None:
    goldens = run(lambda x, out: {"out": torch.where(torch.tensor([[True], [False]]), x, out)})
    poisoned = goldens["out"].view(np.uint32) == DTYPES["fp32"].poison
    assert poisoned.tolist() == [[False] * 3, [True] * 3]


def test_all_launches_arguments_are_known_and_lists_of_goldens_are_taken() -> None:
    outs = [empty(2), empty(2)]
    then = [Launch(Kernel("items", "m"), (1,), {"items": outs, "m": 2.5})]
    goldens = run(lambda m, **_: {"items": [torch.full((2,), m), None]}, {"x": Buffer(2), "items": outs}, then=then)
    assert goldens["items[0]"].tolist() == [2.5, 2.5] and goldens["items[1]"] is None


def test_a_reference_may_differentiate() -> None:
    def reference(x):  # type: ignore[no-untyped-def]
        x.requires_grad_()
        (gradient,) = torch.autograd.grad((x * x).sum(), x)
        return {"out": gradient + x}

    assert run(reference)["out"].tolist() == [[0, 3, 6], [9, 12, 15]]


def test_default_and_keyword_parameters() -> None:
    assert run(lambda x, scale=2, *rest: {"out": x * scale})["out"][0, 1] == 2
    assert run(lambda **every: {"out": every["x"] + every["n"]})["out"][0, 0] == 3
    assert run(lambda x, /, n: {"out": x + n})["out"][0, 0] == 3


def test_one_tensor_is_the_one_buffer_that_starts_empty() -> None:
    assert run(lambda x: x + 1)["out"][0, 0] == 1
    two = {"x": Buffer(2), "a": empty(2), "b": empty(2)}
    with pytest.raises(CaseError, match=r"not exactly one buffer starts empty.*return a dict.*a, b"):
        run(lambda x: x, two)
    with pytest.raises(CaseError, match="empty buffers: none"):
        run(lambda x: x, {"x": Buffer(2)})


def test_no_reference_is_said_at_the_case() -> None:
    with pytest.raises(ReferenceFailed, match=r"cases\.py:7: the case has no reference"):
        run(None)


MISTAKES = [
    (lambda y: {"out": y}, "asks for 'y'"),
    (lambda xx: {"out": xx}, "did you mean 'x'"),
    (lambda x: {"outt": x}, "did you mean 'out'"),
    (lambda x: {"out": x[0]}, r"shape \(3,\) for buffer 'out' of shape \(2, 3\)"),
    (lambda x: {"out": 3}, "of type int for buffer 'out'"),
    (lambda x: {"out": x.to(torch.complex64)}, "torch.complex64"),
    (lambda x: None, "returned None"),
    (lambda x: [x], "returned an object of type list"),
    (lambda x: {}, "returns no golden"),
    (lambda x: {"out": None}, "returns no golden"),
    (lambda x: x.missing, "raised AttributeError"),
]


@pytest.mark.parametrize(("reference", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_name_the_reference_s_line(reference: Any, message: str) -> None:
    with pytest.raises(ReferenceFailed, match=message) as caught:
        run(reference)
    assert caught.value.where == line_of(reference)


def test_a_raising_reference_points_at_the_line_that_raised() -> None:
    def reference(x):  # type: ignore[no-untyped-def]
        y = x + 1
        return torch.matmul(y, y)

    with pytest.raises(ReferenceFailed, match="raised RuntimeError: mat1 and mat2") as caught:
        run(reference)
    assert caught.value.where == line_of(reference, 2)


def test_running_out_of_memory_is_no_fault_of_the_reference() -> None:
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator") as caught:
        run(lambda: torch.empty(2**60))
    assert failure_of(caught.value, Context("reference")).kind == "OutOfMemory"


@pytest.mark.parametrize(
    ("dtype", "golden"),
    [("int32", torch.zeros(2)), ("int1", torch.ones(2, dtype=torch.int32)), ("int1", torch.ones(2))],
)
def test_conversions_with_more_than_one_meaning_are_refused(dtype: str, golden: torch.Tensor) -> None:
    with pytest.raises(ReferenceFailed, match=r"convert it the way the kernel does"):
        run(lambda: {"out": golden}, {"out": empty(2, dtype)})


@pytest.mark.parametrize("dtype", ["int8", "fp32", "bf16", "int64"])
def test_bools_and_integers_become_what_the_buffer_is(dtype: str) -> None:
    assert run(lambda: torch.tensor([True, False]), {"out": empty(2, dtype)})["out"].astype(float).tolist() == [1, 0]


def test_a_function_without_a_signature_is_refused() -> None:
    with pytest.raises(ReferenceFailed, match="no signature"):
        run(torch.relu)
