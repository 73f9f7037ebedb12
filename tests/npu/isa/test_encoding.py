"""The binary: whatever a program holds comes back, what does not fit is refused, damage is told."""

from __future__ import annotations

import dataclasses
import re

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.cases.location import SourceLocation
from harness.errors import DamagedProgram
from harness.npu.isa.disassembly import disassemble
from harness.npu.isa.encoding import decode, encode
from harness.npu.isa.opcodes import OPCODES
from harness.npu.isa.program import (
    Combiner,
    Constant,
    Formal,
    Function,
    Instruction,
    Origin,
    Program,
    Register,
    Tile,
)
from harness.npu.isa.wire import DoesNotFit

elements = st.sampled_from(["f32", "bf16", "i1", "ptr", "i64"])
small = st.integers(0, 1 << 20)


@st.composite
def some_tiles(draw) -> Tile:
    axes = draw(st.lists(st.tuples(small, small), max_size=5))
    lane = draw(st.sampled_from([None, *range(len(axes))]))
    return Tile(draw(small), draw(elements), tuple(n for n, _ in axes), tuple(s for _, s in axes), lane)


operands = st.one_of(
    some_tiles(),
    st.builds(Register, st.integers(0, 65535), elements),
    st.builds(Constant, st.binary(max_size=8), elements),
    st.builds(Formal, st.integers(0, 65535), elements),
)


@st.composite
def instructions(draw) -> Instruction:
    opcode = draw(st.sampled_from(sorted(OPCODES)))
    immediates = tuple(draw(st.integers(-(1 << 63), (1 << 63) - 1)) for _ in OPCODES[opcode].immediates)
    results = tuple(draw(st.lists(operands, max_size=3)))
    return Instruction(opcode, results, tuple(draw(st.lists(st.none() | operands, max_size=6))), immediates)


values = st.one_of(st.text(max_size=5), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1))
types = st.lists(elements, max_size=3).map(tuple)
functions = st.builds(
    Function, st.text(max_size=8), st.lists(st.tuples(st.text(max_size=5), values), max_size=3).map(tuple), types, types
)
combiners = st.builds(
    Combiner, types, st.lists(instructions(), max_size=3).map(tuple), st.lists(operands, max_size=2).map(tuple)
)
places = st.builds(SourceLocation, st.sampled_from(["a.py", "b/ü.py"]), st.integers(0, 9999), st.integers(0, 300))
origins = st.builds(Origin, st.sampled_from(["tt.load", "arith.addf"]), st.none() | places)


@st.composite
def programs(draw) -> Program:
    body = draw(st.lists(st.tuples(instructions(), origins), max_size=8))
    return Program(
        draw(st.text(max_size=8)),
        "tiny",
        draw(st.integers(1, 4096)),
        draw(types),
        draw(st.lists(functions, max_size=3)),
        draw(st.lists(combiners, max_size=2)),
        draw(st.lists(st.text(), max_size=3)),
        [one for one, _ in body],
        [origin for _, origin in body],
        draw(small),
        draw(small),
        draw(st.integers(0, 65535)),
        draw(st.text(max_size=99)),
    )


@examples(80)
@given(programs())
def test_a_program_comes_back_as_it_was(program):
    data = encode(program)
    back = decode(data)
    assert back == program
    assert [type(value) for function in back.functions for _, value in function.attributes] == [
        type(value) for function in program.functions for _, value in function.attributes
    ]
    assert encode(back) == data
    assert len(disassemble(program).splitlines()) >= 2 + len(program.instructions)


@examples(80)
@given(programs(), st.data())
def test_damage_is_told(program, data):
    binary = encode(program)
    at = data.draw(st.integers(0, len(binary) - 1))
    flipped = bytes([binary[at] ^ data.draw(st.integers(1, 255))])
    for damaged in (binary[:at], binary[:at] + flipped + binary[at + 1 :], binary + b"\0"):
        with pytest.raises(DamagedProgram):
            decode(damaged)


def small_program() -> Program:
    tile = Tile(0, "f32", (8,), (1,), 0)
    copy = Instruction("copy", (tile,), (Constant(b"\0\0\x80?", "f32"),))
    origin = Origin("tt.splat", SourceLocation("k.py", 3, 5))
    return Program("k", "tiny", 8, ("ptr",), instructions=[copy, Instruction("halt")], origins=[origin, origin])


TOO_LARGE = {
    "address": lambda tile: dataclasses.replace(tile, address=1 << 31),
    "extent": lambda tile: dataclasses.replace(tile, extents=(1 << 31,)),
    "stride": lambda tile: dataclasses.replace(tile, strides=(-1,)),
    "lane axis": lambda tile: dataclasses.replace(tile, lane_axis=1),
    "rank": lambda tile: dataclasses.replace(tile, extents=(1,) * 16, strides=(0,) * 16),
    "register": lambda tile: Register(1 << 16, "f32"),
    "constant": lambda tile: Constant(bytes(9), "f32"),
}


@pytest.mark.parametrize("field", TOO_LARGE)
def test_what_does_not_fit_a_field_is_refused_by_name(field):
    program = small_program()
    (tile,) = program.instructions[0].results
    program.instructions[0] = dataclasses.replace(program.instructions[0], operands=(TOO_LARGE[field](tile),))
    with pytest.raises(DoesNotFit, match=field):
        encode(program)


def test_an_immediate_that_does_not_fit_is_refused_by_name():
    program = small_program()
    program.instructions[1] = Instruction("jump", immediates=(1 << 63,))
    with pytest.raises(DoesNotFit, match="target of jump 9223372036854775808 does not fit its field of 64 bits"):
        encode(program)


@pytest.mark.parametrize("data", [b"", b"TNPU", b"module {}", b"TNPU" + bytes(30)])
def test_other_files_are_no_programs(data):
    with pytest.raises(DamagedProgram):
        decode(data)


def test_the_disassembly_shows_operands_line_and_op():
    text = disassemble(small_program())
    assert re.search(r"^ +0  f32\[8\*\]@0x0/1 = copy 1.0:f32 +; k.py:3:5  tt.splat$", text, re.MULTILINE)
    assert text.startswith("program k for tiny: 8 lanes")


def test_the_disassembly_names_a_file_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = small_program()
    for file, shown in ((tmp_path / "k" / "a.py", "k/a.py"), ("/elsewhere/a.py", "/elsewhere/a.py")):
        origins = tuple(
            dataclasses.replace(one, where=SourceLocation(str(file), 3, 5)) for one in program.origins if one
        )
        text = disassemble(dataclasses.replace(program, origins=list(origins)))
        assert text.splitlines()[2] == f"a.py is {shown}"
        assert "; a.py:3:5  tt.splat" in text and text.count(shown) == 1
