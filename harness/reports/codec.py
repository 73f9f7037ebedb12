"""Dataclasses to JSON and back. Numbers JSON has no word for (nan, inf) travel as strings."""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = (str, int, bool)


class DecodeError(ValueError):
    """The JSON does not have the shape of the dataclass; says where."""


def encode(value: Any) -> Any:
    """What `json.dumps` can write. Raises TypeError for what no record may hold."""
    if value is None or type(value) in _PLAIN:  # as most are
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, numbers.Integral):  # NumPy's
        return int(value)
    if isinstance(value, numbers.Real):
        return encode(float(value))
    raise TypeError(f"a record cannot hold {type(value).__name__}")


def decode(kind: Any, data: Any, path: str = "") -> Any:
    """`data` as `kind`: a dataclass, tuple, list, dict, union with None, str, int, float or bool.

    Fields that are absent take their default; fields nobody knows are an error, so that a record of
    another version is never half read. Raises DecodeError.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_dataclass(kind, data, path)
    origin = get_origin(kind)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](get_args(kind), data, path)
    return _decode_plain(kind, data, path)


def _decode_dataclass(kind: type[Any], data: Any, path: str) -> Any:
    values = _expect(data, dict, path)
    hints = _types_of(kind)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise DecodeError(f"{path or 'the record'} has no field {unknown[0]!r}")
    decoded = {name: decode(hints[name], item, f"{path}.{name}" if path else name) for name, item in values.items()}
    try:
        return kind(**decoded)
    except TypeError as error:
        raise DecodeError(f"{path or 'the record'}: {error}") from error


@cache
def _types_of(kind: type[Any]) -> dict[str, Any]:
    """The types of the fields that can be given. Kept, because working them out is what decoding costs."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


def _decode_tuple(arguments: tuple[Any, ...], data: Any, path: str) -> tuple[Any, ...]:
    items = _expect(data, list, path)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(decode(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(items))
    if len(items) != len(arguments):
        raise DecodeError(f"{path} must have {len(arguments)} items")
    pairs = zip(arguments, items, strict=True)
    return tuple(decode(kind, item, f"{path}[{i}]") for i, (kind, item) in enumerate(pairs))


def _decode_list(arguments: tuple[Any, ...], data: Any, path: str) -> list[Any]:
    items = _expect(data, list, path)
    return [decode(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(items)]


def _decode_dict(arguments: tuple[Any, ...], data: Any, path: str) -> dict[str, Any]:
    items = _expect(data, dict, path)
    return {key: decode(arguments[1], item, f"{path}.{key}") for key, item in items.items()}


def _decode_union(arguments: tuple[Any, ...], data: Any, path: str) -> Any:
    if data is None and types.NoneType in arguments:
        return None
    (kind,) = (argument for argument in arguments if argument is not types.NoneType)
    return decode(kind, data, path)


_CONTAINERS = {
    tuple: _decode_tuple,
    list: _decode_list,
    dict: _decode_dict,
    Union: _decode_union,
    types.UnionType: _decode_union,
}


def _decode_plain(kind: Any, data: Any, path: str) -> Any:
    if kind is float and isinstance(data, (int, str)) and not isinstance(data, bool):
        try:
            return float(data)
        except ValueError as error:
            raise DecodeError(f"{path} must be a number") from error
    return _expect(data, kind, path)


def _expect(data: Any, kind: type[T], path: str) -> T:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise DecodeError(f"{path or 'the record'} must be {kind.__name__}, not {type(data).__name__}")
    return data
