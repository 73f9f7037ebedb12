"""The functional simulator: executes machine programs on scratchpad bytes and DRAM, many programs at a time.

`load_program` resolves a decoded program once; `simulate` runs it over a grid.
"""

from harness.npu.simulator.executable import Executable, load_program
from harness.npu.simulator.launch import Observer, simulate

__all__ = ["Executable", "Observer", "load_program", "simulate"]
