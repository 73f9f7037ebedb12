"""Random straight-line kernels as IR text, each value evaluated on the side with NumPy for every program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

WRAP = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "i1": np.bool_, "f32": np.float32}
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


@dataclass
class Value:
    """An SSA name, its element type, and its contents: (programs, *shape)."""

    name: str
    kind: str
    data: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape[1:]

    @property
    def type(self) -> str:
        return mlir_type(self.shape, self.kind)


def mlir_type(shape: tuple[int, ...], kind: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{kind}>" if shape else kind


@dataclass
class Program:
    """Lines of a kernel over `grid` programs along x, growing one op at a time."""

    programs: int
    lines: list[str] = field(default_factory=list)

    def emit(self, text: str, kind: str, data: np.ndarray) -> Value:
        name = f"%v{len(self.lines)}"
        self.lines.append(f" {name} = {text}")
        return Value(name, kind, np.broadcast_to(data, (self.programs, *data.shape[1:])))

    def program_id(self) -> Value:
        return self.emit("tt.get_program_id x : i32", "i32", np.arange(self.programs, dtype=np.int32))

    def constant(self, number: int, kind: str, shape: tuple[int, ...]) -> Value:
        literal = f"dense<{number}>" if shape else str(number)
        data = np.full((1, *shape), number, WRAP[kind])
        return self.emit(f"arith.constant {literal} : {mlir_type(shape, kind)}", kind, data)

    def indices(self, shape: tuple[int, ...], axis: int, start: int = 0) -> Value:
        """start, start + 1, ... along one axis of `shape`."""
        extent = shape[axis]
        data = np.arange(start, start + extent, dtype=np.int32)[None]
        value = self.emit(
            f"tt.make_range {{end = {start + extent} : i32, start = {start} : i32}} : tensor<{extent}xi32>", "i32", data
        )
        for other in range(len(shape)):
            if other != axis:
                value = self.expanded(value, other)
        return self.spread(value, shape)

    def expanded(self, value: Value, axis: int) -> Value:
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        text = f"tt.expand_dims {value.name} {{axis = {axis} : i32}} : {value.type} -> {mlir_type(shape, value.kind)}"
        return self.emit(text, value.kind, np.expand_dims(value.data, axis + 1))

    def spread(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.shape == shape:
            return value
        text = f"tt.broadcast {value.name} : {value.type} -> {mlir_type(shape, value.kind)}"
        return self.emit(text, value.kind, np.broadcast_to(value.data, (value.data.shape[0], *shape)))

    def splat(self, value: Value, shape: tuple[int, ...]) -> Value:
        text = f"tt.splat {value.name} : {value.kind} -> {mlir_type(shape, value.kind)}"
        data = value.data.reshape(-1, *(1,) * len(shape))
        return self.emit(text, value.kind, np.broadcast_to(data, (self.programs, *shape)))

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        text = f"tt.reshape {value.name} : {value.type} -> {mlir_type(shape, value.kind)}"
        return self.emit(text, value.kind, value.data.reshape(value.data.shape[0], *shape))

    def transposed(self, value: Value, order: tuple[int, ...]) -> Value:
        data = value.data.transpose(0, *(axis + 1 for axis in order))
        numbers = ", ".join(map(str, order))
        types = f"{value.type} -> {mlir_type(data.shape[1:], value.kind)}"
        text = f"tt.trans {value.name} {{order = array<i32: {numbers}>}} : {types}"
        return self.emit(text, value.kind, data)

    def binary(self, name: str, left: Value, right: Value) -> Value:
        with np.errstate(all="ignore"):
            data = BINARY[name](left.data, right.data)
        return self.emit(f"{name} {left.name}, {right.name} : {left.type}", left.kind, data.astype(left.data.dtype))

    def compared(self, predicate: str, left: Value, right: Value) -> Value:
        a, b = (unsigned(v.data) if predicate[0] == "u" else v.data for v in (left, right))
        data = PREDICATES[predicate](a, b)
        return self.emit(f"arith.cmpi {predicate}, {left.name}, {right.name} : {left.type}", "i1", data)

    def selected(self, condition: Value, left: Value, right: Value) -> Value:
        text = f"arith.select {condition.name}, {left.name}, {right.name} : {condition.type}, {left.type}"
        return self.emit(text, left.kind, np.where(condition.data, left.data, right.data))

    def resized(self, value: Value, name: str, kind: str) -> Value:
        data = unsigned(value.data) if name == "arith.extui" else value.data
        text = f"{name} {value.name} : {value.type} to {mlir_type(value.shape, kind)}"
        return self.emit(text, kind, data.astype(WRAP[kind]))

    def addresses(self, pointer: str, element: str, offset: Value) -> str:
        """A tensor of pointers (its SSA name) `offset` elements after a pointer argument."""
        kind = f"!tt.ptr<{element}>"
        wide = mlir_type(offset.shape, kind)
        base = f"%p{len(self.lines)}"
        self.lines.append(f" {base} = tt.splat {pointer} : {kind} -> {wide}")
        name = f"%q{len(self.lines)}"
        self.lines.append(f" {name} = tt.addptr {base}, {offset.name} : {wide}, {offset.type}")
        return name

    def load(self, pointer: str, memory: np.ndarray, offset: Value, mask: Value | None, other: Value | None) -> Value:
        kind = next(kind for kind, dtype in WRAP.items() if dtype == memory.dtype.type)
        where = self.addresses(pointer, kind, offset)
        operands = ", ".join([where, *(v.name for v in (mask, other) if v is not None)])
        index = offset.data if mask is None else np.where(mask.data, offset.data, 0)
        data = memory[index]
        if mask is not None:
            data = np.where(mask.data, data, 0 if other is None else other.data)
        return self.emit(f"tt.load {operands} : {mlir_type(offset.shape, f'!tt.ptr<{kind}>')}", kind, data)

    def store(self, pointer: str, memory: np.ndarray, offset: Value, value: Value, mask: Value | None) -> None:
        """Programs and lanes write in order: the last one stays."""
        where = self.addresses(pointer, value.kind, offset)
        operands = ", ".join([where, value.name, *([] if mask is None else [mask.name])])
        self.lines.append(f" tt.store {operands} : {mlir_type(offset.shape, f'!tt.ptr<{value.kind}>')}")
        chosen = np.ones(offset.data.shape, np.bool_) if mask is None else np.broadcast_to(mask.data, offset.data.shape)
        index = np.broadcast_to(offset.data, chosen.shape)[chosen]
        memory[index.astype(np.int64)] = np.broadcast_to(value.data, chosen.shape)[chosen]


def unsigned(values: np.ndarray) -> np.ndarray:
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.kind == "i" else values.view(np.uint8)


def _truncating(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    wide = np.abs(left.astype(object)) // np.abs(right.astype(object))
    return (wide * np.where((left < 0) != (right < 0), -1, 1)).astype(left.dtype)


BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _truncating,
    "arith.remsi": np.fmod,
    "arith.divui": lambda a, b: (unsigned(a) // unsigned(b)).view(a.dtype),
    "arith.remui": lambda a, b: (unsigned(a) % unsigned(b)).view(a.dtype),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.xori": np.bitwise_xor,
}
PREDICATES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}
DIVISIONS = ["arith.divsi", "arith.remsi", "arith.divui", "arith.remui"]
TWO_OPERANDS = ["arith.addi", "arith.addi", *(name for name in BINARY if name not in DIVISIONS)]
CHOICES = ["binary"] * 6 + ["scaled"] * 3 + ["divided"] * 3 + ["select", "resize", "reshape", "trans", "spread"]
SHAPES = [(8,), (1,), (4, 8), (1, 8), (4, 1), (2, 4, 2)]


def numbers(kind: str) -> st.SearchStrategy[int]:
    bits = BITS[kind]
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    edges = [least, least + 1, least + 5, most, most - 1, most - 7, 1 << bits - 2, 3, 7, 8]
    return st.integers(-9, 40) | st.sampled_from(edges)


def leaf(draw: st.DrawFn, program: Program, shape: tuple[int, ...], kind: str) -> Value:
    choice = draw(st.sampled_from(["range", "range", "program", "constant"]))
    if choice == "constant":
        return program.constant(draw(numbers(kind)), kind, shape)
    if choice == "range":
        value = program.indices(shape, draw(st.integers(0, len(shape) - 1)), draw(st.sampled_from([0, 0, 3])))
    else:
        value = program.splat(program.program_id(), shape)
    if kind != "i32":
        value = program.resized(value, "arith.extsi" if BITS[kind] > 32 else "arith.trunci", kind)
    return value


def expression(draw: st.DrawFn, program: Program, shape: tuple[int, ...], kind: str, depth: int) -> Value:
    """A random integer tensor."""
    if depth == 0:
        return leaf(draw, program, shape, kind)
    choice = draw(st.sampled_from(CHOICES))

    def inner() -> Value:
        return expression(draw, program, shape, kind, depth - 1)

    if choice == "binary":
        return program.binary(draw(st.sampled_from(TWO_OPERANDS)), inner(), inner())
    if choice == "scaled":
        return program.binary("arith.muli", inner(), program.constant(draw(numbers(kind)), kind, shape))
    if choice == "divided":
        by = program.constant(draw(numbers(kind)) or 1, kind, shape)
        if by.data.reshape(-1)[0] == -1:
            by = program.constant(5, kind, shape)
        return program.binary(draw(st.sampled_from(DIVISIONS)), inner(), by)
    if choice == "select":
        return program.selected(condition(draw, program, shape, kind, depth - 1), inner(), inner())
    if choice == "resize":
        other = draw(st.sampled_from([k for k in BITS if k != kind]))
        value = expression(draw, program, shape, other, depth - 1)
        if BITS[other] > BITS[kind]:
            return program.resized(value, "arith.trunci", kind)
        return program.resized(value, draw(st.sampled_from(["arith.extsi", "arith.extui"])), kind)
    if choice == "trans" and len(shape) > 1:
        order = draw(st.permutations(range(len(shape))))
        source = [0] * len(shape)
        for position, axis in enumerate(order):
            source[axis] = shape[position]
        return program.transposed(expression(draw, program, tuple(source), kind, depth - 1), tuple(order))
    if choice == "reshape":
        size = int(np.prod(shape))
        source = draw(st.sampled_from([(size,), (1, size), (size, 1), (2, size // 2) if size % 2 == 0 else (size,)]))
        return program.reshaped(expression(draw, program, source, kind, depth - 1), shape)
    if choice == "spread":
        axis = draw(st.integers(0, len(shape) - 1))
        narrow = (*shape[:axis], 1, *shape[axis + 1 :])
        return program.spread(expression(draw, program, narrow, kind, depth - 1), shape)
    return inner()


def condition(draw: st.DrawFn, program: Program, shape: tuple[int, ...], kind: str, depth: int) -> Value:
    """A random i1 tensor."""
    choice = draw(st.sampled_from(["compare"] * 4 + ["and", "or", "program"]))
    if choice == "program":
        scalar = program.compared("slt", program.program_id(), program.constant(draw(st.integers(-1, 6)), "i32", ()))
        return program.splat(scalar, shape)
    if choice in ("and", "or") and depth > 0:
        left, right = (condition(draw, program, shape, kind, depth - 1) for _ in range(2))
        name = f"arith.{choice}i"
        data = left.data & right.data if choice == "and" else left.data | right.data
        return program.emit(f"{name} {left.name}, {right.name} : {left.type}", "i1", data)
    left = expression(draw, program, shape, kind, depth)
    right = expression(draw, program, shape, kind, 0)
    if draw(st.booleans()):
        right = program.constant(draw(numbers(kind)), kind, shape)
    return program.compared(draw(st.sampled_from([*PREDICATES, "slt", "slt", "sge"])), left, right)
