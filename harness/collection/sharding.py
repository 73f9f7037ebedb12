"""Splitting a suite over machines."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, node_id: str) -> bool:
        """Whether a test is in this part. It depends on nothing but its node id, so that adding one test
        moves no other."""
        digest = hashlib.sha256(node_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Of "2/4". Raises ValueError for anything else."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"{text!r} is not I/N with I from 1 to N, such as 2/4")
    return Shard(int(match[1]), int(match[2]))
