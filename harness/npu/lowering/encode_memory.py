"""Encoding of what touches DRAM, and of what is told to the host."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.executor.types import element, get
from harness.ir import operand
from harness.ir.dialects.npu import Access
from harness.npu.isa.program import Constant, Operand
from harness.npu.lowering.emitter import Emitter, rule
from harness.npu.lowering.placed import is_tile
from harness.semantics import numpy_dtype


def _present(operation: Operation, name: str) -> SSAValue:
    value = operand(operation, name)
    assert value is not None
    return value


# --- through pointers


@rule("tt.load")
def _load(emitter: Emitter, operation: Operation) -> None:
    names = ("ptr", "mask", "other")
    operands = [emitter.optional(operand(operation, name)) for name in names]
    result, volatile = operation.results[0], bool(get(operation, "isVolatile", 0))
    if not is_tile(result):
        emitter.emit("scalar_load", (emitter.register(result),), operands, (volatile,))
        return
    tag = emitter.new_tag()
    emitter.emit("dma_gather", (emitter.tile(result),), operands, (tag, volatile))
    emitter.emit("wait", immediates=(tag,))


@rule("tt.store")
def _store(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.optional(operand(operation, name)) for name in ("ptr", "value", "mask")]
    if not is_tile(_present(operation, "value")):
        emitter.emit("scalar_store", (), operands)
        return
    tag = emitter.new_tag()
    emitter.emit("dma_scatter", (), operands, (tag,))
    emitter.emit("wait", immediates=(tag,))


# --- by descriptor


def _bits(axes: object) -> int:
    return sum(1 << axis for axis in axes)  # type: ignore[attr-defined]


def _descriptor(emitter: Emitter, operation: Operation) -> tuple[list[Operand | None], tuple[int, int, int]]:
    """Operands of a transfer in the order of its opcode, and which axes have bounds."""
    access = Access.of(operation)
    lower, upper, wrap = sorted(access.lower), sorted(access.upper), sorted(access.wrap)
    values = [
        access.base,
        *access.strides,
        *(access.lower[axis] for axis in lower),
        *(access.upper[axis] for axis in upper),
        *(access.wrap[axis][0] for axis in wrap),
        *(access.wrap[axis][1] for axis in wrap),
    ]
    operands: list[Operand | None] = [emitter.operand(value) for value in values]
    return [*operands, emitter.optional(access.mask)], (_bits(lower), _bits(upper), _bits(wrap))


def _start_load(emitter: Emitter, operation: Operation, tag: int) -> None:
    operands, axes = _descriptor(emitter, operation)
    other = emitter.optional(operand(operation, "other"))
    volatile = bool(get(operation, "isVolatile", 0))
    emitter.emit("dma_load", (emitter.tile(operation.results[0]),), (*operands, other), (tag, *axes, volatile))


def _start_store(emitter: Emitter, operation: Operation, tag: int) -> None:
    operands, axes = _descriptor(emitter, operation)
    value = emitter.tile(_present(operation, "value"))
    emitter.emit("dma_store", (), (value, *operands), (tag, *axes))


@rule("npu.load")
def _load_now(emitter: Emitter, operation: Operation) -> None:
    tag = emitter.new_tag()
    _start_load(emitter, operation, tag)
    emitter.emit("wait", immediates=(tag,))


@rule("npu.store")
def _store_now(emitter: Emitter, operation: Operation) -> None:
    tag = emitter.new_tag()
    _start_store(emitter, operation, tag)
    emitter.emit("wait", immediates=(tag,))


@rule("npu.start_load", "npu.start_store")
def _start(emitter: Emitter, operation: Operation) -> None:
    token = operation.results[-1]
    tag = emitter.tags.setdefault(token, -1)
    if tag < 0:
        tag = emitter.tags[token] = emitter.new_tag()
    begin = _start_load if operation.name == "npu.start_load" else _start_store
    begin(emitter, operation, tag)


@rule("npu.wait")
def _wait(emitter: Emitter, operation: Operation) -> None:
    emitter.emit("wait", immediates=(emitter.tags[operation.operands[0]],))


@rule("npu.descriptor_base")
def _descriptor_base(emitter: Emitter, operation: Operation) -> None:
    emitter.emit("argument", (emitter.register(operation.results[0]),), (), (_argument(operation), 0))


@rule("npu.apart")
def _apart(emitter: Emitter, operation: Operation) -> None:
    arguments = [value.index for value in operation.operands]  # pyright: ignore[reportAttributeAccessIssue]
    emitter.emit("apart", (emitter.register(operation.results[0]),), (), arguments)


@rule("npu.descriptor_fill")
def _descriptor_fill(emitter: Emitter, operation: Operation) -> None:
    """NaN or zero, as the host says; integers are padded with zeros."""
    result = operation.results[0]
    kind = element(result.type)
    dtype = numpy_dtype(kind)
    zero = Constant(bytes(dtype.itemsize), kind)
    if kind.startswith("i"):
        emitter.move(result, zero)
        return
    pads = emitter.spare("i1")
    emitter.emit("argument", (pads,), (), (_argument(operation), 1))
    nan = Constant(np.array([np.nan], np.float32).astype(dtype).tobytes(), kind)
    emitter.scalar(emitter.register(result), "arith.select", [pads, nan, zero])


def _argument(operation: Operation) -> int:
    return operation.operands[0].index  # pyright: ignore[reportAttributeAccessIssue]


# --- atomics


def _old(emitter: Emitter, operation: Operation) -> list[Operand]:
    """Where the old value goes, if anybody wants it."""
    result = operation.results[0]
    return [emitter.result(result)] if result.first_use is not None else []


@rule("tt.atomic_rmw")
def _atomic_rmw(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.optional(operand(operation, name)) for name in ("ptr", "val", "mask")]
    immediates = [get(operation, name) for name in ("atomic_rmw_op", "sem", "scope")]
    emitter.emit("atomic", _old(emitter, operation), operands, immediates)


@rule("tt.atomic_cas")
def _atomic_cas(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.optional(operand(operation, name)) for name in ("ptr", "cmp", "val")]
    immediates = [get(operation, name) for name in ("sem", "scope")]
    emitter.emit("compare_and_swap", _old(emitter, operation), operands, immediates)


# --- for the host


@rule("tt.assert")
def _assert(emitter: Emitter, operation: Operation) -> None:
    message = emitter.text(get(operation, "message", ""))
    emitter.emit("assert", (), (emitter.operand(operation.operands[0]),), (message,))


@rule("tt.print")
def _print(emitter: Emitter, operation: Operation) -> None:
    values = [emitter.operand(value) for value in operation.operands]
    signed = get(operation, "isSigned", ())
    unsigned = _bits(number for number, sign in enumerate(signed) if not sign)
    text = emitter.text(get(operation, "prefix", ""))
    emitter.emit("print", (), values, (text, bool(get(operation, "hex", False)), unsigned))
