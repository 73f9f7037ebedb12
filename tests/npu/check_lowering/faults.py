"""Deliberate faults of the lowering: one thing wrong in what a pass leaves behind, or in the program."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

import harness.npu.check_lowering as check_lowering
import harness.npu.lowering as lowering
import harness.npu.lowering.encode as encoder
from harness.ir import parse_module, print_module
from harness.npu.isa.program import Constant, Instruction, Program, Tile
from harness.npu.lowering.placed import place, placement_of

_POINTERS, _PLACES, _SCHEDULE = "npu-analyze-pointers", "npu-place-lanes", "npu-schedule"
_BUFFERS, _ALLOCATE, _INLINE = "npu-double-buffer", "npu-allocate", "npu-inline"

Change = Callable[[Instruction], Instruction]


@dataclass(frozen=True)
class Fault:
    """name     what is wrong
    kernel   of `kernels.launches`
    blamed   the pass that holds it
    put_in   puts it in for the length of a test
    """

    name: str
    kernel: str
    blamed: str
    put_in: Callable[[pytest.MonkeyPatch], None]


def in_the_module(name: str, kernel: str, flag: str, *edits: tuple[str, str]) -> Fault:
    """`flag` leaves a module whose text differs by the edits: (pattern, replacement), each at its first match."""

    def put_in(monkeypatch: pytest.MonkeyPatch) -> None:
        real = lowering.PASSES[flag]

        def spoiled(module, machine):
            real(module, machine)
            text = print_module(module)
            for pattern, replacement in edits:
                text, times = re.subn(pattern, replacement, text, count=1)
                assert times == 1, f"{name}: nothing matches {pattern} in\n{text}"
            _become(module, text)

        monkeypatch.setitem(lowering.PASSES, flag, spoiled)

    return Fault(name, kernel, flag, put_in)


def _become(module, text: str) -> None:
    for op in list(module.body.block.ops):
        op.detach()
    for op in list(parse_module(text, "spoiled").body.block.ops):
        op.detach()
        module.body.block.add_op(op)


def _misplace_the_first_load(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lowering.PASSES[_PLACES]

    def spoiled(module, machine):
        real(module, machine)
        load = next(op for op in module.walk() if op.name == "npu.load")
        place(load.results[0], 1 - (placement_of(load.results[0]) or 0))

    monkeypatch.setitem(lowering.PASSES, _PLACES, spoiled)


def in_the_program(name: str, kernel: str, change: Callable[[Program], None]) -> Fault:
    """The encoder gives a program with something changed."""

    def put_in(monkeypatch: pytest.MonkeyPatch) -> None:
        real = encoder.encode_traced

        def spoiled(*arguments):
            program, lowered = real(*arguments)
            change(program)
            return program, lowered

        monkeypatch.setattr(encoder, "encode_traced", spoiled)
        monkeypatch.setattr(check_lowering, "encode_traced", spoiled)

    return Fault(name, kernel, "npu-encode", put_in)


def first(opcode: str, change: Change, number: int = 0) -> Callable[[Program], None]:
    """Changes the first (or a later) instruction of an opcode."""

    def spoil(program: Program) -> None:
        found = [pc for pc, one in enumerate(program.instructions) if one.opcode == opcode]
        program.instructions[found[number]] = change(program.instructions[found[number]])

    return spoil


def operands(edit: Callable[[list], Sequence]) -> Change:
    return lambda one: dataclasses.replace(one, operands=tuple(edit(list(one.operands))))


def immediate(index: int, edit: Callable[[int], int]) -> Change:
    def change(one: Instruction) -> Instruction:
        values = list(one.immediates)
        values[index] = edit(values[index])
        return dataclasses.replace(one, immediates=tuple(values))

    return change


def _truncated_strides(values: list) -> list:
    """A field of four bits where eight are needed."""
    return [
        dataclasses.replace(one, bits=bytes([one.bits[0] & 15, *one.bits[1:]]))
        if isinstance(one, Constant) and one.element == "i64"
        else one
        for one in values
    ]


def _shifted(one: object) -> object:
    return dataclasses.replace(one, address=one.address + 4) if isinstance(one, Tile) else one


def _other_function(name: str, instead: str) -> Callable[[Program], None]:
    def spoil(program: Program) -> None:
        at = next(at for at, function in enumerate(program.functions) if function.name == name)
        program.functions[at] = dataclasses.replace(program.functions[at], name=instead)

    return spoil


_LOAD = r"(npu\.load [^\n]*)"

FAULTS: tuple[Fault, ...] = (
    in_the_module("operands of an inlined call swapped", "calls", _INLINE, (r"(subi) (%\w+), (%\w+)", r"\1 \3, \2")),
    # what the pointer analysis says of transfers
    in_the_module(
        "a load one row short",
        "copy_tile",
        _POINTERS,
        (r"(%\w+ = arith\.constant 1 : i64)", r"\1\n%short = arith.constant -1 : i64"),
        (r"\n(.*npu\.load .*upper \[0: )(%\w+)", r"\n%fewer = arith.addi \2, %short : i64\n\1%fewer"),
    ),
    in_the_module(
        "a store one row short",
        "copy_tile",
        _POINTERS,
        (r"(%\w+ = arith\.constant 1 : i64)", r"\1\n%short = arith.constant -1 : i64"),
        (r"\n(.*npu\.store .*upper \[0: )(%\w+)", r"\n%fewer = arith.addi \2, %short : i64\n\1%fewer"),
    ),
    in_the_module("strides swapped", "copy_tile", _POINTERS, (r"(npu\.load %\w+)\[(%\w+), (%\w+)\]", r"\1[\3, \2]")),
    in_the_module(
        "the mask of a load dropped", "copy_tile", _POINTERS, (_LOAD[:-1] + r"?) lower.*? other", r"\1 other")
    ),
    in_the_module(
        "the mask of a store dropped", "normalise", _POINTERS, (r"(npu\.store [^\n]*\]) upper \[.*?\]", r"\1")
    ),
    in_the_module("a lower bound dropped", "copy_tile", _POINTERS, (r" lower \[.*?\]", "")),
    in_the_module("a bound on the wrong axis", "matmul", _POINTERS, (r"upper \[1: ", "upper [0: ")),
    in_the_module("what a masked element is, lost", "copy_tile", _POINTERS, (r" other %\w+ : f32", "")),
    in_the_module("wrapping around lost", "wrapped", _POINTERS, (r" wrap \[.*?\]", "")),
    in_the_module("a base that does not advance", "matmul", _POINTERS, (r"npu\.load %arg\[", "npu.load %a[")),
    in_the_module("a pointer advanced by another's step", "matmul", _POINTERS, (r"(addptr %arg), %\w+", r"\1, %0")),
    in_the_module(
        "a program's offset lost", "normalise", _POINTERS, (r"npu\.store (%\w+) to %\w+", r"npu.store \1 to %out")
    ),
    # where tiles are placed
    Fault("the wrong lane axis", "copy_tile", _PLACES, _misplace_the_first_load),
    # starts and waits
    in_the_module(
        "a missing wait for a load",
        "normalise",
        _SCHEDULE,
        (r"(%\w+) = npu\.wait (%\w+#1), (%\w+#0) : ([^\n]*?)( loc.*)?\n", r"\1 = npu.relayout \3 : \4 -> \4\5\n"),
    ),
    in_the_module("a missing wait for a store", "rewrites", _SCHEDULE, (r"\n *npu\.wait (%\w+)( loc.*)?\n", "\n")),
    # one tile ahead
    in_the_module(
        "a stale double buffer",
        "matmul",
        _BUFFERS,
        (r"scf\.yield (%\w+), (%\w+), (%\w+), %\w+, (%\w+)", r"scf.yield \1, \2, \3, %x_5, \4"),
    ),
    in_the_module(
        "the next tile loaded from this one's place", "matmul", _BUFFERS, (r"(start_load) %16\[", r"\1 %arg[")
    ),
    in_the_module(
        "the last trip's mask kept",
        "matmul",
        _BUFFERS,
        (r"(%\w+) = arith\.addi %step, (%\w+)", r"\1 = arith.subi %step, \2"),
    ),
    in_the_module(
        "this trip's tile taken for the next's",
        "matmul",
        _BUFFERS,
        (r"(tt\.dot) %x_5, %y_6", r"\1 %12, %y_6"),
    ),
    in_the_module(
        "a stale double buffer beside a store",
        "doubles",
        _BUFFERS,
        (r"(iter_args\()(%\w+)( = .*\n(?:.*\n)*?.*scf\.yield) %\w+", r"\1\2\3 \2"),
    ),
    in_the_module(
        "a load that overtakes the store of what it reads",
        "doubles_onwards",
        _BUFFERS,
        (r"scf\.if %\w+", "%overtakes = arith.constant true\nscf.if %overtakes"),
    ),
    # places in the scratchpad
    in_the_module("two live tiles share bytes", "normalise", _ALLOCATE, (r"(arith\.subf .*array<i64: )8>", r"\g<1>0>")),
    in_the_module(
        "two live tiles overlap by half", "normalise", _ALLOCATE, (r"(math\.absf .*array<i64: )16>", r"\g<1>4>")
    ),
    in_the_module(
        "two live scalars share a register",
        "copy_tile",
        _ALLOCATE,
        (r"(extsi %columns \{npu.registers = array<i64: )6>", r"\g<1>1>"),
    ),
    in_the_module(
        "a value not saved before it is overwritten",
        "fibonacci",
        _ALLOCATE,
        (r"\{npu\.saves = array<i64: 8>\}", "{npu.saves = array<i64: 4>}"),
    ),
    in_the_module(
        "the next tile in the place of this one", "matmul", _ALLOCATE, (r"(start_load %16.*array<i64: )128", r"\g<1>0")
    ),
    # the encoding
    in_the_program("a truncated field", "wrapped", first("dma_store", operands(_truncated_strides))),
    in_the_program("operands swapped", "normalise", first("vector", operands(lambda two: two[::-1]))),
    in_the_program(
        "the accumulator starts anew",
        "matmul",
        first("matmul", operands(lambda abc: [abc[0], abc[1], Constant(bytes(4), "f32")])),
    ),
    in_the_program(
        "a loop that ends a trip early", "fibonacci", first("branch", immediate(0, lambda target: target + 1), -1)
    ),
    in_the_program(
        "a tile read four bytes further on",
        "fibonacci",
        first("vector", operands(lambda two: [_shifted(two[0]), *two[1:]]), 1),
    ),
    in_the_program("another function", "calls", _other_function("arith.mulf", "arith.addf")),
    in_the_program(
        "the mask of an atomic dropped", "counts", first("atomic", operands(lambda three: [*three[:2], None]))
    ),
    in_the_program("the wait for another transfer", "rewrites", first("wait", immediate(0, lambda tag: tag + 1))),
)
