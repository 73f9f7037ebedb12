"""Running a case's reference: from the buffers' content before the launch to the goldens."""

from __future__ import annotations

import difflib
import inspect
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.allocate import Allocated, AllocatedBuffer, host_bytes
from harness.cases.descriptor import buffer_of
from harness.cases.dtypes import DType, dtype_of
from harness.cases.kernel_case import KernelCase
from harness.cases.location import SourceLocation
from harness.errors import CaseError, HarnessError, ReferenceFailed, is_out_of_memory
from harness.goldens.rounding import rounded

if TYPE_CHECKING:
    import torch

Goldens = dict[str, "np.ndarray | None"]


def run_reference(case: KernelCase, allocated: Allocated, where: SourceLocation | None = None) -> Goldens:
    """The expected content of each buffer the reference returns, by name: an array in the buffer's shape
    and dtype, or None where the reference says that the buffer is written but cannot be compared.

    Reads `allocated` as it is: call it before the first launch. The reference gets copies, in each
    buffer's own shape, strides and offset. `where` is the case's line, for a case with no reference.
    Raises ReferenceFailed, at the reference's line, when there is no reference, it raises, or it
    returns something that is no golden; CaseError when a single tensor could mean several buffers.
    """
    if case.reference is None:
        raise ReferenceFailed("the case has no reference", where, "give KernelCase a reference=")
    where = _line_of(case.reference) or where
    arguments = _arguments(case, allocated, where)
    returned = _call(case.reference, arguments, where)
    results = _by_name(returned, case, allocated, where)
    goldens = {name: _golden(name, result, allocated, where) for name, result in results.items()}
    if all(golden is None for golden in goldens.values()):
        raise ReferenceFailed("the reference returns no golden", where, "return {buffer name: tensor}")
    return goldens


def _arguments(case: KernelCase, allocated: Allocated, where: SourceLocation | None) -> dict[str, Any]:
    """What the reference's parameters name, nothing else: only those buffers are copied."""
    available: dict[str, Any] = {}
    for launch in reversed(case.launches):
        available |= launch.args
    chosen = _chosen(case.reference, available, where)
    return {name: _argument(name, available[name], case, allocated) for name in chosen}


def _chosen(reference: Any, available: Mapping[str, Any], where: SourceLocation | None) -> list[str]:
    try:
        parameters = inspect.signature(reference).parameters.values()
    except (TypeError, ValueError) as error:
        raise ReferenceFailed(f"the reference {reference!r} has no signature", where, "wrap it in a lambda") from error
    chosen = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            return list(available)
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.name in available:
            chosen.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise ReferenceFailed(
                f"the reference asks for {parameter.name!r}, which is no argument of the kernel",
                where,
                _suggestion(parameter.name, available),
            )
    return chosen


def _argument(name: str, value: Any, case: KernelCase, allocated: Allocated) -> Any:
    if buffer_of(value) is not None:
        return _copy(allocated.buffers[name], case.exact_dtype)
    if isinstance(value, (list, tuple)):
        return [_argument(f"{name}[{i}]", item, case, allocated) for i, item in enumerate(value)]
    return value


def _copy(one: AllocatedBuffer, exact_dtype: bool) -> torch.Tensor:
    """The buffer in its own layout, holes included; floats with content in float64."""
    import torch

    buffer, storage = one.buffer, one.storage
    size = buffer.storage_elements * buffer.dtype.itemsize
    raw = host_bytes(storage)[storage.start : storage.start + size].copy()
    # as_strided: torch gives an empty array stride 0, which view() refuses.
    elements = torch.from_numpy(raw).as_strided((size,), (1,)).view(buffer.dtype.torch)
    if buffer.dtype.is_float and not exact_dtype and not one.starts_as_poison:
        elements = elements.to(torch.float64)
    return elements.as_strided(buffer.shape, buffer.strides, buffer.offset)


def _call(reference: Callable[..., Any], arguments: dict[str, Any], where: SourceLocation | None) -> Any:
    positional = [
        arguments.pop(parameter.name)
        for parameter in inspect.signature(reference).parameters.values()
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in arguments
    ]
    try:
        return reference(*positional, **arguments)
    except HarnessError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise  # that has a bucket of its own
        raise ReferenceFailed(
            f"the reference raised {type(error).__name__}: {error}",
            _raising_line(error, where),
            "it is called with torch tensors, floats in float64 unless exact_dtype",
        ) from error


def _by_name(
    returned: Any, case: KernelCase, allocated: Allocated, where: SourceLocation | None
) -> dict[str, torch.Tensor | None]:
    import torch

    if isinstance(returned, torch.Tensor):
        return {_only_output(allocated, where): returned}
    if not isinstance(returned, Mapping):
        raise ReferenceFailed(
            f"the reference returned {_kind(returned)}", where, "return {buffer name: tensor}, or one tensor"
        )
    results: dict[str, Any] = {}
    for name, value in returned.items():
        if isinstance(value, (list, tuple)):
            results |= {f"{name}[{i}]": item for i, item in enumerate(value)}
        else:
            results[name] = value
    return results


def _only_output(allocated: Allocated, where: SourceLocation | None) -> str:
    outputs: dict[int, str] = {}
    for name, one in allocated.buffers.items():
        if one.starts_as_poison:
            outputs.setdefault(id(one.buffer), name)
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    known = ", ".join(outputs.values()) or "none"
    raise CaseError(
        "the reference returned one tensor, but not exactly one buffer starts empty",
        where,
        f"return a dict {{buffer name: tensor}}; empty buffers: {known}",
    )


def _golden(name: Any, result: Any, allocated: Allocated, where: SourceLocation | None) -> np.ndarray | None:
    import torch

    if name not in allocated.buffers:
        hint = _suggestion(str(name), allocated.buffers)
        raise ReferenceFailed(f"the reference returned {name!r}, which is no buffer of the case", where, hint)
    if result is None:
        return None
    if not isinstance(result, torch.Tensor):
        raise ReferenceFailed(f"the reference returned {_kind(result)} for buffer {name!r}", where, "return a tensor")
    buffer = allocated.buffers[name].buffer
    if tuple(result.shape) != buffer.shape:
        raise ReferenceFailed(
            f"the reference returned shape {tuple(result.shape)} for buffer {name!r} of shape {buffer.shape}", where
        )
    _check_dtype(name, result.dtype, buffer.dtype, where)
    return rounded(result.cpu(), buffer.dtype)


def _check_dtype(name: str, returned: torch.dtype, wanted: DType, where: SourceLocation | None) -> None:
    """Only conversions with one meaning: a float becomes an integer, or a number a bool, in many ways."""
    try:
        source = dtype_of(returned)
    except CaseError as error:
        raise ReferenceFailed(f"the reference returned {returned} for buffer {name!r}", where) from error
    if source == wanted or wanted.is_float:
        return
    if source.is_float or wanted.torch_name == "bool":
        raise ReferenceFailed(
            f"the reference returned {source} for buffer {name!r} of {wanted}",
            where,
            f"convert it the way the kernel does, with .to(torch.{wanted.torch_name}) or a comparison",
        )


def _kind(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _suggestion(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(known)}"


def _line_of(reference: Any) -> SourceLocation | None:
    code = getattr(inspect.unwrap(getattr(reference, "func", reference)), "__code__", None)
    return SourceLocation(code.co_filename, code.co_firstlineno) if code else None


def _raising_line(error: Exception, where: SourceLocation | None) -> SourceLocation | None:
    """The innermost line in the reference's own file; torch's lines help nobody."""
    if where is None:
        return None
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == where.file]
    return SourceLocation(where.file, frames[-1].lineno or where.line) if frames else where
