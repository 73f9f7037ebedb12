"""`--check-lowering`: where a machine program stops computing what the kernel's IR computes.

The IR executor runs beside the simulator, over memory of its own: first what Triton's passes left, then the module
after each pass of the lowering, and last the machine program. The first that leaves other bytes behind names the
pass. What no module shows (addresses, waits, the encoding) is told apart by lowering once more without it: every
tile at an address of its own, and transfers that happen when they start. Of the program's run, the first tile value
that differs from the executor's names the instruction.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import HarnessError, LoweringFault
from harness.executor import compile_module, launch
from harness.executor.api import Argument, DescriptorArgument, ExecutorOptions, PointerArgument
from harness.executor.memory import Allocation, Memory
from harness.ir import parse_module
from harness.npu.isa.disassembly import instruction_text
from harness.npu.lowering import PASSES, PIPELINE
from harness.npu.lowering.encode import encode_traced
from harness.npu.lowering.placement_check import misplaced
from harness.npu.probes import Difference, Probes, by_number, by_place, first_difference, is_close, with_probes
from harness.npu.simulator import load_program, simulate

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from harness.cases.location import SourceLocation
    from harness.npu.isa.program import Program
    from harness.npu.machine import Machine

Grid = tuple[int, int, int]
TTIR = "ttir"
PLACE, ALLOCATE, ENCODE = "npu-place-lanes", "npu-allocate", "npu-encode"
STORES = ("dma_store", "dma_scatter", "scalar_store", "atomic", "compare_and_swap")
# The passes after which transfers have a start and a wait.
TRANSFERS = ("npu-schedule", "npu-double-buffer")


@dataclass(frozen=True)
class Work:
    """A launch to be repeated: what was compiled, for which machine, and everything it is given."""

    name: str
    text: str
    machine: Machine
    grid: Grid
    arguments: Sequence[Argument]
    memory: Memory
    options: ExecutorOptions


@dataclass
class Outcome:
    """The bytes that a run left, by allocation, or what ended it."""

    bytes: dict[str, np.ndarray] = field(default_factory=dict)
    error: HarnessError | None = None


def check_lowering(work: Work) -> None:
    """Raises LoweringFault, which names the pass, the instruction and the first value that differs, where the
    machine's program does something else than the kernel's IR. Leaves memory as it is.

    A kernel that traps in the executor has no meaning to compare with: nothing is raised then.
    """
    wanted = _executed(work, parse_module(work.text, work.name))
    if wanted.error is not None:
        return
    program, lowered, module = _lowered(work)
    got = _simulated(work, program)
    if _agree(work, wanted, got):
        return
    culprit = _first_bad_pass(work, wanted)
    if culprit is None:
        name = PLACE if misplaced(module) is not None else _back_end_pass(work, wanted)
        difference = _difference_of_program(work, program, lowered, module)
    else:
        name = culprit.flag
        difference = _difference_of_modules(work, culprit)
    raise LoweringFault(_told(name, program, difference, got, wanted), _where(program, difference, got))


def _lowered(work: Work) -> tuple[Program, list[Operation | None], ModuleOp]:
    module = parse_module(work.text, work.name)
    for flag in PIPELINE:
        PASSES[flag](module, work.machine)
    program, lowered = encode_traced(module, work.machine, work.name, work.text)
    return program, lowered, module


# --- running -----------------------------------------------------------------------------------------------------


def _executed(work: Work, module: ModuleOp, **options: object) -> Outcome:
    plan = compile_module(module, work.name, native=False)

    def run(arguments: Sequence[Argument], memory: Memory, chosen: ExecutorOptions) -> None:
        launch(plan, work.grid, arguments, memory, chosen)

    return _outcome(work, run, options)


def _simulated(work: Work, program: Program, machine: Machine | None = None, **options: object) -> Outcome:
    def run(arguments: Sequence[Argument], memory: Memory, chosen: ExecutorOptions) -> None:
        simulate(load_program(program, machine or work.machine), work.grid, arguments, memory, chosen)

    return _outcome(work, run, options)


Run = Callable[[Sequence[Argument], Memory, ExecutorOptions], None]


def _outcome(work: Work, run: Run, options: Mapping[str, object]) -> Outcome:
    """Runs over a copy of memory."""
    memory, arguments = _copied(work)
    chosen = dataclasses.replace(work.options, checks="fast", **options)  # pyright: ignore[reportArgumentType]
    try:
        run(arguments, memory, chosen)
    except HarnessError as error:
        return Outcome(error=error)
    return Outcome({one.name: one.bytes for one in memory.allocations})


def _copied(work: Work) -> tuple[Memory, list[Argument]]:
    """The same addresses and names over bytes of their own."""
    copies = {id(one): dataclasses.replace(one, bytes=one.bytes.copy()) for one in work.memory.allocations}
    memory = Memory()
    for copy in copies.values():
        memory.add(copy)
    return memory, [_moved(argument, copies) for argument in work.arguments]


def _moved(argument: Argument, copies: dict[int, Allocation]) -> Argument:
    if isinstance(argument, DescriptorArgument):
        base = _moved(argument.base, copies)
        assert isinstance(base, PointerArgument)
        return dataclasses.replace(argument, base=base)
    if not isinstance(argument, PointerArgument):
        return argument
    allocation = copies.get(id(argument.allocation))
    return argument if allocation is None else dataclasses.replace(argument, allocation=allocation)


def _agree(work: Work, wanted: Outcome, got: Outcome) -> bool:
    """Whether both ended and left the same numbers: floats may differ by the order in which they were summed."""
    if got.error is not None:
        return False
    kinds = _stored_kinds(work)
    return all(
        is_close(got.bytes[name], want, kinds.get(name)) for name, want in wanted.bytes.items() if name in got.bytes
    )


def _stored_kinds(work: Work) -> dict[str, str]:
    """The element type that each argument's buffer is seen as, by the pointer's type in the kernel's signature."""
    from harness.executor.types import element, get, pointee
    from harness.ir.dialects.types import element_of

    module = parse_module(work.text, work.name)
    function = next(op for op in module.body.block.ops if get(op, "sym_name") == work.name)
    kinds: dict[str, str] = {}
    for value, argument in zip(function.regions[0].blocks[0].args, work.arguments, strict=True):
        if isinstance(argument, PointerArgument):
            kinds[argument.allocation.name] = element(pointee(value.type))
        elif isinstance(argument, DescriptorArgument):
            kinds[argument.base.allocation.name] = element(element_of(value.type))
    return kinds


# --- whose fault ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BadPass:
    """A pass, the module that it was given and the one that it left; `copies` is when transfers happen there."""

    flag: str
    before: ModuleOp
    after: ModuleOp
    copies: str


def _first_bad_pass(work: Work, wanted: Outcome) -> BadPass | None:
    """The first pass whose module does something else; None where every module does the same."""
    module = parse_module(work.text, work.name)
    for flag in PIPELINE:
        before = module.clone()
        PASSES[flag](module, work.machine)
        for copies in ("earliest", "latest") if flag in TRANSFERS else ("earliest",):
            if not _agree(work, wanted, _executed(work, module.clone(), copies=copies)):
                return BadPass(flag, before, module, copies)
    return None


def _back_end_pass(work: Work, wanted: Outcome) -> str:
    """Every module is right, and the program is not."""
    from harness.npu.lowering.allocation_apart import allocate_apart

    module = parse_module(work.text, work.name)
    for flag in PIPELINE:
        if flag != ALLOCATE:
            PASSES[flag](module, work.machine)
    machine = allocate_apart(module, work.machine)
    program, _ = encode_traced(module, machine, work.name, work.text)
    return ALLOCATE if _agree(work, wanted, _simulated(work, program, machine)) else ENCODE


# --- which value -----------------------------------------------------------------------------------------------------


def _difference_of_program(
    work: Work, program: Program, lowered: Sequence[Operation | None], module: ModuleOp
) -> Difference | None:
    """The first tile value of the program's run that is not the executor's, of the module it was encoded from."""
    wanted, numbers = _probed(work, module)
    known = {pc: numbers[op] for pc, op in enumerate(lowered) if op is not None and op in numbers}
    got = Probes(wanted.ops, known)
    memory, arguments = _copied(work)
    options = dataclasses.replace(work.options, checks="fast", threads=1)
    with contextlib.suppress(HarnessError):  # what was seen until then is what is looked at
        simulate(load_program(program, work.machine), work.grid, arguments, memory, options, got.of_simulator)
    return first_difference(wanted, got, by_number)


def _difference_of_modules(work: Work, culprit: BadPass) -> Difference | None:
    """The first value of the module after the pass that is another than that of the same place before it."""
    wanted, _ = _probed(work, culprit.before, copies=culprit.copies)
    got, _ = _probed(work, culprit.after, copies=culprit.copies)
    return first_difference(wanted, got, by_place)


def _probed(work: Work, module: ModuleOp, **options: object) -> tuple[Probes, dict[Operation, int]]:
    """What the executor computes of a module, and the number of each op."""
    copy, numbers = with_probes(module)
    probes = Probes({number: op for op, number in numbers.items()})
    _executed(work, copy, probe=probes.of_executor, threads=1, **options)
    return probes, numbers


def _told(culprit: str, program: Program, difference: Difference | None, got: Outcome, wanted: Outcome) -> str:
    what = f"{culprit} makes a program that does something else than the kernel's IR"
    if difference is not None:
        at = ", ".join(map(str, difference.index))
        by = "" if difference.pc is None else f" (instruction {instruction_text(program, difference.pc)})"
        what += (
            f": in program {difference.program}, [{at}] of {difference.op} is {difference.got}, "
            f"and the IR gives {difference.want}{by}"
        )
    if got.error is not None:
        return f"{what}: the program stops with: {got.error.what}"
    names = [name for name, want in wanted.bytes.items() if not np.array_equal(got.bytes.get(name, want), want)]
    return f"{what}; buffers that differ: {', '.join(names)}"


def _where(program: Program, difference: Difference | None, got: Outcome) -> SourceLocation | None:
    """Of the value, or what stopped; else of the store, where there is just one, or else of the kernel."""
    if difference is not None:
        return difference.where
    if got.error is not None and got.error.where is not None:
        return got.error.where
    places = list(zip(program.instructions, program.origins, strict=True))
    stores = {origin.where for one, origin in places if one.opcode in STORES}
    return stores.pop() if len(stores) == 1 else program.origins[0].where
