"""What the executor asks of the IR before it runs anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from harness.executor.types import element, extents, get
from harness.executor.values import splat_affine
from harness.ir import attribute
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

_PURE = frozenset(
    {
        "tt.addptr",
        "tt.approx_divf",
        "tt.bitcast",
        "tt.broadcast",
        "tt.cat",
        "tt.clampf",
        "tt.expand_dims",
        "tt.extern_elementwise",
        "tt.fp_to_fp",
        "tt.get_num_programs",
        "tt.int_to_ptr",
        "tt.join",
        "tt.make_range",
        "tt.make_tensor_descriptor",
        "tt.make_tensor_ptr",
        "tt.mulhiui",
        "tt.precise_divf",
        "tt.precise_sqrt",
        "tt.ptr_to_int",
        "tt.reshape",
        "tt.splat",
        "tt.split",
        "tt.trans",
        "tt.unsplat",
    }
)


def is_pure(operation: Operation) -> bool:
    """Whether the op computes from its operands alone and has no effect."""
    return not operation.regions and is_pure_name(operation.name)


def is_pure_name(name: str) -> bool:
    """Whether ops of this name, where they have no regions, compute from their operands alone."""
    return name.startswith(("arith.", "math.")) or name in _PURE


_CARRY_SHARING = frozenset(
    {"tt.trans", "tt.fp_to_fp", "tt.bitcast", "arith.extf", "arith.truncf", "arith.sitofp", "ttg.convert_layout"}
)


def feeds_dot(operation: Operation) -> bool:
    """Whether all that becomes of a load is an operand of a matrix product, perhaps converted or transposed."""
    users = [use.operation for use in operation.results[0].uses]
    return bool(users) and all(
        user.name == "tt.dot" or (user.name in _CARRY_SHARING and feeds_dot(user)) for user in users
    )


def constant_value(operation: Operation) -> Any:
    """The value of an arith.constant: an array, or an Affine for a splat of integers."""
    type_ = operation.results[0].type
    dtype = numpy_dtype(element(type_))
    attr = attribute(operation, "value")
    if not isinstance(attr, DenseIntOrFPElementsAttr):
        return np.array([get(operation, "value")]).astype(dtype)
    values = _dense_values(attr, dtype)
    if values.size > 1 or extents(type_) == ():
        return values.reshape(1, *extents(type_))
    if dtype.kind == "i":
        return splat_affine(values.reshape(1), extents(type_))
    return values.reshape(1, *(1,) * len(extents(type_)))


def _dense_values(literal: DenseIntOrFPElementsAttr, dtype: np.dtype[Any]) -> Array:
    """The elements of a dense literal, one where they are all alike."""
    data = literal.data.data
    size = literal.type.element_type.compile_time_size
    if data == data[:size] * (len(data) // size):
        data = data[:size]
    return np.frombuffer(data, np.uint8 if dtype == np.bool_ else dtype).astype(dtype)
