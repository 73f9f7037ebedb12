"""Real memory for the buffers of a case: one guarded storage for each buffer and its views.

    guard | storage: elements and holes, in address order | guard

A storage is as long as its buffer's strides reach. Guards and holes hold poison (see `guard`), so that
whatever wrote there is found by comparing bytes, on every target.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.buffer import Buffer
from harness.cases.descriptor import Descriptor
from harness.cases.fills import Pointers, Poison
from harness.cases.guard import guard_bytes
from harness.cases.kernel_case import KernelCase, Launch
from harness.errors import CaseError

if TYPE_CHECKING:
    import torch

GUARD_BYTES = 4096
_CACHE_LINE = 64
_WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(eq=False)
class Storage:
    """The memory of one buffer and all its views.

    name     of the buffer, or of its first view where the buffer itself is no argument
    root     the buffer whose strides gave the storage its length and whose fill its content
    guarded  1-D uint8 with the guards, on the target's device
    start    of the storage in `guarded`; the rest of `guarded` is guard
    length   in bytes
    inside   1-D bool, one per byte of the storage: some argument's view reaches it; None means all.
             The others are holes
    """

    name: str
    root: Buffer
    guarded: torch.Tensor
    start: int
    length: int
    inside: np.ndarray | None = None

    @property
    def bytes(self) -> torch.Tensor:
        """The storage without its guards: 1-D uint8, on the device, not a copy."""
        return self.guarded[self.start : self.start + self.length]

    @property
    def address(self) -> int:
        """Of the first byte, as the device sees it."""
        return self.guarded.data_ptr() + self.start

    def initialised(self) -> np.ndarray | None:
        """1-D bool, one per byte: it holds content before the first launch; None means all."""
        if isinstance(self.root.fill, Poison):
            return np.zeros(self.length, dtype=bool)
        if _is_dense(self.root):
            return None
        return covered_bytes([self.root], self.length)


@dataclass(eq=False)
class AllocatedBuffer:
    """One buffer of a case under one of its names: `tensor` is its view of `storage`, layout included."""

    name: str
    buffer: Buffer
    storage: Storage
    tensor: torch.Tensor

    @property
    def byte_offset(self) -> int:
        """Of element 0 from the start of the storage."""
        return self.buffer.offset * self.buffer.dtype.itemsize

    @property
    def starts_as_poison(self) -> bool:
        return isinstance(self.storage.root.fill, Poison)


@dataclass(frozen=True, eq=False)
class DescribedTensor:
    """A Descriptor whose buffer is in memory: what a target makes Triton's own descriptor of."""

    tensor: torch.Tensor
    block_shape: tuple[int, ...]
    padding: str


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The bytes of every storage, guards included, at one moment: 1-D uint8 on the CPU, by storage name."""

    guarded: Mapping[str, np.ndarray]

    def bytes_of(self, storage: Storage) -> np.ndarray:
        """1-D uint8: the storage without its guards, as it was."""
        return self.guarded[storage.name][storage.start : storage.start + storage.length]


@dataclass(eq=False)
class Allocated:
    """The buffers of one case in memory: `buffers` by name, `storages` by the storage's name."""

    buffers: dict[str, AllocatedBuffer]
    storages: dict[str, Storage]

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """Each buffer's tensor by name; list items are `name[0]`, `name[1]`, ..."""
        return {name: one.tensor for name, one in self.buffers.items()}

    def arguments(self, launch: Launch) -> dict[str, Any]:
        """The launch's arguments by parameter name, tensors in place of Buffers, DescribedTensors in place of
        Descriptors; lists stay lists."""
        return {name: self._argument(name, value) for name, value in launch.args.items()}

    def _argument(self, name: str, value: Any) -> Any:
        if isinstance(value, Buffer):
            return self.buffers[name].tensor
        if isinstance(value, Descriptor):
            return DescribedTensor(self.buffers[name].tensor, value.block_shape, value.padding)
        if not isinstance(value, (list, tuple)):
            return value
        items = [self._argument(f"{name}[{i}]", item) for i, item in enumerate(value)]
        # A named tuple keeps its fields.
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def snapshot(self) -> Snapshot:
        """A copy of all bytes, to be taken before the first launch and given to `compare`."""
        return Snapshot({name: host_bytes(one).copy() for name, one in self.storages.items()})

    def restore(self, before: Snapshot) -> None:
        """Puts all bytes back, guards included: a further run starts from the same memory."""
        import torch

        for name, storage in self.storages.items():
            storage.guarded.copy_(torch.from_numpy(before.guarded[name]))

    def guards_intact(self, before: Snapshot) -> bool:
        """True when no byte of any guard zone has changed."""
        return all(_guards_equal(one, before.guarded[name]) for name, one in self.storages.items())

    def holes_intact(self, before: Snapshot) -> bool:
        """True when no byte that no view reaches has changed."""
        return all(_holes_equal(one, before.bytes_of(one)) for one in self.storages.values())


def allocate(case: KernelCase, seed_text: str, device: str = "cpu") -> Allocated:
    """Allocates and fills every buffer of `case`.

    The content depends on `seed_text` (the node id) and the buffer's name only, and is the same on
    every device. Pointer tables hold the addresses of this allocation.
    Raises CaseError for a fill or view that its buffer cannot have.
    """
    buffers = case.buffers
    storages = {id(root): _storage(name, root, device) for name, root in _roots(buffers).items()}
    allocated = {
        name: AllocatedBuffer(name, buffer, storage, _view(name, buffer, storage))
        for name, buffer in buffers.items()
        for storage in [storages[id(_root(buffer))]]
    }
    for storage in storages.values():
        views = [buffer for buffer in buffers.values() if _root(buffer) is storage.root]
        storage.inside = _inside(views, storage.length)
        _fill(storage, seed_text, allocated)
    return Allocated(allocated, {storage.name: storage for storage in storages.values()})


def seed_of(seed_text: str, name: str) -> int:
    """A 63-bit seed from the text alone: the same in every process, on every machine and Python."""
    digest = hashlib.blake2b(f"{seed_text}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def host_bytes(storage: Storage) -> np.ndarray:
    """All bytes of `storage.guarded`: 1-D uint8 on the CPU, shared where the device is the CPU."""
    return storage.guarded.cpu().numpy()


def byte_view(flat: np.ndarray, buffer: Buffer, *, writeable: bool = False) -> np.ndarray:
    """The bytes of a buffer's elements, as its layout finds them in the storage `flat` (one item per byte).

    Shape (*buffer.shape, itemsize); a view, no copy.
    """
    size = buffer.dtype.itemsize
    return np.lib.stride_tricks.as_strided(
        flat[buffer.offset * size :],
        shape=(*buffer.shape, size),
        strides=(*(s * size * flat.itemsize for s in buffer.strides), flat.itemsize),
        writeable=writeable,
    )


def covered_bytes(views: Iterable[Buffer], length: int) -> np.ndarray:
    """1-D bool of `length` bytes: True where an element of any of `views` lies."""
    covered = np.zeros(length, dtype=bool)
    for view in views:
        if view.numel:
            byte_view(covered, view, writeable=True)[...] = True
    return covered


def _root(buffer: Buffer) -> Buffer:
    return buffer.base or buffer


def _roots(buffers: Mapping[str, Buffer]) -> dict[str, Buffer]:
    """Each storage's buffer under the storage's name: its own where it is an argument, else its first view's."""
    names: dict[int, str] = {}
    for name, buffer in buffers.items():
        names.setdefault(id(_root(buffer)), name)
    own = {id(buffer): name for name, buffer in reversed(list(buffers.items())) if buffer.base is None}
    roots = {id(_root(buffer)): _root(buffer) for buffer in buffers.values()}
    return {own.get(key, names[key]): root for key, root in roots.items()}


def _storage(name: str, root: Buffer, device: str) -> Storage:
    import torch

    # An exact alignment below 16, else whole cache lines, as allocators give them.
    exact = root.alignment < 16
    modulus = 2 * root.alignment if exact else max(_CACHE_LINE, root.alignment)
    length = root.storage_elements * root.dtype.itemsize
    guarded = torch.empty(GUARD_BYTES + modulus + length + GUARD_BYTES, dtype=torch.uint8, device=device)
    first = guarded.data_ptr() + GUARD_BYTES + root.offset * root.dtype.itemsize
    start = GUARD_BYTES + ((root.alignment if exact else 0) - first) % modulus
    return Storage(name, root, guarded, start, length)


def _view(name: str, buffer: Buffer, storage: Storage) -> torch.Tensor:
    import torch

    size = buffer.dtype.itemsize
    if storage.start % size:
        raise CaseError(
            f"the view {name!r} starts {storage.start % size} bytes off a multiple of {size} bytes, its element's size",
            hint="the alignment or offset of its buffer does not allow it",
            about=name,
        )
    typed = torch.empty(0, dtype=buffer.dtype.torch, device=storage.guarded.device)
    offset = storage.start // size + buffer.offset
    return typed.set_(storage.guarded.untyped_storage(), offset, buffer.shape, buffer.strides)


def _is_dense(buffer: Buffer) -> bool:
    """Every element of the storage belongs to exactly one index."""
    return not may_overlap(buffer) and buffer.numel == buffer.storage_elements


def may_overlap(buffer: Buffer) -> bool:
    """True unless the strides make it plain that no two indices share an element."""
    reach = 0
    for stride, extent in sorted(zip(buffer.strides, buffer.shape, strict=True)):
        if extent <= 1:
            continue
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def _inside(views: list[Buffer], length: int) -> np.ndarray | None:
    if any(_is_dense(view) and view.numel * view.dtype.itemsize == length for view in views):
        return None
    covered = covered_bytes(views, length)
    return None if covered.all() else covered


def _fill(storage: Storage, seed_text: str, allocated: Mapping[str, AllocatedBuffer]) -> None:
    import torch

    root, device = storage.root, storage.guarded.device
    content = storage.guarded if device.type == "cpu" else torch.empty(storage.guarded.shape, dtype=torch.uint8)
    _fill_guards(storage, content, torch.Generator().manual_seed(seed_of(seed_text, f"{storage.name} guard")))
    values = _values(storage, seed_of(seed_text, storage.name), allocated)
    _scatter(content.numpy()[storage.start : storage.start + storage.length], root, values)
    if content is not storage.guarded:
        storage.guarded.copy_(content)


def _fill_guards(storage: Storage, content: torch.Tensor, generator: torch.Generator) -> None:
    """Poison before, after, and in a layout with holes also within (the elements come on top)."""
    dtype, start, end = storage.root.dtype, storage.start, storage.start + storage.length
    # `start` is a multiple of the element's size: each part begins with a whole element.
    content[:start] = guard_bytes(start, dtype, generator)
    content[end:] = guard_bytes(content.numel() - end, dtype, generator)
    if not _is_dense(storage.root):
        content[start:end] = guard_bytes(storage.length, dtype, generator)


def _values(storage: Storage, seed: int, allocated: Mapping[str, AllocatedBuffer]) -> torch.Tensor:
    import torch

    root = storage.root
    if isinstance(root.fill, Pointers):
        return _addresses(storage.name, root, root.fill, allocated)
    try:
        values = root.fill.make(root.shape, root.dtype, torch.Generator().manual_seed(seed))
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        what = f"buffer {storage.name!r} cannot be filled by {root.fill}: {error}"
        raise CaseError(what, about=storage.name) from error
    if tuple(values.shape) != root.shape or values.dtype != root.dtype.torch:
        raise CaseError(
            f"fill {root.fill} made {values.dtype} {tuple(values.shape)} for buffer {storage.name!r},"
            f" which is {root.dtype} {root.shape}",
            about=storage.name,
        )
    return values


def _addresses(name: str, table: Buffer, fill: Pointers, allocated: Mapping[str, AllocatedBuffer]) -> torch.Tensor:
    import torch

    unknown = [one for one in fill.names if one not in allocated]
    if unknown:
        raise CaseError(
            f"pointer table {name!r} names {unknown[0]!r}, which is no buffer of the case",
            hint=f"one of: {', '.join(allocated)}",
            about=name,
        )
    if table.dtype.itemsize != 8 or table.dtype.is_float or table.numel != len(fill.names):
        raise CaseError(
            f"pointer table {name!r} is {table.dtype} {table.shape} but holds {len(fill.names)} addresses",
            hint=f"make it int64 of {len(fill.names)} elements",
            about=name,
        )
    targets = [allocated[one] for one in fill.names]
    addresses = torch.tensor([one.storage.address + one.byte_offset for one in targets], dtype=torch.int64)
    return addresses.view(table.dtype.torch).reshape(table.shape)


def _scatter(flat: np.ndarray, buffer: Buffer, values: torch.Tensor) -> None:
    """Writes `values` through the buffer's strides; where indices share an element the last one wins."""
    import torch

    if not buffer.numel:
        return
    word = _WORD[buffer.dtype.itemsize]
    source = values.contiguous().as_strided((values.numel(),), (1,)).view(torch.uint8).numpy().view(word)
    elements = flat.view(word)
    if may_overlap(buffer):
        # NumPy promises that the last of repeated indices wins; a strided copy promises nothing.
        elements[element_numbers(buffer).ravel()] = source
        return
    size = elements.itemsize
    target = np.lib.stride_tricks.as_strided(
        elements[buffer.offset :], buffer.shape, tuple(stride * size for stride in buffer.strides)
    )
    target[...] = source.reshape(buffer.shape)


def element_numbers(buffer: Buffer) -> np.ndarray:
    """int64, the buffer's shape: where each element lies in the storage, in elements."""
    numbers = np.full((1,) * len(buffer.shape), buffer.offset, dtype=np.int64)
    for axis, (extent, stride) in enumerate(zip(buffer.shape, buffer.strides, strict=True)):
        steps = np.arange(extent, dtype=np.int64) * stride
        numbers = numbers + steps.reshape((-1,) + (1,) * (len(buffer.shape) - axis - 1))
    return numbers


def _guards_equal(storage: Storage, before: np.ndarray) -> bool:
    now, end = host_bytes(storage), storage.start + storage.length
    return np.array_equal(now[: storage.start], before[: storage.start]) and np.array_equal(now[end:], before[end:])


def _holes_equal(storage: Storage, before: np.ndarray) -> bool:
    if storage.inside is None:
        return True
    now = host_bytes(storage)[storage.start : storage.start + storage.length]
    return not ((now != before) & ~storage.inside).any()
