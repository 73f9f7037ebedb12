"""How a case is to be run, as asked for on the command line: the same for every case of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Checks = Literal["fast", "full"]
CHECKS: tuple[Checks, ...] = ("fast", "full")


@dataclass(frozen=True)
class RunOptions:
    """checks     "fast": bounds, assertions and goldens; "full": also uninitialised reads, writes outside
               the view, changed inputs and races
    threads    of one case; a suite gets its parallelism from running several cases at once
    processes  that may compile and compute for one case of a model beside its own; likewise none in a suite
    artifacts  folder, this case's own, for what explains a failure (kernel, IR, buffers); "" keeps nothing
    machine    name of, or path to, the description of the machine to simulate; "": the IR is executed
    check_lowering  run the IR executor beside the machine, and name the pass and the value where they part
    timing     count the machine's cycles
    trace      file for what every engine did, this case's own; "" keeps nothing
    """

    checks: Checks = "fast"
    threads: int = 1
    processes: int = 0
    artifacts: str = ""
    machine: str = ""
    check_lowering: bool = False
    timing: bool = False
    trace: str = ""
