"""Descriptors: what can be described, and that the buffer below one is a buffer like any other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from harness.cases import Buffer, CaseInstance, Descriptor, KernelCase, Launch, case, empty
from harness.cases.allocate import allocate
from harness.cases.evidence import Evidence
from harness.cases.options import RunOptions
from harness.errors import CaseError
from harness.targets import run_case


class Kernel:
    """Stands for a jitted function where nothing is launched."""

    def __init__(self, *names: str) -> None:
        self.arg_names = list(names)


def of(*args: Any, **layout: Any) -> Descriptor:
    return Descriptor(Buffer((8, 32), **layout), *args)


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (lambda: of([8]), "does not match shape"),
        (lambda: of([8, 24]), "powers of two"),
        (lambda: of([8, 0]), "powers of two"),
        (lambda: of([8, 16], "one"), "padding 'one' is unknown"),
        (lambda: of([8, 16], "nan", dtype="int32"), "needs a float buffer"),
        (lambda: of([8, 16], strides=(64, 2)), "cannot be described"),
        (lambda: of([8, 16], strides=(33, 1)), "cannot be described"),
        (lambda: of([8, 16], alignment=8), "multiple of 16 bytes"),
        (lambda: Descriptor(Buffer(64).view((8,), offset=1), [8]), "multiple of 16 bytes"),
        (lambda: Descriptor(Buffer((0, 32)), [8, 16]), "none of them empty"),
        (lambda: Descriptor(Buffer(()), []), "1 to 5 axes"),
        (lambda: Descriptor(Buffer((1,) * 6), [1] * 6), "1 to 5 axes"),
    ],
)
def test_what_no_descriptor_can_describe_is_refused_in_a_sentence(describe: Any, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        describe()


def test_triton_agrees_on_what_is_described() -> None:
    buffers = {
        "whole": Buffer((8, 32)),
        "rows": Buffer((3, 5), "int8", strides=(16, 1)),
        "late": Buffer((8, 32), "fp16", offset=3),  # alignment speaks of element 0, whatever the offset
        "part": Buffer((16, 64), "bf16", offset=3).view((2, 8), (64, 1), 3 + 2 * 64 + 8),
    }
    args = {name: Descriptor(buffer, [2, 16]) for name, buffer in buffers.items()}
    live = allocate(KernelCase(Kernel(*args), (1,), args), "id").arguments(Launch(Kernel(*args), (1,), args))
    for name, one in live.items():
        described = TensorDescriptor.from_tensor(one.tensor, list(one.block_shape), one.padding)
        assert (tuple(described.shape), tuple(described.strides)) == (buffers[name].shape, buffers[name].strides)


@triton.jit
def twice(x, out):
    out.store([0, 0], x.load([0, 0]) * 2)


@case(factor=[2, 3])
def doubled(factor: int) -> KernelCase:
    described = {name: Descriptor(make((3, 8), strides=(16, 1)), [4, 8]) for name, make in MAKERS.items()}
    return KernelCase(twice, (1,), described, lambda x: x * factor)


MAKERS = {"x": Buffer, "out": empty}


def evidence_of(instance: CaseInstance) -> Evidence:
    return run_case(instance, "file.py::case", "npu", RunOptions(checks="full"), lambda stage: None)


def test_the_buffer_below_is_filled_compared_and_named() -> None:
    right, wrong = (evidence_of(instance) for instance in doubled.instances())
    assert right.failure is None and not right.findings
    roles = {one.name: (one.role, one.compared, one.shape) for one in right.buffers}
    assert roles == {"x": ("in", False, (3, 8)), "out": ("out", True, (3, 8))}
    mismatches = {one.name: one.mismatch for one in wrong.buffers if one.mismatch}
    assert mismatches["out"].wrong == 24


@triton.jit
def through_the_window(window, base):
    window.store([0, 0], window.load([0, 0]) + 1)


@case(n=[3])
def window_of_a_buffer(n: int) -> KernelCase:
    base = Buffer((8, 16))
    args = {"window": Descriptor(base.view((n, 8), (16, 1), 20), [4, 8]), "base": base}

    def reference(base: torch.Tensor) -> dict[str, torch.Tensor]:
        base[1 : 1 + n, 4:12] += 1
        return {"base": base}

    return KernelCase(through_the_window, (1,), args, reference)


def test_a_described_view_shares_its_buffer_s_memory_and_ends_where_it_ends() -> None:
    (instance,) = window_of_a_buffer.instances()
    evidence = evidence_of(instance)
    assert evidence.failure is None and not evidence.findings
    assert all(one.mismatch is None for one in evidence.buffers)
    assert [one.name for one in evidence.buffers if one.compared] == ["base"]
