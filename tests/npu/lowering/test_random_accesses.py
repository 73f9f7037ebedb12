"""Random index arithmetic, masks and loops: the pointer analysis and what follows it change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from examples import examples, share_of
from hypothesis import given
from hypothesis import strategies as st
from lowering_kit import check, ops_of, outcome
from machine_run import roomy, simulated

from harness.ir import parse_module
from harness.semantics import numpy_dtype

PROGRAMS = 3
HALF = 4096
MACHINES = {name: roomy(name) for name in ("tiny", "default")}
FLOATS, INTEGERS = ("f16", "bf16", "f32", "f64"), ("i8", "i16", "i32", "i64")
PREDICATES = ("slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne")


@dataclass
class Kernel:
    """Lines of a kernel, growing one op at a time. Tiles are (rows, columns). Addresses of a `tame` one do not depend
    on parameters, only masks do."""

    draw: st.DrawFn
    rows: int
    columns: int
    tame: bool = False
    lines: list[str] = field(default_factory=list)
    indent: str = "    "

    @property
    def shape(self) -> str:
        return f"{self.rows}x{self.columns}"

    def emit(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{self.indent}{name} = {text}")
        return name

    def tile(self, element: str) -> str:
        return f"tensor<{self.shape}x{element}>"

    def constant(self, number: int) -> str:
        return self.emit(f"arith.constant dense<{number}> : {self.tile('i32')}")

    def splat(self, scalar: str, element: str = "i32") -> str:
        return self.emit(f"tt.splat {scalar} : {element} -> {self.tile(element)}")

    def indices(self, axis: int, wild: bool) -> str:
        extent = (self.rows, self.columns)[axis]
        run = self.emit(f"tt.make_range {{end = {extent} : i32, start = 0 : i32}} : tensor<{extent}xi32>")
        if self.draw(st.booleans()):
            base = self.emit(f"tt.splat {self.scalar(extent, wild)} : i32 -> tensor<{extent}xi32>")
            run = self.emit(f"arith.addi {base}, {run} : tensor<{extent}xi32>")
        if self.draw(st.integers(0, 3)) == 0 and (wild or not self.tame):
            size = self.emit(f"tt.splat %size : i32 -> tensor<{extent}xi32>")
            run = self.emit(
                f"arith.{self.draw(st.sampled_from(('remsi', 'remui')))} {run}, {size} : tensor<{extent}xi32>"
            )
        thin = f"{extent}x1" if axis == 0 else f"1x{extent}"
        row = self.emit(
            f"tt.expand_dims {run} {{axis = {1 - axis} : i32}} : tensor<{extent}xi32> -> tensor<{thin}xi32>"
        )
        return self.emit(f"tt.broadcast {row} : tensor<{thin}xi32> -> {self.tile('i32')}")

    def scalar(self, extent: int, wild: bool) -> str:
        """A program's first index, a parameter, or anything."""
        kind = self.draw(st.integers(0, 3 if wild or not self.tame else 1))
        if kind > 1:
            return ("%n", "%m")[kind - 2]
        factor = self.emit(f"arith.constant {extent if kind else self.draw(st.integers(-5, 5))} : i32")
        return self.emit(f"arith.muli %pid, {factor} : i32")

    def index(self, depth: int, wild: bool) -> str:
        """An i32 tile; `wild` ones may wrap around."""
        draw = self.draw
        kind = draw(st.integers(0, 7 if depth else 3))
        if kind < 2:
            return self.indices(kind, wild)
        if kind == 2:
            return self.constant(draw(st.integers(-40, 40)))
        if kind == 3:
            return self.splat(self.scalar(self.columns, wild))
        left = self.index(depth - 1, wild)
        if kind == 4:
            large = st.sampled_from((1103515245, -(1 << 30), 1 << 16, 715827883)) if wild else st.nothing()
            factor = self.constant(draw(st.integers(-4, 4) | large))
            return self.emit(f"arith.muli {left}, {factor} : {self.tile('i32')}")
        if kind == 5 and (wild or not self.tame):
            return self.emit(f"arith.muli {left}, {self.splat('%s')} : {self.tile('i32')}")
        name = draw(st.sampled_from(("addi", "subi", "addi", "minsi", "andi" if wild else "addi")))
        return self.emit(f"arith.{name} {left}, {self.index(depth - 1, wild)} : {self.tile('i32')}")

    def mask(self, depth: int) -> str:
        draw = self.draw
        kind = draw(st.integers(0, 3 if depth else 1))
        if kind == 0:
            return self.splat("%c", "i1")
        if kind == 1:
            a, b = self.index(2, wild=True), self.index(1, wild=True)
            return self.emit(f"arith.cmpi {draw(st.sampled_from(PREDICATES))}, {a}, {b} : {self.tile('i32')}")
        name = "andi" if kind == 2 or draw(st.booleans()) else "ori"
        return self.emit(f"arith.{name} {self.mask(depth - 1)}, {self.mask(depth - 1)} : {self.tile('i1')}")

    def pointers(self, base: str) -> str:
        pointer, tiles = self.splat(base, "!tt.ptr<f32>"), self.tile("!tt.ptr<f32>")
        for _ in range(self.draw(st.integers(1, 2))):
            offset, element = self.index(2, wild=False), "i32"
            if self.draw(st.booleans()):
                element = "i64"
                offset = self.emit(f"arith.extsi {offset} : {self.tile('i32')} to {self.tile('i64')}")
            pointer = self.emit(f"tt.addptr {pointer}, {offset} : {tiles}, {self.tile(element)}")
        return pointer

    def load(self, pointer: str) -> str:
        if self.draw(st.integers(0, 3)) == 0:
            return self.emit(f"tt.load {pointer} : {self.tile('!tt.ptr<f32>')}")
        mask = self.mask(2)
        other = ", %other" if self.draw(st.booleans()) else ""
        return self.emit(f"tt.load {pointer}, {mask}{other} : {self.tile('!tt.ptr<f32>')}")

    def loop(self, body: str, pointer: str) -> str:
        """Sums what is loaded in %trips trips; the pointers move, by one number or by a tile."""
        tile, tiles = self.tile("f32"), self.tile("!tt.ptr<f32>")
        self.lines.append(
            f"    {body}:2 = scf.for %i = %zero to %trips step %one iter_args(%sum = %other, %p = {pointer}) -> "
            f"({tile}, {tiles}) : i32 {{"
        )
        self.indent = "      "
        value = self.load("%p")
        total = self.emit(f"arith.addf %sum, {value} : {tile}")
        step = self.splat("%m") if self.draw(st.booleans()) and not self.tame else self.index(1, wild=False)
        moved = self.emit(f"tt.addptr %p, {step} : {tiles}, {self.tile('i32')}")
        if self.draw(st.integers(0, 3)) == 0:
            self.lines.append(f"      tt.store %py, {total} : {tiles}")
        self.lines.append(f"      scf.yield {total}, {moved} : {tile}, {tiles}\n    }}")
        self.indent = "    "
        return f"{body}#0"

    def branch(self, body: str) -> str:
        """Pointers that a condition chooses."""
        tiles = self.tile("!tt.ptr<f32>")
        self.lines.append(f"    {body} = scf.if %c -> ({tiles}) {{")
        first = self.pointers("%x")
        self.lines.append(f"      scf.yield {first} : {tiles}\n    }} else {{")
        second = self.pointers("%x")
        self.lines.append(f"      scf.yield {second} : {tiles}\n    }}")
        return body


PARAMETERS = (
    "%x: !tt.ptr<f32>",
    "%y: !tt.ptr<f32>",
    "%n: i32",
    "%m: i32",
    "%s: i32",
    "%size: i32",
    "%trips: i32",
    "%c: i1",
)


@st.composite
def kernels(draw: st.DrawFn, tame: bool = False) -> str:
    rows, columns = draw(st.sampled_from([(4, 8), (1, 16), (8, 2)]))
    kernel = Kernel(draw, rows, columns, tame)
    lines = kernel.lines
    lines += ["    %pid = tt.get_program_id x : i32", "    %zero = arith.constant 0 : i32"]
    lines += ["    %one = arith.constant 1 : i32", f"    %other = arith.constant dense<7.5> : {kernel.tile('f32')}"]
    size = kernel.emit(f"arith.constant {rows * columns} : i32")
    first = kernel.emit(f"arith.muli %pid, {size} : i32")
    flat = kernel.emit(
        f"tt.make_range {{end = {rows * columns} : i32, start = 0 : i32}} : tensor<{rows * columns}xi32>"
    )
    grid = kernel.emit(f"tt.reshape {flat} : tensor<{rows * columns}xi32> -> {kernel.tile('i32')}")
    at = kernel.emit(f"arith.addi {kernel.splat(first)}, {grid} : {kernel.tile('i32')}")
    out = kernel.splat("%y", "!tt.ptr<f32>")
    lines.append(f"    %py = tt.addptr {out}, {at} : {kernel.tile('!tt.ptr<f32>')}, {kernel.tile('i32')}")
    pointer = kernel.branch("%chosen") if draw(st.integers(0, 3)) == 0 else kernel.pointers("%x")
    value = kernel.loop("%looped", pointer) if draw(st.booleans()) else kernel.load(pointer)
    if draw(st.booleans()):
        lines.append(f"    tt.store {kernel.pointers('%x')}, %other : {kernel.tile('!tt.ptr<f32>')}")
    mask = f", {kernel.mask(1)}" if draw(st.booleans()) else ""
    lines.append(f"    tt.store %py, {value}{mask} : {kernel.tile('!tt.ptr<f32>')}")
    if draw(st.booleans()):
        again = kernel.emit(f"tt.load %py : {kernel.tile('!tt.ptr<f32>')}")
        double = kernel.emit(f"arith.addf {again}, {again} : {kernel.tile('f32')}")
        lines.append(f"    tt.store %py, {double} : {kernel.tile('!tt.ptr<f32>')}")
    return (
        "module {\n  tt.func public @k("
        + ", ".join(PARAMETERS)
        + ") {\n"
        + "\n".join(lines)
        + "\n    tt.return\n  }\n}\n"
    )


numbers = st.tuples(
    st.integers(-20, 60), st.integers(-3, 9), st.integers(-3, 5), st.integers(1, 9), st.integers(0, 3), st.booleans()
)
EXTREMES = st.sampled_from((0, 1, -1, 7, 100, (1 << 31) - 1, (1 << 31) - 3, -(1 << 31), -(1 << 31) + 2, 1 << 30))
SIZES = st.sampled_from((1, 5, (1 << 31) - 1))
OCCURS = ("npu.start_load", "tt.load", "npu.wait", "scf.for", "scf.if")


def lowered(text: str, scalars: tuple[int | bool, ...]) -> list[str]:
    """Names of the ops after the passes, each of which changed nothing."""
    x = np.arange(2 * HALF, dtype=np.float32)
    y = np.full(16 * 8 * PROGRAMS, -1, np.float32)
    return ops_of(check(text, [(x, HALF), y, *scalars], PROGRAMS))


def test_nothing_changes() -> None:
    counts, tried = dict.fromkeys(OCCURS, 0), 120

    @given(kernels(), numbers)
    @examples(tried)
    def one(text: str, scalars: tuple[int | bool, ...]) -> None:
        names = set(lowered(text, scalars))
        for name in counts:
            counts[name] += name in names

    one()
    assert all(number >= share_of(tried) / 12 for number in counts.values()), f"hardly ever occurs: {counts}"


@given(kernels(tame=True), st.tuples(EXTREMES, EXTREMES, EXTREMES, SIZES, st.just(1), st.booleans()))
@examples(60)
def test_masks_notice_where_indices_wrap_around(text: str, scalars: tuple[int | bool, ...]) -> None:
    """What parameters of all sizes do to masks."""
    lowered(text, scalars)


def of_elements(text: str, element: str) -> str:
    """The kernel, made for f32, for other elements."""
    if element in INTEGERS:
        text = text.replace("dense<7.5>", "dense<7>").replace("arith.addf", "arith.addi")
        text = text.replace("dense<0.0>", "dense<0>")
    return text.replace("f32", element)


@given(kernels(), numbers, st.sampled_from((*FLOATS, *INTEGERS)), st.sampled_from(sorted(MACHINES)))
@examples(80)
def test_the_machine_moves_what_the_executor_does(
    text: str, scalars: tuple[int | bool, ...], element: str, machine: str
) -> None:
    """Elements of every width, through the program's binary: the same bytes, or the same trap."""
    text, dtype = of_elements(text, element), numpy_dtype(element)
    x = (np.arange(2 * HALF) % 127).astype(dtype)
    y = np.full(16 * 8 * PROGRAMS, -1, dtype)
    arguments = [(x, HALF), y, *scalars]
    want = outcome(parse_module(text, "k"), arguments, PROGRAMS, "earliest")
    for copies in ("earliest", "latest"):
        got = simulated(text, arguments, PROGRAMS, MACHINES[machine], copies)
        assert got == want, f"differs on {machine} ({copies}):\n{text}"
