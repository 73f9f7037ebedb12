"""What a wrong program comes to: a trap with the instruction, the kernel's line and the program."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from machine_kit import Assembly, Buffers, launched

from harness.errors import IllegalInstruction, Misaligned, ScratchpadFault, UsageError
from harness.ir.enums import INPUT_PRECISION
from harness.npu.isa.program import Constant, Formal, Register, Tile


def run(code: Assembly) -> None:
    code.emit("halt")
    launched(code, (2, 1, 1), Buffers(x=np.zeros(64, np.float32)))


def wrong_lane_axis(code):
    code.emit("iota", [code.tile("i32", (8, 8), 0)], [], 0, 0)
    code.vector("arith.negf", code.tile("f32", (8, 8), 1), (code.tile("f32", (8, 8), 0),))


def varying_uniform_operand(code):
    code.vector("arith.negf", code.tile("f32", (8,)), (code.tile("f32", (8,), None),))


def lanes_into_uniform(code):
    code.vector("arith.negf", code.tile("f32", (8,), None), (code.tile("f32", (8,)),))


def other_extents(code):
    code.vector("arith.addf", code.tile("f32", (8,)), (code.tile("f32", (8,)), code.tile("f32", (16,))))


def unknown_function(code):
    code.vector("arith.no_such", code.tile("f32", (8,)), (code.tile("f32", (8,)),))


def function_out_of_the_table(code):
    code.emit("vector", [code.tile("f32", (8,))], [code.tile("f32", (8,))], 7)


def wrong_element(code):
    function = code.function("arith.negf", ("f32",), "f32")
    code.emit("vector", [code.tile("f32", (8,))], [code.tile("f16", (8,))], function)


def register_out_of_range(code):
    code.emit("copy", [code.tile("f32", (8,))], [Register(99, "f32")])


def truncated_constant(code):
    code.emit("copy", [code.tile("f32", (8,))], [Constant(b"\0\0", "f32")])


def formal_outside(code):
    code.emit("copy", [code.tile("f32", (8,))], [Formal(0, "f32")])


def relayout_of_fewer(code):
    code.emit("relayout", [code.tile("f32", (8,))], [code.tile("f32", (16,))])


def product_over_wrong_lanes(code):
    a, b, c = code.tile("f32", (8, 8), 0), code.tile("f32", (8, 8)), code.tile("f32", (8, 8))
    code.emit("matmul", [c], [a, b, c], INPUT_PRECISION.values["ieee"], 0)


def missing_operand(code):
    code.emit("relayout", [code.tile("f32", (8,))], [])


def jump_outside(code):
    code.emit("jump", [], [], 400)


def five_axes(code):
    code.load(code.tile("f32", (1, 1, 1, 1, 8)), code.argument(0), [1] * 5)


def bound_on_no_axis(code):
    one = code.constant(1, "i64")
    code.emit("dma_load", [code.tile("f32", (8,))], [code.argument(0), one, one, None, None], 0, 0, 2, 0, 0)


ILLEGAL = {
    wrong_lane_axis: "the lanes are axis 0 of an operand and axis 1 of the result",
    varying_uniform_operand: "a uniform operand varies along the lane axis 0",
    lanes_into_uniform: "the lanes are axis 0 of an operand and axis None of the result",
    other_extents: r"a tile of \(16,\) beside a result of \(8,\)",
    unknown_function: "function arith.no_such is unknown",
    function_out_of_the_table: "function 7 of a table of 0",
    wrong_element: "takes .'f32',., not .'f16',.",
    register_out_of_range: "register 99: the program uses 0, the machine has 1024",
    truncated_constant: "a constant of 2 bytes is no f32",
    formal_outside: "a formal outside a combiner",
    relayout_of_fewer: "relayout of 16 elements to 8",
    product_over_wrong_lanes: "the lanes are axis 0 of a, and have to be axis 1",
    missing_operand: "relayout has 0 operands instead of 1",
    jump_outside: "the target 400 is outside the program",
    five_axes: "a descriptor of 5 axes",
    bound_on_no_axis: "bounds on axes that a tile of 1 axes has not",
}


@pytest.mark.parametrize("build", ILLEGAL, ids=lambda build: build.__name__)
def test_illegal_instructions_trap_when_they_are_reached(build):
    code = Assembly("ptr")
    build(code)
    pc = next(n for n in reversed(range(code.here)) if code.program.instructions[n].opcode != "wait")
    with pytest.raises(IllegalInstruction, match=ILLEGAL[build]) as caught:
        run(code)
    assert caught.value.program == (0, 0, 0)
    name = code.program.instructions[pc].opcode
    assert f"instruction {pc}: " in caught.value.hint and name in caught.value.hint
    assert caught.value.where == code.program.origins[pc].where


def test_an_illegal_instruction_that_nobody_reaches_is_none():
    code = Assembly("ptr")
    jump = code.emit("jump", [], [], 0)
    unknown_function(code)
    code.aim(jump, code.here)
    run(code)


def test_a_tile_outside_the_scratchpad_traps():
    beyond = Assembly("ptr")
    beyond.emit("iota", [beyond.tile("i32", (8,), at=4096)], [], 0, 0)
    with pytest.raises(ScratchpadFault, match=r"a tile at \[0x1000, 0x1004\) of the scratchpad.*machine has 4096"):
        run(beyond)
    used = Assembly("ptr")
    used.emit("iota", [used.tile("i32", (8,), at=64)], [], 0, 0)
    used.program.scratchpad = 64
    with pytest.raises(ScratchpadFault, match="of which the program uses 64 bytes"):
        run(used)


def test_a_misaligned_tile_traps():
    code = Assembly("ptr")
    code.emit("iota", [code.tile("i32", (8,), at=6)], [], 0, 0)
    with pytest.raises(Misaligned, match="a tile of 4-byte elements at scratchpad address 0x6"):
        run(code)


def test_bytes_that_nobody_wrote_trap():
    code = Assembly("ptr")
    part = code.tile("i32", (4,))
    code.emit("iota", [part], [], 0, 0)  # four lanes of eight
    code.emit("copy", [code.tile("i32", (4,))], [part])
    code.emit("copy", [code.tile("i32", (8,))], [dataclasses.replace(part, extents=(8,))])
    with pytest.raises(ScratchpadFault, match=r"kernel.py:3:1: program \(0, 0, 0\) reads scratchpad bytes that nobody"):
        run(code)


def test_a_register_that_nobody_wrote_traps():
    code = Assembly("ptr")
    code.emit("copy", [code.tile("i32", (8,))], [code.register("i32")])
    with pytest.raises(IllegalInstruction, match=r"register 0 is read by program \(0, 0, 0\), and nobody"):
        run(code)


@pytest.mark.parametrize("reads", [2, 3])
def test_bytes_that_some_programs_wrote_trap_in_the_others(reads):
    """Programs below 3 write; those below `reads` read, having met the others in between."""
    code = Assembly("ptr")
    tile, pid = code.tile("i32", (8,)), code.program_id()
    late = code.scalar("arith.cmpi", (pid, code.constant(3, "i32")), "i1", predicate="sge")
    around = code.emit("branch", [], [late], 0)
    code.emit("copy", [tile], [pid])
    code.aim(around, code.here)
    beyond = code.scalar("arith.cmpi", (pid, code.constant(reads, "i32")), "i1", predicate="sgt")
    out = code.emit("branch", [], [beyond], 0)
    code.emit("copy", [code.tile("i32", (8,))], [tile])
    code.aim(out, code.here)
    code.emit("halt")
    buffers = Buffers(x=np.zeros(64, np.float32))
    if reads == 2:
        launched(code, (6, 1, 1), buffers)
        return
    with pytest.raises(ScratchpadFault, match=r"program \(3, 0, 0\) reads scratchpad bytes") as caught:
        launched(code, (6, 1, 1), buffers)
    assert caught.value.program == (3, 0, 0)


def test_a_program_without_a_halt_traps_at_its_end():
    code = Assembly("ptr")
    code.emit("iota", [code.tile("i32", (8,))], [], 0, 0)
    with pytest.raises(IllegalInstruction, match="goes on after its last instruction"):
        launched(code, (2, 1, 1), Buffers(x=np.zeros(1, np.int32)))


def test_a_program_for_other_lanes_is_not_run():
    code = Assembly("ptr", lanes=16)
    with pytest.raises(UsageError, match="compiled for 16 lanes, machine tiny has 8"):
        run(code)


def test_two_live_values_that_share_bytes_spoil_each_other():
    """Nobody is told: the bytes are simply there once."""
    code = Assembly("ptr", "ptr")
    first = code.tile("i32", (8,))
    second = Tile(first.address, "i32", (8,), (1,), 0)
    code.emit("iota", [first], [], 0, 0)
    code.emit("iota", [second], [], 50, 0)
    code.store(first, code.argument(0), [1])
    code.emit("halt")
    out = np.zeros(8, np.int32)
    launched(code, (1, 1, 1), Buffers(out=out, other=np.zeros(1, np.int32)))
    assert out.tolist() == list(range(50, 58))
