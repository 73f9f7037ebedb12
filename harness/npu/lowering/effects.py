"""Which ops touch DRAM, what their regions do included."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

READS = frozenset({"npu.load", "npu.start_load", "tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
WRITES = frozenset({"npu.store", "npu.start_store", "tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
# Both, and in order with everything else: other programs may be waiting for it.
ORDERED = frozenset(
    {
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "tt.atomic_load",
        "tt.atomic_store",
        "tt.atomic_poll",
        "tt.descriptor_reduce",
        "tt.call",
        "tt.debug_barrier",
        "ttg.barrier",
        "gpu.barrier",
        "tt.grid_dependency_wait",
        "tt.grid_dependency_launch_dependents",
    }
)


@dataclass(frozen=True)
class Effect:
    reads: bool = False
    writes: bool = False

    @property
    def is_any(self) -> bool:
        return self.reads or self.writes


NOTHING = Effect()


class Effects:
    """Of the ops of one function, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[Operation, Effect] = {}

    def of(self, op: Operation) -> Effect:
        """What the op, or anything in it, does to DRAM."""
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = self._found(op)
        return known

    def _found(self, op: Operation) -> Effect:
        if op.name in ORDERED or (op.name == "tt.load" and _is_volatile(op)):
            return Effect(reads=True, writes=True)
        reads, writes = op.name in READS, op.name in WRITES
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    effect = self.of(inner)
                    reads, writes = reads or effect.reads, writes or effect.writes
        return Effect(reads, writes) if reads or writes else NOTHING


def _is_volatile(op: Operation) -> bool:
    value = op.properties.get("isVolatile")
    return value is not None and bool(value.value.data)  # pyright: ignore[reportAttributeAccessIssue]
