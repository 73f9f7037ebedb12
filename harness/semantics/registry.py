"""Elementwise ops by name. A *maker* takes the op's signature and gives the function on arrays.

Everything that depends on types or attributes is decided by the maker, once; the function it returns sees
arrays only, which broadcast against each other as NumPy arrays do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.errors import UnsupportedOp
from harness.semantics.types import NARROW_FLOATS, Array, Signature, numpy_dtype, unsigned

ElementwiseFunction = Callable[..., Array]
Maker = Callable[[Signature], ElementwiseFunction]
ELEMENTWISE: dict[str, Maker] = {}


def elementwise(*names: str) -> Callable[[Maker], Maker]:
    """Registers a maker under the ops' names."""

    def register(maker: Maker) -> Maker:
        for name in names:
            ELEMENTWISE[name] = maker
        return maker

    return register


def elementwise_function(signature: Signature) -> ElementwiseFunction:
    """The function of an elementwise op. Raises UnsupportedOp for a name nobody registered."""
    maker = ELEMENTWISE.get(signature.name)
    if maker is None:
        raise UnsupportedOp(f"unsupported op {signature.name}")
    return maker(signature)


def register_table(
    table: dict[str, ElementwiseFunction], wrap: Callable[[Signature, Any], ElementwiseFunction]
) -> None:
    """Registers a table of plain functions, each through the same wrapper."""
    for name, function in table.items():
        ELEMENTWISE[name] = lambda signature, function=function: wrap(signature, function)


def floats(signature: Signature, function: ElementwiseFunction) -> ElementwiseFunction:
    """Narrow floats compute in f32 and round once, as hardware does; f32 and f64 compute as they are."""
    if signature.operands[0] not in NARROW_FLOATS:
        return function
    result = numpy_dtype(signature.result)

    def narrow(*operands: Array) -> Array:
        wide = function(*(operand.astype(np.float32) for operand in operands))
        return wide.astype(result)

    return narrow


def plain(signature: Signature, function: ElementwiseFunction) -> ElementwiseFunction:
    """The function as it is."""
    return function


def as_unsigned(signature: Signature, function: ElementwiseFunction) -> ElementwiseFunction:
    """Operands read as unsigned integers, the result stored back in the signless type."""
    result = numpy_dtype(signature.result)
    return lambda *operands: function(*(unsigned(operand) for operand in operands)).view(result)
