"""Attributes and types whose text is all they are: numbers, strings, scalar types, dictionaries of these.

Each function answers None for what it does not know, or what would be an error: xDSL then reads it, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

_INTEGER_TYPE = re.compile(r"i([1-9]\d?)")
_FLOAT_TYPES = {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64}
_NUMBER = re.compile(r"(-?\d+) : (i[1-9]\d?)|(-?\d+\.\d*(?:[eE][-+]?\d+)?) : (f16|bf16|f32|f64)|(true|false)")
_ENTRY = re.compile(r'(?:([A-Za-z_][\w$.]*)|"([^"\\\n]+)")(?: = (?:"([^"\\\n]*)"|([\w.+-]+(?: : \w+)?)))?')


@lru_cache(maxsize=256)
def scalar_type(text: str) -> Attribute | None:
    if text == "index":
        return IndexType()
    match = _INTEGER_TYPE.fullmatch(text)
    return _FLOAT_TYPES.get(text) if match is None else IntegerType(int(match[1]))


@lru_cache(maxsize=4096)
def number(text: str) -> Attribute | None:
    """`5 : i32`, `1.0 : f32`, `true`"""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    integer, width, real, precision, boolean = match.groups()
    try:
        if boolean is not None:
            return IntegerAttr(int(boolean == "true"), IntegerType(1))
        if integer is not None:
            return IntegerAttr(int(integer), IntegerType(int(width[1:])))
        return FloatAttr(float(real), _FLOAT_TYPES[precision])
    except (VerifyException, ValueError, OverflowError):
        return None


def dictionary(text: str) -> Mapping[str, Attribute] | None:
    """`{name, name = 5 : i32, name = "text"}`"""
    entries = text[1:-1].split(", ")
    found: dict[str, Attribute] = {}
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        value = None if match is None else _entry_value(match)
        if match is None or value is None:
            return None
        found[match[1] or match[2]] = value
    return found if len(found) == len(entries) else None


def _entry_value(match: re.Match[str]) -> Attribute | None:
    if match[3] is not None:
        return StringAttr(match[3])
    return UnitAttr() if match[4] is None else number(match[4])


@lru_cache(maxsize=4096)
def index(value: int) -> IntAttr:
    """A number without a type: an extent, a line, a column."""
    return IntAttr(value)


@lru_cache(maxsize=1024)
def _shape(extents: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([index(extent) for extent in extents])


def tensor(element: Attribute, extents: tuple[int, ...], encoding: Attribute) -> TensorType:
    """The type, without xDSL's verification of its parameters: they are right by construction."""
    type_ = object.__new__(TensorType)
    for name, value in (("shape", _shape(extents)), ("element_type", element), ("encoding", encoding)):
        object.__setattr__(type_, name, value)
    return type_
