"""Comparing modules: what xDSL's structural equality leaves out (locations, forward uses) included."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


def facts(op: Operation) -> list[object]:
    """Everything that makes an op the op it is, its regions included. Values are numbered as they are defined."""
    numbers = {defined: number for number, defined in enumerate(_defined(op))}
    return list(_facts(op, numbers))


def _defined(op: Operation) -> Iterator[object]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield block
            yield from block.args
            for inner in block.ops:
                yield from _defined(inner)


def _facts(op: Operation, numbers: dict[object, int]) -> Iterator[object]:
    yield op.name, op.location, dict(op.properties), dict(op.attributes)
    yield [numbers[value] for value in op.operands], [numbers[block] for block in op.successors]
    yield [value.type for value in op.results]
    for region in op.regions:
        yield len(region.blocks)
        for block in region.blocks:
            yield [(value.type, value.location) for value in block.args]
            for inner in block.ops:
                yield from _facts(inner, numbers)
