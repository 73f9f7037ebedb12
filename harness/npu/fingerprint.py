"""The content of everything of ours that a compiled kernel's result depends on."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

# Every room between Triton's TTIR and a result. A name or a version number would go stale: a fix in
# any of these files must miss every cache.
LOWERING_ROOMS = ("ir", "semantics", "executor", "npu")


def fingerprint_of(root: Path, rooms: tuple[str, ...] = LOWERING_ROOMS) -> str:
    """A digest of the path and the bytes of every Python file in `rooms` under `root`."""
    digest = hashlib.sha256()
    for path in sorted(path for room in rooms for path in (root / room).rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@functools.cache
def lowering_fingerprint() -> str:
    """`fingerprint_of` this installation, read once: it describes the code this process runs."""
    return fingerprint_of(Path(__file__).resolve().parents[1])
