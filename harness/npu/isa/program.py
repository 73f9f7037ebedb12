"""What a machine program is made of: the decoded form that the encoder writes and the simulators run.

A program is a list of instructions over four kinds of operands: scalar registers, tiles (access patterns of
scratchpad bytes), constants of the pool, and, inside the combiner of a fold or scan, its formals.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.cases.location import SourceLocation


@dataclass(frozen=True)
class Tile:
    """An access pattern of scratchpad bytes.

    address    bytes from the start of each lane's scratchpad (of the uniform scratchpad where `lane_axis` is None)
    element    as Triton spells it: "f32", "bf16", "i1" (a byte each), "ptr" (8 bytes), ...
    extents    of the tile as the ops see it, each a power of two
    strides    per axis, in elements at one lane (0 repeats). On the lane axis it is the step from one run of
               `lanes` indices to the next
    lane_axis  the axis spread over the lanes: index i is in lane i % lanes; None: in the uniform scratchpad

    The address is a multiple of the element's size. Strides are not negative. Where the runs of the lane axis adjoin
    (its stride is 1) the simulators see one axis; any other stride is as right, and slower to simulate.
    """

    address: int
    element: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    lane_axis: int | None


@dataclass(frozen=True)
class Register:
    """A 64-bit scalar register, read and written as `element`."""

    number: int
    element: str


@dataclass(frozen=True)
class Constant:
    """An entry of the program's constant pool: one element, its bits little-endian."""

    bits: bytes
    element: str


@dataclass(frozen=True)
class Formal:
    """Inside a combiner: its n-th value. The first ones are its arguments, each scalar instruction defines the next."""

    number: int
    element: str


Operand = Tile | Register | Constant | Formal


@dataclass(frozen=True)
class Function:
    """What a scalar or vector instruction computes: an elementwise op of `harness.semantics`, by its name, its
    attributes and the element types it takes and gives.

    Attributes are what `harness.semantics` expects: keywords ("slt", "rtne") and numbers. Pointers have four more:
    "tt.addptr" (pointer, index; attribute "size": bytes of the pointee), "tt.ptr_to_int", "tt.int_to_ptr", and
    "tt.bitcast" from "ptr" to "ptr". A pointer holds the number of its buffer in its upper 16 bits, which
    "tt.ptr_to_int" takes off.
    """

    name: str
    attributes: tuple[tuple[str, str | int | bool], ...]
    operands: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """One instruction. `immediates` are named by the opcode's format (see `opcodes`): whole numbers only.

    absent operands of an optional place are None.
    """

    opcode: str
    results: tuple[Operand, ...] = ()
    operands: tuple[Operand | None, ...] = ()
    immediates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Combiner:
    """The region of a fold or scan: element types of its arguments (left ones, then right ones), instructions
    over formals (opcode "scalar", with a function immediate, or "assert", with a text), and the formals it gives
    back."""

    arguments: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[Operand, ...]


@dataclass(frozen=True)
class Origin:
    """Where an instruction comes from: the IR op it lowers and the kernel's line."""

    op: str
    where: SourceLocation | None


@dataclass
class Program:
    """A machine program.

    arguments   element type of each kernel argument, loaded into registers by `argument`
    functions, combiners, texts   what immediates index
    origins     per instruction
    source      the TTIR it was lowered from, for whoever looks into a run; nothing executes it
    scratchpad, uniform   bytes that the program uses, per lane and altogether
    registers   scalar registers that it uses
    """

    name: str
    machine: str
    lanes: int
    arguments: tuple[str, ...] = ()
    functions: list[Function] = field(default_factory=list)
    combiners: list[Combiner] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    scratchpad: int = 0
    uniform: int = 0
    registers: int = 0
    source: str = ""
