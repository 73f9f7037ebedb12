"""What goes into a launch of the executor and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from harness.cases.evidence import Finding
from harness.cases.location import SourceLocation
from harness.executor.memory import Allocation


@dataclass(frozen=True)
class PointerArgument:
    """A pointer to `allocation.bytes[byte_offset]`."""

    allocation: Allocation
    byte_offset: int = 0


@dataclass(frozen=True)
class DescriptorArgument:
    """A host-side tensor descriptor (`!tt.tensordesc` parameter); its block is in the parameter's type.

    shape and strides count elements; the function also takes each of them as an integer parameter
    right after the descriptor. padding is "zero" or "nan".
    """

    base: PointerArgument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str = "zero"


@dataclass(frozen=True)
class ExecutorOptions:
    """checks   "fast": bounds and assertions; "full": also uninitialised reads, writes outside the
                view and races between programs
    threads  programs of independent batches run on this many threads
    batch_elements  elements of the widest value that one batch of programs aims at
    max_steps  loop iterations of one program before the watchdog stops it
    native   whether runs of ops may be compiled to machine code (see `harness.executor.native`)
    native_elements  a launch of fewer elements is not worth compiling for
    idle_elements  nor one of fewer elements another plan, without lanes that no program uses (see `idle_lanes`)
    copies  when asynchronous copies, stores and products read and write: "earliest", where they are issued, or
            "latest", at the wait that completes them. A kernel whose result depends on it has a race
    probe    told of every value that an `npu.probe` shows: its number, the numbers of the programs (x fastest), and
             the values, (P, *extents)
    in_loop  told now and then of the line of a loop that goes on and on, so that a hang has one
    max_turns  turns that programs which wait for one another may take, all together, before one must finish
    """

    checks: Literal["fast", "full"] = "fast"
    copies: Literal["earliest", "latest"] = "earliest"
    threads: int = 1
    batch_elements: int = 1 << 18
    max_steps: int = 50_000_000
    max_turns: int = 40_000
    native: bool = True
    native_elements: int = 1 << 20
    idle_elements: int = 1 << 22
    probe: Callable[[int, np.ndarray, np.ndarray], None] | None = None
    in_loop: Callable[[SourceLocation], None] | None = None


@dataclass
class LaunchResult:
    """loads and stores name the allocations the programs touched (atomics count as both).

    writers, under full checks: per allocation, the number (x fastest) of the program that stored to each byte
    last, -1 where none did.
    returned: what the entry function returns, where it returns anything: a list of values for each batch.
    """

    programs: int
    loads: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    output: list[str] = field(default_factory=list)  # lines of tl.device_print
    writers: dict[str, np.ndarray] = field(default_factory=dict)
    returned: list[list[Any]] = field(default_factory=list)

    def report(self, finding: Finding) -> None:
        """Takes a finding, unless there is one of its kind about the buffer and the two lines already."""
        if finding.key not in {one.key for one in self.findings}:
            self.findings.append(finding)


# A loop of so many turns is told of, and again whenever it has made twice as many.
_MANY_TURNS = 1 << 12


def is_to_be_told(turns: int) -> bool:
    """Whether `ExecutorOptions.in_loop` hears of a loop now."""
    return turns & (turns - 1) == 0 and turns >= _MANY_TURNS


Argument = PointerArgument | DescriptorArgument | int | float | bool
