"""What a run did to bytes that no golden speaks for: inputs, guard zones and holes.

Found by comparing bytes, so it holds on every target and at every level of checking.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from harness.cases.allocate import Allocated, AllocatedBuffer, Snapshot, Storage, byte_view, covered_bytes, host_bytes
from harness.cases.evidence import Finding


def changed_bytes(storage: Storage, before: Snapshot) -> np.ndarray | None:
    """1-D bool, one per byte of the storage; None when nothing changed."""
    now = host_bytes(storage)[storage.start : storage.start + storage.length]
    was = before.bytes_of(storage)
    return None if np.array_equal(now, was) else now != was


def buffer_changed(one: AllocatedBuffer, changed: np.ndarray | None) -> bool:
    """Some element of the buffer has a byte that changed."""
    return changed is not None and one.buffer.numel > 0 and bool(byte_view(changed, one.buffer).any())


def find_changes(
    allocated: Allocated, before: Snapshot, changed: dict[str, np.ndarray | None], expected: Collection[str]
) -> list[Finding]:
    """Findings for every storage; `expected` names the buffers that the reference speaks for."""
    findings: list[Finding] = []
    for name, storage in allocated.storages.items():
        findings += _guard_findings(storage, before)
        different = changed[name]
        if different is not None:
            findings += _storage_findings(storage, different, allocated, expected)
    return findings


def _storage_findings(
    storage: Storage, changed: np.ndarray, allocated: Allocated, expected: Collection[str]
) -> list[Finding]:
    views = [one for one in allocated.buffers.values() if one.storage is storage]
    if storage.inside is None and all(one.name in expected for one in views):
        return []
    spoken_for = covered_bytes([one.buffer for one in views if one.name in expected], storage.length)
    inside = np.ones(storage.length, dtype=bool) if storage.inside is None else storage.inside
    findings = _input_findings([one for one in views if one.name not in expected], changed & ~spoken_for)
    holes = np.flatnonzero(changed & ~inside)
    if holes.size:
        findings.append(_outside(storage, holes, "in a hole of the layout"))
    return findings


def _input_findings(views: list[AllocatedBuffer], changed: np.ndarray) -> list[Finding]:
    findings: list[Finding] = []
    for one in views:
        if not buffer_changed(one, changed):
            continue
        elements = byte_view(changed, one.buffer).any(axis=-1)
        count = int(elements.sum())
        first = tuple(int(i) for i in np.argwhere(elements)[0])
        # What starts as poison is no input: the reference forgot it.
        kind = "reference" if one.starts_as_poison else "input-changed"
        findings.append(
            Finding(
                kind,
                one.name,
                f"{count} of {one.buffer.numel} elements of {one.name!r} changed, first at {list(first)},"
                " but the reference gives no golden for it",
            )
        )
        # Another name for the same bytes is the same finding.
        changed = changed & ~covered_bytes([one.buffer], changed.size)
    return findings


def _guard_findings(storage: Storage, before: Snapshot) -> list[Finding]:
    now, was, end = host_bytes(storage), before.guarded[storage.name], storage.start + storage.length
    findings: list[Finding] = []
    for part, origin, place in (
        (slice(0, storage.start), -storage.start, "before the start"),
        (slice(end, None), storage.length, "after the end"),
    ):
        if np.array_equal(now[part], was[part]):
            continue
        findings.append(_outside(storage, np.flatnonzero(now[part] != was[part]) + origin, place))
    return findings


def _outside(storage: Storage, byte_offsets: np.ndarray, place: str) -> Finding:
    size = storage.root.dtype.itemsize
    elements = np.unique(byte_offsets // size)
    count = "1 element was" if elements.size == 1 else f"{elements.size} elements were"
    return Finding(
        "wrote-outside",
        storage.name,
        f"{count} written {place} of buffer {storage.name!r},"
        f" first at element {int(elements[0])} of its storage (byte {int(byte_offsets[0])})",
    )
