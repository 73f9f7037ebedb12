"""Programs as bytes, and back.

A file is `TNPU`, a version, the length and the CRC-32 of what follows, then sections: strings, the header, tiles,
constants, functions, combiners, texts, instructions, origins, source (zlib). Strings, tiles and constants are
stored once; operands name them by number. Every field has a range, and what does not fit it is an error: nothing
is ever truncated.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from harness.cases.location import SourceLocation
from harness.errors import DamagedProgram
from harness.npu.isa.opcodes import OPCODES, Opcode
from harness.npu.isa.program import (
    Combiner,
    Constant,
    Formal,
    Function,
    Instruction,
    Operand,
    Origin,
    Program,
    Register,
    Tile,
)
from harness.npu.isa.wire import DoesNotFit, Reader, Writer

MAGIC = b"TNPU"
VERSION = 1
_HEADER = struct.Struct("<4sHII")

_ADDRESS = 1 << 31  # bytes of a scratchpad
_EXTENT = 1 << 31
_RANK = 16
_REGISTERS = 1 << 16
_FORMALS = 1 << 16
_MANY = 1 << 24  # entries of a table
_FEW = 1 << 8  # operands of an instruction, elements of a signature
_TEXT = 1 << 28  # bytes of a text
_BITS = 8  # bytes of a constant
_LINE = 1 << 24
_IMMEDIATE_BITS = 64

_NAMES = {opcode.number: opcode for opcode in OPCODES.values()}
_NOTHING, _REGISTER, _TILE, _CONSTANT, _FORMAL = range(5)
_KINDS = 5
_BOOL, _INTEGER, _STRING = range(3)
_Entry = TypeVar("_Entry", bound=Hashable)


def encode(program: Program) -> bytes:
    """The program's binary. Raises DoesNotFit, naming the field, for a value that the format cannot hold."""
    return _Encoder(program).encoded()


def decode(data: bytes) -> Program:
    """The program of a binary. Raises DamagedProgram for bytes that are not one, or of another version."""
    if len(data) < _HEADER.size or data[:4] != MAGIC:
        raise DamagedProgram("this is no machine program", hint="compile the kernel again")
    _, version, length, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise DamagedProgram(
            f"the machine program is of version {version}, this harness reads version {VERSION}",
            hint="compile the kernel again",
        )
    body = data[_HEADER.size :]
    if len(body) != length:
        raise DamagedProgram(f"the machine program is {len(body)} bytes long instead of {length}")
    if zlib.crc32(body) != checksum:
        raise DamagedProgram("the machine program's checksum is wrong", hint="compile the kernel again")
    try:
        return _Decoder(Reader(body)).program()
    except (IndexError, UnicodeDecodeError, zlib.error, KeyError) as error:
        raise DamagedProgram(f"the machine program does not decode: {type(error).__name__}: {error}") from error


# --- writing ----------------------------------------------------------------------------------------------------


class _Table:
    """Entries by number, each kept once."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, entry: Any) -> int:
        return self.numbers.setdefault(entry, len(self.numbers))


class _Encoder:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._strings, self._tiles, self._constants = _Table(), _Table(), _Table()

    def encoded(self) -> bytes:
        program = self._program
        if len(program.origins) != len(program.instructions):
            raise DoesNotFit(f"{len(program.instructions)} instructions have {len(program.origins)} origins")
        # Written first: they fill the tables.
        later = [
            self._section(self._header, [program]),
            self._list(self._function, program.functions, "functions"),
            self._list(self._combiner, program.combiners, "combiners"),
            self._list(self._text, program.texts, "texts"),
            self._list(self._instruction, program.instructions, "instructions"),
            self._section(self._origins, [program.origins]),
            self._section(self._source, [program.source]),
        ]
        constants = self._list(self._constant, list(self._constants.numbers), "constants")
        tiles = self._list(self._tile, list(self._tiles.numbers), "tiles")
        strings = self._list(self._text, list(self._strings.numbers), "strings")
        body = b"".join((strings, tiles, constants, *later))
        return _HEADER.pack(MAGIC, VERSION, len(body), zlib.crc32(body)) + body

    def _section(self, write: Callable[[Writer, Any], None], parts: Sequence[Any]) -> bytes:
        writer = Writer()
        for part in parts:
            write(writer, part)
        return bytes(writer.data)

    def _list(self, write: Callable[[Writer, Any], None], entries: Sequence[Any], what: str) -> bytes:
        writer = Writer()
        writer.whole(len(entries), _MANY, f"number of {what}")
        for entry in entries:
            write(writer, entry)
        return bytes(writer.data)

    def _string(self, writer: Writer, text: str) -> None:
        writer.whole(self._strings.number(text), _MANY, "number of a string")

    def _strings_of(self, writer: Writer, texts: Sequence[str]) -> None:
        writer.whole(len(texts), _FEW, "number of element types")
        for text in texts:
            self._string(writer, text)

    def _header(self, writer: Writer, program: Program) -> None:
        self._string(writer, program.name)
        self._string(writer, program.machine)
        writer.whole(program.lanes, _EXTENT, "number of lanes")
        writer.whole(len(program.arguments), _MANY, "number of arguments")
        for argument in program.arguments:
            self._string(writer, argument)
        writer.whole(program.scratchpad, _ADDRESS, "scratchpad bytes")
        writer.whole(program.uniform, _ADDRESS, "uniform scratchpad bytes")
        writer.whole(program.registers, _REGISTERS, "number of registers")

    def _text(self, writer: Writer, text: str) -> None:
        writer.raw(text.encode(), _TEXT, "a text")

    def _source(self, writer: Writer, text: str) -> None:
        writer.raw(zlib.compress(text.encode(), 6) if text else b"", _TEXT, "the source")

    def _tile(self, writer: Writer, tile: Tile) -> None:
        if len(tile.strides) != len(tile.extents):
            raise DoesNotFit(f"a tile of {len(tile.extents)} axes has {len(tile.strides)} strides")
        writer.whole(tile.address, _ADDRESS, "address")
        self._string(writer, tile.element)
        writer.whole(len(tile.extents), _RANK, "rank of a tile")
        for extent, stride in zip(tile.extents, tile.strides, strict=True):
            writer.whole(extent, _EXTENT, "extent")
            writer.whole(stride, _EXTENT, "stride")
        writer.whole(0 if tile.lane_axis is None else tile.lane_axis + 1, len(tile.extents) + 1, "lane axis")

    def _constant(self, writer: Writer, constant: Constant) -> None:
        self._string(writer, constant.element)
        writer.raw(constant.bits, _BITS + 1, "a constant")

    def _function(self, writer: Writer, function: Function) -> None:
        self._string(writer, function.name)
        writer.whole(len(function.attributes), _FEW, "number of attributes")
        for name, value in function.attributes:
            self._string(writer, name)
            self._attribute(writer, value)
        self._strings_of(writer, function.operands)
        self._strings_of(writer, function.results)

    def _attribute(self, writer: Writer, value: str | int | bool) -> None:
        if isinstance(value, bool):
            writer.whole(_BOOL, 3, "kind of an attribute")
            writer.whole(int(value), 2, "attribute")
        elif isinstance(value, int):
            writer.whole(_INTEGER, 3, "kind of an attribute")
            writer.signed(value, 64, "attribute")
        else:
            writer.whole(_STRING, 3, "kind of an attribute")
            self._string(writer, value)

    def _combiner(self, writer: Writer, combiner: Combiner) -> None:
        self._strings_of(writer, combiner.arguments)
        writer.whole(len(combiner.instructions), _MANY, "number of instructions")
        for instruction in combiner.instructions:
            self._instruction(writer, instruction)
        self._operands(writer, combiner.results)

    def _instruction(self, writer: Writer, instruction: Instruction) -> None:
        opcode = OPCODES.get(instruction.opcode)
        if opcode is None:
            raise DoesNotFit(f"no opcode is called {instruction.opcode!r}")
        if len(instruction.immediates) != len(opcode.immediates):
            raise DoesNotFit(f"{opcode.name} has immediates {opcode.immediates}, not {instruction.immediates}")
        writer.whole(opcode.number, _FEW, "opcode")
        self._operands(writer, instruction.results)
        self._operands(writer, instruction.operands)
        for name, value in zip(opcode.immediates, instruction.immediates, strict=True):
            writer.signed(value, _IMMEDIATE_BITS, f"{name} of {opcode.name}")

    def _operands(self, writer: Writer, operands: Sequence[Operand | None]) -> None:
        writer.whole(len(operands), _FEW, "number of operands")
        for operand in operands:
            kind, number = self._numbered(writer, operand)
            writer.whole(number * _KINDS + kind, _MANY * _KINDS, "operand")

    def _numbered(self, writer: Writer, operand: Operand | None) -> tuple[int, int]:
        if operand is None:
            return _NOTHING, 0
        if isinstance(operand, Tile):
            return _TILE, self._tiles.number(operand)
        if isinstance(operand, Constant):
            return _CONSTANT, self._constants.number(operand)
        # The element of a register or formal goes in front of it.
        kind, limit = (_REGISTER, _REGISTERS) if isinstance(operand, Register) else (_FORMAL, _FORMALS)
        if not 0 <= operand.number < limit:
            raise DoesNotFit(f"register {operand.number} does not fit its field, which ends at {limit - 1}")
        element = self._strings.number(operand.element)
        if element >= _FEW:
            raise DoesNotFit("more element types than an operand can name")
        return kind, operand.number * _FEW + element

    def _origins(self, writer: Writer, origins: Sequence[Origin]) -> None:
        """Runs of instructions with one origin."""
        runs: list[tuple[Origin, int]] = []
        for origin in origins:
            if runs and runs[-1][0] == origin:
                runs[-1] = origin, runs[-1][1] + 1
            else:
                runs.append((origin, 1))
        writer.whole(len(runs), _MANY, "number of origins")
        for origin, count in runs:
            writer.whole(count, _MANY, "length of a run")
            self._string(writer, origin.op)
            writer.whole(int(origin.where is not None), 2, "origin")
            if origin.where is not None:
                self._string(writer, origin.where.file)
                writer.whole(origin.where.line, _LINE, "line")
                writer.whole(origin.where.column, _LINE, "column")


# --- reading ----------------------------------------------------------------------------------------------------


class _Decoder:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._strings = self._list(self._text)
        self._tiles: list[Tile] = self._list(self._tile)
        self._constants: list[Constant] = self._list(self._constant)

    def program(self) -> Program:
        reader = self._reader
        name, machine, lanes = self._string(), self._string(), reader.whole(_EXTENT)
        arguments = tuple(self._list(self._string))
        scratchpad, uniform = reader.whole(_ADDRESS), reader.whole(_ADDRESS)
        registers = reader.whole(_REGISTERS)
        program = Program(
            name,
            machine,
            lanes,
            arguments,
            self._list(self._function),
            self._list(self._combiner),
            self._list(self._text),
            self._list(self._instruction),
            self._origins(),
            scratchpad,
            uniform,
            registers,
            self._source(),
        )
        if not reader.is_at_end:
            raise DamagedProgram("the machine program goes on after its end")
        if len(program.origins) != len(program.instructions):
            raise DamagedProgram(
                f"the machine program tells the origins of {len(program.origins)} of its "
                f"{len(program.instructions)} instructions"
            )
        return program

    def _list(self, read: Callable[[], _Entry]) -> list[_Entry]:
        return [read() for _ in range(self._reader.whole(_MANY))]

    def _string(self) -> str:
        return self._strings[self._reader.whole(_MANY)]

    def _text(self) -> str:
        return self._reader.raw(_TEXT).decode()

    def _source(self) -> str:
        data = self._reader.raw(_TEXT)
        return zlib.decompress(data).decode() if data else ""

    def _few(self) -> tuple[str, ...]:
        return tuple(self._string() for _ in range(self._reader.whole(_FEW)))

    def _tile(self) -> Tile:
        reader = self._reader
        address, element = reader.whole(_ADDRESS), self._string()
        axes = [(reader.whole(_EXTENT), reader.whole(_EXTENT)) for _ in range(reader.whole(_RANK))]
        lane_axis = reader.whole(len(axes) + 1)
        extents, strides = tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
        return Tile(address, element, extents, strides, lane_axis - 1 if lane_axis else None)

    def _constant(self) -> Constant:
        element = self._string()
        return Constant(self._reader.raw(_BITS + 1), element)

    def _function(self) -> Function:
        name = self._string()
        attributes = tuple((self._string(), self._attribute()) for _ in range(self._reader.whole(_FEW)))
        return Function(name, attributes, self._few(), self._few())

    def _attribute(self) -> str | int | bool:
        kind = self._reader.whole(3)
        if kind == _BOOL:
            return bool(self._reader.whole(2))
        return self._reader.signed(64) if kind == _INTEGER else self._string()

    def _combiner(self) -> Combiner:
        arguments = self._few()
        return Combiner(arguments, tuple(self._list(self._instruction)), self._present(self._operands()))

    def _instruction(self) -> Instruction:
        number = self._reader.whole(_FEW)
        opcode: Opcode | None = _NAMES.get(number)
        if opcode is None:
            raise DamagedProgram(f"the machine program holds opcode {number}, which there is none of")
        results, operands = self._present(self._operands()), self._operands()
        immediates = tuple(self._reader.signed(_IMMEDIATE_BITS) for _ in opcode.immediates)
        return Instruction(opcode.name, results, operands, immediates)

    def _present(self, operands: tuple[Operand | None, ...]) -> tuple[Operand, ...]:
        if any(operand is None for operand in operands):
            raise DamagedProgram("the machine program lacks a result")
        return operands  # type: ignore[return-value]

    def _operands(self) -> tuple[Operand | None, ...]:
        return tuple(self._operand() for _ in range(self._reader.whole(_FEW)))

    def _operand(self) -> Operand | None:
        number, kind = divmod(self._reader.whole(_MANY * _KINDS), _KINDS)
        if kind == _NOTHING:
            return None
        if kind == _TILE:
            return self._tiles[number]
        if kind == _CONSTANT:
            return self._constants[number]
        number, element = divmod(number, _FEW)
        return (Register if kind == _REGISTER else Formal)(number, self._strings[element])

    def _origins(self) -> list[Origin]:
        reader, origins = self._reader, []
        for _ in range(reader.whole(_MANY)):
            count, op = reader.whole(_MANY), self._string()
            where = (
                SourceLocation(self._string(), reader.whole(_LINE), reader.whole(_LINE)) if reader.whole(2) else None
            )
            origins += [Origin(op, where)] * count
        return origins
