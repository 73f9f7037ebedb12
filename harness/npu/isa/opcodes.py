"""The instruction set: every opcode with its number, its engine and what it takes.

`docs/npu.md` is its manual. Numbers never change meaning; a new opcode takes the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Engine(Enum):
    """What executes an instruction; the engines run side by side under the program's dependencies."""

    SCALAR = "scalar"
    VECTOR = "vector"
    SPECIAL = "special"
    MATRIX = "matrix"
    DMA_IN = "dma in"
    DMA_OUT = "dma out"


@dataclass(frozen=True)
class Opcode:
    """number     in the binary
    engine     SPECIAL is chosen by the function of a vector instruction, not here
    results, operands   the names of the places, in order; "x?" may be absent, "x*" is any number of them
    immediates names of whole numbers; `_` of opcodes means the index into the table of that name
    """

    name: str
    number: int
    engine: Engine
    results: tuple[str, ...]
    operands: tuple[str, ...]
    immediates: tuple[str, ...] = ()


_S, _V, _M, _IN, _OUT = Engine.SCALAR, Engine.VECTOR, Engine.MATRIX, Engine.DMA_IN, Engine.DMA_OUT

# A DMA descriptor: per axis of the tile a stride (in elements), a first and a past-the-end index that are
# transferred, and for axes that wrap around a start and a size; then a mask and a fill.
_DESCRIPTOR = ("base", "strides*", "lower*", "upper*", "wrap_starts*", "wrap_sizes*", "mask?")
# Which axes have a bound or wrap around, a bit each.
_AXES = ("lower_axes", "upper_axes", "wrap_axes")

_TABLE = (
    # control
    Opcode("halt", 0, _S, (), ()),
    Opcode("jump", 1, _S, (), (), ("target",)),
    Opcode("branch", 2, _S, (), ("condition",), ("target",)),  # taken where the condition is not zero
    Opcode("assert", 3, _S, (), ("condition",), ("text",)),  # a register, or a tile
    Opcode("print", 4, _S, (), ("values*",), ("text", "hex", "unsigned")),  # unsigned: a bit for each value
    Opcode("wait", 5, _S, (), (), ("tag",)),  # until the transfer started last with this tag has ended
    # scalars
    # Of a tensor descriptor part 0 is its base, part 1 whether it pads with NaN (i1). Other arguments have part 0.
    Opcode("argument", 16, _S, ("value",), (), ("index", "part")),
    Opcode("program_id", 17, _S, ("value",), (), ("axis",)),
    Opcode("num_programs", 18, _S, ("value",), (), ("axis",)),
    Opcode("scalar", 19, _S, ("value",), ("operands*",), ("function",)),
    Opcode("scalar_load", 20, _IN, ("value",), ("pointer", "mask?", "other?"), ("volatile",)),
    Opcode("scalar_store", 21, _OUT, (), ("pointer", "value", "mask?")),
    Opcode("extract", 22, _S, ("value",), ("tile",)),  # the one element of a tile of one element
    # Whether the buffers of two arguments have no byte in common (i1).
    Opcode("apart", 23, _S, ("value",), (), ("first", "second")),
    # tiles
    Opcode("vector", 32, _V, ("tile",), ("operands*",), ("function",)),
    Opcode("copy", 33, _V, ("tile",), ("source",)),  # same placement; a register or constant is spread
    Opcode("iota", 34, _V, ("tile",), (), ("start", "axis")),
    Opcode("relayout", 35, _V, ("tile",), ("source",)),  # keeps the row-major order of the elements
    Opcode("fold", 36, _V, ("tiles*",), ("sources*",), ("axis", "combiner")),
    Opcode("scan", 37, _V, ("tiles*",), ("sources*",), ("axis", "combiner", "reverse")),
    Opcode("lookup", 38, _V, ("tile",), ("source", "indices"), ("axis",)),  # tt.gather
    Opcode("histogram", 39, _V, ("tile",), ("source", "mask?")),
    Opcode("map", 40, _V, ("tiles*",), ("sources*",), ("combiner", "pack")),  # tt.map_elementwise
    Opcode("inline_assembly", 41, _V, ("tiles*",), ("sources*",), ("text", "constraints", "pack")),
    Opcode("matmul", 48, _M, ("accumulator",), ("a", "b", "c"), ("precision", "imprecise")),
    Opcode(
        "matmul_scaled",
        49,
        _M,
        ("accumulator",),
        ("a", "a_scale?", "b", "b_scale?", "c"),
        ("a_type", "b_type", "fast_math", "a_k_pack", "b_k_pack"),
    ),
    # transfers; `tag` names what a wait waits for
    Opcode("dma_load", 64, _IN, ("tile",), (*_DESCRIPTOR, "other?"), ("tag", *_AXES, "volatile")),
    Opcode("dma_store", 65, _OUT, (), ("value", *_DESCRIPTOR), ("tag", *_AXES)),
    Opcode("dma_gather", 66, _IN, ("tile",), ("pointers", "mask?", "other?"), ("tag", "volatile")),
    Opcode("dma_scatter", 67, _OUT, (), ("pointers", "value", "mask?"), ("tag",)),
    # read-modify-write of DRAM, done when issued; pointer, value and result are registers or tiles
    Opcode("atomic", 68, _OUT, ("old?",), ("pointer", "value", "mask?"), ("kind", "order", "scope")),
    Opcode("compare_and_swap", 69, _OUT, ("old?",), ("pointer", "expected", "value"), ("order", "scope")),
)

OPCODES: dict[str, Opcode] = {opcode.name: opcode for opcode in _TABLE}
