"""Memory of a case: layout, alignment, guards, holes, content."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.cases import (
    Arange,
    Buffer,
    Constant,
    Integers,
    KernelCase,
    Normal,
    Permutation,
    Pointers,
    Special,
    Uniform,
    Values,
    empty,
)
from harness.cases.allocate import Allocated, allocate, element_numbers, may_overlap, seed_of
from harness.cases.dtypes import DTYPES, dtype_named
from harness.errors import CaseError


class Kernel:
    """Stands for a jitted function where nothing is launched."""

    def __init__(self, *names: str) -> None:
        self.arg_names = list(names)


def allocated(device: str = "cpu", seed: str = "id", **args: object) -> Allocated:
    return allocate(KernelCase(Kernel(*args), (1,), args), seed, device)


def raw(tensor: torch.Tensor) -> bytes:
    """The elements' bytes in row-major order."""
    dense = tensor.clone(memory_format=torch.contiguous_format)
    return dense.view(-1, 1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""


@st.composite
def layouts(draw: st.DrawFn) -> Buffer:
    """Any shape, strides (overlapping and zero ones too), offset, dtype and alignment."""
    dtype = dtype_named(draw(st.sampled_from(sorted(DTYPES))))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    strides = tuple(draw(st.lists(st.integers(0, 40), min_size=len(shape), max_size=len(shape))))
    alignment = draw(st.sampled_from([n for n in (1, 2, 4, 8, 16, 64, 256) if n >= dtype.itemsize]))
    return Buffer(shape, dtype, strides=strides, offset=draw(st.integers(0, 9)), fill=Special(), alignment=alignment)


@examples(150)
@given(layouts())
def test_every_layout_round_trips(buffer: Buffer) -> None:
    memory = allocated(x=buffer)
    tensor, storage = memory.tensors["x"], memory.storages["x"]
    assert (tuple(tensor.shape), tensor.stride(), tensor.dtype) == (buffer.shape, buffer.strides, buffer.dtype.torch)
    assert storage.length == buffer.storage_elements * buffer.dtype.itemsize

    values = buffer.fill.make(buffer.shape, buffer.dtype, torch.Generator().manual_seed(seed_of("id", "x")))
    words = np.frombuffer(raw(values), dtype=f"u{buffer.dtype.itemsize}")
    last = dict(zip(element_numbers(buffer).ravel().tolist(), words.tolist(), strict=True))  # the last write wins
    stored = storage.bytes.numpy().view(f"u{buffer.dtype.itemsize}")
    assert all(stored[place] == word for place, word in last.items())
    seen = np.frombuffer(raw(tensor), dtype=words.dtype)
    assert seen.tolist() == [last[place] for place in element_numbers(buffer).ravel().tolist()]


@examples(60)
@given(layouts())
def test_alignment_is_exact_below_sixteen(buffer: Buffer) -> None:
    storage = allocated(x=buffer).storages["x"]
    address = storage.address + buffer.offset * buffer.dtype.itemsize
    assert address % buffer.alignment == 0
    if buffer.alignment < 16:
        assert address % (2 * buffer.alignment)


@examples(60)
@given(layouts())
def test_holes_are_the_bytes_no_index_reaches(buffer: Buffer) -> None:
    storage = allocated(x=buffer).storages["x"]
    size = buffer.dtype.itemsize
    reached = {place * size + byte for place in element_numbers(buffer).ravel().tolist() for byte in range(size)}
    inside = np.ones(storage.length, bool) if storage.inside is None else storage.inside
    assert set(np.flatnonzero(inside).tolist()) == reached


def test_overlap_is_recognised() -> None:
    assert may_overlap(Buffer((4, 4), strides=(1, 1)))
    assert may_overlap(Buffer((3,), strides=(0,)))
    assert not may_overlap(Buffer((4, 4), strides=(1, 4)))
    assert not may_overlap(Buffer((1, 4), strides=(0, 1)))


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.is_float])
def test_guards_and_holes_read_as_nan(name: str) -> None:
    memory = allocated(x=Buffer((3, 4), name, strides=(9, 1), fill=Constant(1), alignment=8))
    storage = memory.storages["x"]
    for part in (storage.guarded[: storage.start], storage.bytes[4 * storage.root.dtype.itemsize :][:5]):
        size = part.numel() // storage.root.dtype.itemsize * storage.root.dtype.itemsize
        assert torch.isnan(part[:size].clone().view(storage.root.dtype.torch).double()).all()


def test_the_poison_of_two_buffers_differs() -> None:
    """A copy kernel that runs over the end of both must not write what is there already."""
    memory = allocated(x=Buffer(64), out=empty(64))
    parts = [one.guarded[one.start + one.length :][:64] for one in memory.storages.values()]
    assert not torch.equal(*parts)


def test_content_depends_on_the_seed_text_and_the_name_only() -> None:
    first, second = allocated(x=Buffer(50), y=Buffer(50)), allocated(y=Buffer(50), z=Buffer(9), x=Buffer(50))
    assert raw(first.tensors["x"]) == raw(second.tensors["x"])
    assert raw(first.tensors["x"]) != raw(first.tensors["y"])
    assert raw(first.tensors["x"]) != raw(allocated(seed="other", x=Buffer(50)).tensors["x"])


def test_seeds_survive_another_process() -> None:
    code = "from harness.cases.allocate import seed_of; print(seed_of('a::b[npu]', 'x'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(printed) == seed_of("a::b[npu]", "x")


def test_views_and_repeated_arguments_share_memory() -> None:
    root = Buffer((4, 6), fill=Arange())
    memory = allocated(a=root.view((2, 3), (6, 1), 7), b=root, c=root, d=root.view((48,), dtype="int16"))
    assert list(memory.storages) == ["b"]
    memory.tensors["a"].fill_(-1)
    assert memory.tensors["c"][1, 1:4].tolist() == [-1, -1, -1]
    assert memory.tensors["c"].flatten()[:7].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert memory.tensors["d"].data_ptr() == memory.tensors["b"].data_ptr()


def test_a_storage_whose_buffer_is_no_argument_takes_its_first_view_s_name() -> None:
    root = Buffer((10,), fill=Arange())
    memory = allocated(a=root.view((3,)), b=root.view((3,), offset=5))
    assert list(memory.storages) == ["a"]
    assert memory.tensors["b"].tolist() == [5, 6, 7]
    inside = memory.storages["a"].inside
    assert inside is not None and np.flatnonzero(~inside).tolist() == [*range(12, 20), *range(32, 40)]


def test_outputs_start_as_poison_and_not_as_zero() -> None:
    """Lesson: outputs pre-filled with zeros hid every element a scatter did not write."""
    for name, dtype in DTYPES.items():
        memory = allocated(out=empty((7,), name, alignment=16))
        bits = memory.storages["out"].bytes.numpy().view(f"u{dtype.itemsize}")
        assert set(bits.tolist()) == {dtype.poison}
        assert not dtype.is_float or memory.tensors["out"].double().isnan().all()
        assert memory.storages["out"].initialised().sum() == 0  # type: ignore[union-attr]


def test_initialised_leaves_out_the_holes() -> None:
    memory = allocated(x=Buffer((2, 2), "int8", strides=(3, 1)), y=Buffer(4))
    assert memory.storages["x"].initialised().tolist() == [True, True, False, True, True]  # type: ignore[union-attr]
    assert memory.storages["y"].initialised() is None


def test_pointer_tables_hold_addresses() -> None:
    x, y = Buffer(4, "fp16", offset=3), Buffer(4)
    memory = allocated(
        table=Buffer(3, "int64", fill=Pointers(("y", "x", "items[1]"))), x=x, y=y, items=[x, y.view((2,))]
    )
    tensors = memory.tensors
    assert tensors["table"].tolist() == [tensors[name].data_ptr() for name in ("y", "x", "items[1]")]


@pytest.mark.parametrize(
    "table",
    [
        Buffer(1, "int64", fill=Pointers(("z",))),
        Buffer(2, "int64", fill=Pointers(("x",))),
        Buffer(1, "int32", fill=Pointers(("x",))),
        Buffer(1, "fp64", fill=Pointers(("x",))),
    ],
)
def test_pointer_tables_that_cannot_be(table: Buffer) -> None:
    with pytest.raises(CaseError, match="pointer table 'table'"):
        allocated(table=table, x=Buffer(4))


def test_a_view_off_its_alignment_is_refused() -> None:
    root = Buffer((9,), "fp32", offset=1)
    with pytest.raises(CaseError, match="multiple of 8"):
        allocated(x=root, y=root.view((2,), dtype="int64"))


def test_arguments_keep_lists_scalars_and_order() -> None:
    memory = allocated(x=Buffer(4), items=[Buffer(2), 3], pair=(Buffer(1),), n=5, flag=None)
    case_args = {name: one.buffer for name, one in memory.buffers.items()}
    launch = KernelCase(Kernel(), (1,), {}).launches[0]
    assert memory.arguments(launch) == {}
    assert list(case_args) == ["x", "items[0]", "pair[0]"]
    case = KernelCase(Kernel(), (1,), {"items": [Buffer(2), 3], "pair": (Buffer(1),), "n": 5})
    arguments = allocate(case, "id").arguments(case.launches[0])
    assert isinstance(arguments["items"][0], torch.Tensor) and arguments["items"][1] == 3
    assert isinstance(arguments["pair"], tuple) and arguments["n"] == 5


def test_guards_and_holes_are_watched_and_restored() -> None:
    memory = allocated(x=Buffer((2, 3), strides=(5, 1)))
    before, storage = memory.snapshot(), memory.storages["x"]
    assert memory.guards_intact(before) and memory.holes_intact(before)
    storage.guarded[storage.start - 1] ^= 1
    storage.bytes[4 * 4] ^= 1
    assert not memory.guards_intact(before) and not memory.holes_intact(before)
    memory.restore(before)
    assert memory.guards_intact(before) and memory.holes_intact(before)
    storage.guarded[-1] ^= 1
    assert not memory.guards_intact(before)


@pytest.mark.parametrize("name", sorted(DTYPES))
@pytest.mark.parametrize(
    "fill",
    [Normal(), Uniform(), Integers(0, 2), Constant(1), Arange(), Permutation(), Special(), Values((1, 0))],
    ids=str,
)
def test_every_fill_makes_every_dtype(fill: object, name: str) -> None:
    tensor = allocated(x=Buffer((3, 5), name, fill=fill)).tensors["x"]  # type: ignore[arg-type]
    assert tuple(tensor.shape) == (3, 5)


def test_a_fill_that_cannot_be_made_is_the_case_s_fault() -> None:
    with pytest.raises(CaseError, match="cannot be filled"):
        allocated(x=Buffer(4, fill=Integers(5, 5)))
    with pytest.raises(CaseError, match="cannot be filled"):
        allocated(x=Buffer(4, fill=Values(())))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_same_content_on_a_gpu() -> None:
    x, out = Buffer((3, 4), strides=(7, 1), alignment=4), empty(5)
    host, device = allocated(x=x, out=out), allocated(device="cuda", x=x, out=out)
    for name in ("x", "out"):
        assert raw(host.tensors[name]) == raw(device.tensors[name].cpu())
    assert device.tensors["x"].data_ptr() % 8 == 4
