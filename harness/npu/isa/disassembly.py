"""Programs as text: one line an instruction, with its operands, the kernel's line and the IR op it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.errors import HarnessError
from harness.ir.enums import ATOMIC_OPERATION, INPUT_PRECISION, MEMORY_SCOPE, MEMORY_SEMANTIC, SCALED_ELEMENT
from harness.npu.isa.opcodes import OPCODES
from harness.npu.isa.program import (
    Combiner,
    Constant,
    Formal,
    Function,
    Instruction,
    Operand,
    Program,
    Register,
    Tile,
)
from harness.npu.isa.transfers import transfer_of
from harness.semantics import numpy_dtype

_KEYWORDS = {
    "kind": ATOMIC_OPERATION,
    "order": MEMORY_SEMANTIC,
    "scope": MEMORY_SCOPE,
    "precision": INPUT_PRECISION,
    "a_type": SCALED_ELEMENT,
    "b_type": SCALED_ELEMENT,
}
_COMMENT_COLUMN = 96


def disassemble(program: Program) -> str:
    """The whole program, its targets as line numbers. A file of the kernel is named once, then by its last part."""
    names = _short_names(program)
    lines = [
        f"program {program.name} for {program.machine}: {program.lanes} lanes, "
        f"{program.scratchpad} bytes a lane, {program.uniform} uniform bytes, {program.registers} registers",
        f"arguments {', '.join(program.arguments) or 'none'}",
    ]
    lines += [f"{name} is {_from_here(file)}" for file, name in names.items() if name != _from_here(file)]
    lines += [f"combiner {number}: {text}" for number, text in enumerate(map(_combiner(program), program.combiners))]
    targets = {target for instruction in program.instructions for target in _targets(instruction)}
    for pc in range(len(program.instructions)):
        if pc in targets:
            lines.append(f"@{pc}:")
        lines.append(_line(program, pc, names))
    return "\n".join(lines) + "\n"


def instruction_text(program: Program, pc: int) -> str:
    """One instruction without its comment: `r3:i32 = scalar arith.addi r1:i32, 4:i32`."""
    return _instruction(program, program.instructions[pc])


def _short_names(program: Program) -> dict[str, str]:
    """The last part of each file's path, for those that share it with no other."""
    files = dict.fromkeys(origin.where.file for origin in program.origins if origin and origin.where)
    shared = Counter(Path(file).name for file in files)
    return {file: Path(file).name if shared[Path(file).name] == 1 else _from_here(file) for file in files}


def _from_here(file: str) -> str:
    """Relative to the working directory where the file is below it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def _line(program: Program, pc: int, names: Mapping[str, str]) -> str:
    origin = program.origins[pc] if pc < len(program.origins) else None
    text = f"{pc:5}  {instruction_text(program, pc)}"
    if origin is None:
        return text
    where = origin.where and replace(origin.where, file=names[origin.where.file])
    place = "" if where is None else f"{where}  "
    return f"{text:<{_COMMENT_COLUMN}} ; {place}{origin.op}"


def _targets(instruction: Instruction) -> tuple[int, ...]:
    return instruction.immediates if instruction.opcode in ("jump", "branch") else ()


def _instruction(program: Program, instruction: Instruction) -> str:
    results = ", ".join(map(_operand, instruction.results))
    front = f"{results} = " if results else ""
    return f"{front}{instruction.opcode}{_details(program, instruction)}"


def _details(program: Program, instruction: Instruction) -> str:
    if instruction.opcode in ("dma_load", "dma_store"):
        try:
            return _transfer(instruction)
        except (ValueError, TypeError):
            pass  # a transfer whose operands do not fit is shown as it stands
    opcode = OPCODES.get(instruction.opcode)
    names = opcode.immediates if opcode and len(opcode.immediates) == len(instruction.immediates) else ()
    words, rest = [], []
    for name, value in zip(names, instruction.immediates, strict=False):
        (rest if name in ("combiner",) or name not in _FIRST else words).append(_immediate(program, name, value))
    if not names:
        rest = [str(value) for value in instruction.immediates]
    operands = ", ".join("-" if operand is None else _operand(operand) for operand in instruction.operands)
    parts = [*words, operands, *rest]
    return "".join(f" {part}" for part in parts if part)


_FIRST = ("function", "kind")


def _immediate(program: Program, name: str, value: int) -> str:
    if name == "function":
        return _function(program, value)
    if name in ("text", "constraints"):
        return f"{name}={program.texts[value]!r}" if 0 <= value < len(program.texts) else f"{name}={value}"
    if name == "target":
        return f"@{value}"
    if name in _KEYWORDS:
        keyword = _KEYWORDS[name].keywords.get(value, str(value))
        return keyword if name == "kind" else f"{name}={keyword}"
    return f"{name}={value}"


def _function(program: Program, number: int) -> str:
    if not 0 <= number < len(program.functions):
        return f"function {number} (unknown)"
    function: Function = program.functions[number]
    attributes = " ".join(f"{name}={value}" for name, value in function.attributes)
    return f"{function.name}{{{attributes}}}" if attributes else function.name


def _transfer(instruction: Instruction) -> str:
    transfer = transfer_of(instruction)
    value = f" {_operand(transfer.tile)}" if instruction.opcode == "dma_store" else ""
    words = [f"{value} tag={transfer.tag} [{_operand(transfer.base)}]"]
    words.append("strides (" + ", ".join(map(_operand, transfer.strides)) + ")")
    words += _bounds("lower", transfer.lower)
    words += _bounds("upper", transfer.upper)
    wraps = zip(transfer.wrap_starts, transfer.wrap_sizes, strict=True)
    words += [
        f"wrap{axis} {_operand(start)} mod {_operand(size)}"
        for axis, (start, size) in enumerate(wraps)
        if start is not None and size is not None
    ]
    words += [f"{name} {_operand(one)}" for name, one in (("mask", transfer.mask), ("other", transfer.other)) if one]
    return " ".join((*words, *(("volatile",) if transfer.volatile else ())))


def _bounds(name: str, bounds: Sequence[Operand | None]) -> Iterator[str]:
    for axis, bound in enumerate(bounds):
        if bound is not None:
            yield f"{name}{axis} {_operand(bound)}"


def _combiner(program: Program):
    def text(combiner: Combiner) -> str:
        lines = [_instruction(program, instruction) for instruction in combiner.instructions]
        results = ", ".join(map(_operand, combiner.results))
        return f"({', '.join(combiner.arguments)}) {'; '.join(lines)}{'; ' if lines else ''}give {results}"

    return text


def _operand(operand: Operand) -> str:
    if isinstance(operand, Register):
        return f"r{operand.number}:{operand.element}"
    if isinstance(operand, Formal):
        return f"%{operand.number}:{operand.element}"
    if isinstance(operand, Constant):
        return f"{_constant(operand)}:{operand.element}"
    return _tile(operand)


def _constant(constant: Constant) -> str:
    try:
        return str(np.frombuffer(constant.bits, numpy_dtype(constant.element))[0])
    except (ValueError, IndexError, HarnessError):
        return f"0x{constant.bits[::-1].hex()}"


def _tile(tile: Tile) -> str:
    """`f32[8, 128*]@0x40`: the lane axis is starred, strides are told where they are not those of the dense tile."""
    axes = ", ".join(f"{extent}{'*' if axis == tile.lane_axis else ''}" for axis, extent in enumerate(tile.extents))
    space = "u" if tile.lane_axis is None else ""
    strides = f"/{','.join(map(str, tile.strides))}" if tile.strides else ""
    return f"{tile.element}[{axes}]@{space}{tile.address:#x}{strides}"
