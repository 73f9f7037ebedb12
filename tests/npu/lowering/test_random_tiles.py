"""Random chains of tile ops, loops and branches: whatever placement, sharing of bytes and order of copies the lowering
chooses, the machine's results are the executor's, bit by bit (integers only)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lowering_kit import EXAMPLES, outcome
from machine_run import roomy, simulated

from harness.ir import parse_module

ELEMENTS = 64
SHAPES = ((64,), (8, 8), (2, 32), (32, 2), (64, 1), (1, 64), (4, 4, 4), (2, 2, 16), (16, 4))
MACHINES = {name: roomy(name) for name in ("tiny", "default")}
BINARY = ("addi", "subi", "muli", "andi", "xori", "maxsi")


@dataclass(frozen=True)
class Value:
    name: str
    shape: tuple[int, ...]

    @property
    def type(self) -> str:
        return f"tensor<{'x'.join(map(str, self.shape))}xi32>"


@dataclass
class Kernel:
    """Lines of a kernel whose values are all tiles of i32."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def emit(self, text: str, shape: tuple[int, ...]) -> Value:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return Value(name, shape)

    def region(self, op: str, source: Value, axis: int, combine: str, shape: tuple[int, ...], more: str = "") -> Value:
        name = self.name()
        self.lines += [
            f'{name} = "tt.{op}"({source.name}) <{{axis = {axis} : i32{more}}}> ({{',
            "^bb0(%l: i32, %r: i32):",
            f"  %c = arith.{combine} %l, %r : i32",
            f"  tt.{op}.return %c : i32",
            f"}}) : ({source.type}) -> {Value('', shape).type}",
        ]
        return Value(name, shape)

    # --- one method per kind of step; each gives a tile of ELEMENTS elements

    def elementwise(self, known: list[Value]) -> Value:
        left = self.pick(known)
        right = self.reshaped(self.pick(known), left.shape)
        kind = self.draw(st.sampled_from(BINARY))
        return self.emit(f"arith.{kind} {left.name}, {right.name} : {left.type}", left.shape)

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.shape == shape:
            return value
        return self.emit(f"tt.reshape {value.name} : {value.type} -> {Value('', shape).type}", shape)

    def reshape(self, known: list[Value]) -> Value:
        return self.reshaped(self.pick(known), self.draw(st.sampled_from(SHAPES)))

    def trans(self, known: list[Value]) -> Value:
        value = self.pick(known)
        order = self.draw(st.permutations(range(len(value.shape))))
        shape = tuple(value.shape[axis] for axis in order)
        text = f"{{order = array<i32: {', '.join(map(str, order))}>}} : {value.type} -> {Value('', shape).type}"
        return self.emit(f"tt.trans {value.name} {text}", shape)

    def folded(self, known: list[Value]) -> Value:
        """x - sum(x, axis)[..., None]: the fold goes back to where it came from."""
        value = self.pick([one for one in known if len(one.shape) > 1] or [self.reshaped(known[0], (8, 8))])
        axis = self.draw(st.integers(0, len(value.shape) - 1))
        rest = (*value.shape[:axis], *value.shape[axis + 1 :])
        total = self.region("reduce", value, axis, self.draw(st.sampled_from(("addi", "minsi", "xori"))), rest)
        thin = (*rest[:axis], 1, *rest[axis:])
        column = self.emit(
            f"tt.expand_dims {total.name} {{axis = {axis} : i32}} : {total.type} -> {Value('', thin).type}", thin
        )
        wide = self.emit(f"tt.broadcast {column.name} : {column.type} -> {value.type}", value.shape)
        return self.emit(f"arith.subi {value.name}, {wide.name} : {value.type}", value.shape)

    def scanned(self, known: list[Value]) -> Value:
        value = self.pick(known)
        axis = self.draw(st.integers(0, len(value.shape) - 1))
        reverse = str(self.draw(st.booleans())).lower()
        return self.region("scan", value, axis, "addi", value.shape, f", reverse = {reverse}")

    def halves(self, known: list[Value]) -> Value:
        """Split along the last axis and joined the other way round."""
        value = self.reshaped(self.pick(known), (32, 2))
        first, second = self.name(), self.name()
        half = Value(first, (32,))
        self.lines.append(f"{first}, {second} = tt.split {value.name} : {value.type} -> {half.type}")
        return self.emit(f"tt.join {second}, {first} : {half.type} -> {value.type}", (32, 2))

    def product(self, known: list[Value]) -> Value:
        """Of i8 into i32, onto a tile that is there."""
        sides = [self.reshaped(self.pick(known), (8, 8)) for _ in range(3)]
        small = [self.emit(f"arith.trunci {side.name} : {side.type} to tensor<8x8xi8>", (8, 8)) for side in sides[:2]]
        types = "tensor<8x8xi8> * tensor<8x8xi8> -> tensor<8x8xi32>"
        return self.emit(f"tt.dot {small[0].name}, {small[1].name}, {sides[2].name} : {types}", (8, 8))

    def looked_up(self, known: list[Value]) -> Value:
        value = self.pick(known)
        axis = self.draw(st.integers(0, len(value.shape) - 1))
        limit = self.emit(f"arith.constant dense<{value.shape[axis] - 1}> : {value.type}", value.shape)
        indices = self.emit(f"arith.andi {value.name}, {limit.name} : {value.type}", value.shape)
        types = f"({value.type}, {value.type}) -> {value.type}"
        return self.emit(f"tt.gather {value.name}[{indices.name}] {{axis = {axis} : i32}} : {types}", value.shape)

    def pick(self, known: list[Value]) -> Value:
        return self.draw(st.sampled_from(known))

    # --- control flow

    def steps(self, known: list[Value], count: int, deep: int) -> list[Value]:
        known = list(known)
        plain = [
            self.elementwise, self.elementwise, self.reshape, self.trans, self.folded, self.scanned, self.halves,
            self.product, self.looked_up,
        ]  # fmt: skip
        nested = [self.loop, self.branch] if deep else []
        for _ in range(count):
            step = self.draw(st.sampled_from([*plain, *nested]))
            if step in nested:
                known += step(known, deep - 1)  # type: ignore[call-arg]
            else:
                known.append(step(known))  # type: ignore[arg-type]
        return known

    def loop(self, known: list[Value], deep: int) -> list[Value]:
        initial = [self.pick(known) for _ in range(self.draw(st.integers(1, 3)))]
        carried = [Value(self.name(), value.shape) for value in initial]
        name, counter = self.name(), self.name()
        bindings = ", ".join(f"{inner.name} = {value.name}" for inner, value in zip(carried, initial, strict=True))
        types = ", ".join(value.type for value in initial)
        bounds = f"%c0 to {self.draw(st.sampled_from(('%c3', '%n')))} step %c1"
        self.lines.append(
            f"{name}:{len(initial)} = scf.for {counter} = {bounds} iter_args({bindings}) -> ({types}) : i32 {{"
        )
        inside = self.steps([*known, *carried], self.draw(st.integers(0, 3)), deep)
        self.yielded(inside[len(known) :] or carried, [value.shape for value in initial])
        return [Value(f"{name}#{index}", value.shape) for index, value in enumerate(initial)]

    def branch(self, known: list[Value], deep: int) -> list[Value]:
        shapes = [self.pick(known).shape for _ in range(self.draw(st.integers(1, 2)))]
        name = self.name()
        types = ", ".join(Value("", shape).type for shape in shapes)
        self.lines.append(f"{name}:{len(shapes)} = scf.if %flag -> ({types}) {{")
        self.yielded(self.steps(known, self.draw(st.integers(0, 2)), deep), shapes)
        self.lines[-1] = "} else {"
        self.yielded(self.steps(known, self.draw(st.integers(0, 2)), deep), shapes)
        return [Value(f"{name}#{index}", shape) for index, shape in enumerate(shapes)]

    def yielded(self, known: list[Value], shapes: list[tuple[int, ...]]) -> None:
        values = [self.reshaped(self.pick(known), shape) for shape in shapes]
        names, types = (", ".join(getattr(value, part) for value in values) for part in ("name", "type"))
        self.lines += [f"scf.yield {names} : {types}", "}"]


def access(kernel: Kernel, pointer: str) -> str:
    """Pointers to this program's ELEMENTS elements."""
    tile, row = f"tensor<{ELEMENTS}x!tt.ptr<i32>>", f"tensor<{ELEMENTS}xi32>"
    base, at = kernel.name(), kernel.name()
    kernel.lines += [f"{base} = tt.splat {pointer} : !tt.ptr<i32> -> {tile}"]
    kernel.lines += [f"{at} = tt.addptr {base}, %mine : {tile}, {row}"]
    return at


@st.composite
def kernels(draw: st.DrawFn) -> str:
    kernel = Kernel(draw)
    row, tile = f"tensor<{ELEMENTS}xi32>", f"tensor<{ELEMENTS}x!tt.ptr<i32>>"
    kernel.lines += [
        "%c0 = arith.constant 0 : i32",
        "%c1 = arith.constant 1 : i32",
        "%c3 = arith.constant 3 : i32",
        f"%size = arith.constant {ELEMENTS} : i32",
        "%pid = tt.get_program_id x : i32",
        "%flag = arith.cmpi eq, %pid, %c1 : i32",
        "%first = arith.muli %pid, %size : i32",
        f"%firsts = tt.splat %first : i32 -> {row}",
        f"%run = tt.make_range {{end = {ELEMENTS} : i32, start = 0 : i32}} : {row}",
        f"%mine = arith.addi %firsts, %run : {row}",
    ]
    px, py = access(kernel, "%x"), access(kernel, "%y")
    known = [kernel.emit(f"tt.load {pointer} : {tile}", (ELEMENTS,)) for pointer in (px, py)]
    known = kernel.steps(known, draw(st.integers(1, 6)), 2)
    for pointer in (px, py):
        value = kernel.reshaped(kernel.pick(known[-3:]), (ELEMENTS,))
        kernel.lines.append(f"tt.store {pointer}, {value.name} : {tile}")
    body = "\n".join(f"    {line}" for line in kernel.lines)
    signature = "tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32)"
    return f"module {{\n  {signature} {{\n{body}\n    tt.return\n  }}\n}}\n"


@given(kernels(), st.integers(0, 4), st.sampled_from(sorted(MACHINES)))
@EXAMPLES
def test_the_machine_computes_what_the_executor_does(text: str, trips: int, machine: str) -> None:
    programs = 3
    rng = np.random.default_rng(3)
    arguments = [rng.integers(-99, 99, programs * ELEMENTS).astype(np.int32) for _ in range(2)]
    want = outcome(parse_module(text, "k"), [*arguments, trips], programs, "earliest")
    assert not isinstance(want, str)
    for copies in ("earliest", "latest"):
        got = simulated(text, [*arguments, trips], programs, MACHINES[machine], copies)
        assert got == want, f"differs on {machine} ({copies}):\n{text}"


def test_shapes_hold_what_the_steps_expect() -> None:
    assert all(math.prod(shape) == ELEMENTS for shape in SHAPES)
