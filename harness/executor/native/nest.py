"""Loops around straight-line code. A value is written at the level of the innermost loop it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from harness.executor.native.lanes import I64, WIDTH, Lane, number


class Level:
    """Code at one depth: the builder stands where the next instruction before the inner loop goes."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.after: list[Callable[[ir.IRBuilder], None]] = []  # what to write once the inner loop is over


class _Loop:
    """`for index = 0; index < extent; index += step`, at least one trip."""

    def __init__(self, function: ir.Function, extent: int, step: int, name: str) -> None:
        self.body = function.append_basic_block(f"{name}.body")
        self.exit = function.append_basic_block(f"{name}.exit")
        self.extent, self.step = extent, step
        self.builder = ir.IRBuilder(self.body)
        self.index: Any = self.builder.phi(I64, name)

    def close(self, outer: ir.IRBuilder, inner: ir.IRBuilder) -> None:
        """Ends the loop: `outer` stands before it and goes on after it, `inner` stands at the end of its body."""
        self.index.add_incoming(number(0), outer.block)
        outer.branch(self.body)
        following = inner.add(self.index, number(self.step))
        self.index.add_incoming(following, inner.block)
        inner.cbranch(inner.icmp_signed("<", following, number(self.extent)), self.body, self.exit)
        outer.position_at_end(self.exit)


class Nest:
    """A loop for each axis of `extents`, the last one a vector at a time. `level(0)` is the code around it.

    Call `close` when all is written; `level(0)`'s builder then stands after the nest.
    """

    def __init__(self, around: ir.IRBuilder, extents: tuple[int, ...], name: str) -> None:
        self.extents = extents
        self.width = min(WIDTH, extents[-1]) if extents else 1
        steps = [1] * (len(extents) - 1) + [self.width] if extents else []
        self._loops = [
            _Loop(around.function, extent, step, f"{name}.{axis}")
            for axis, (extent, step) in enumerate(zip(extents, steps, strict=True))
        ]
        self._levels = [Level(around), *(Level(loop.builder) for loop in self._loops)]

    @property
    def depth(self) -> int:
        return len(self.extents)

    def level(self, depth: int) -> Level:
        return self._levels[depth]

    def builder(self, depth: int) -> ir.IRBuilder:
        return self._levels[depth].builder

    def index(self, axis: int) -> Lane:
        """The index along an axis, i64."""
        innermost = axis == len(self.extents) - 1
        return Lane(self._loops[axis].index, 1 if innermost and self.width > 1 else 0, axis + 1)

    def close(self) -> None:
        for depth in range(len(self._loops), 0, -1):
            level = self._levels[depth]
            for write in level.after:
                write(level.builder)
            self._loops[depth - 1].close(self.builder(depth - 1), level.builder)
        for write in self._levels[0].after:
            write(self.builder(0))
