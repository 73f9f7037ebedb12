"""How long a machine program takes: cycles, busy engines, roofline, and a trace; never its values."""

from harness.npu.timing.core import NeedsProfile
from harness.npu.timing.result import Timing, time_program, timing_table
from harness.npu.timing.trace import trace_of, write_trace
from harness.npu.timing.work import Profile

__all__ = ["NeedsProfile", "Profile", "Timing", "time_program", "timing_table", "trace_of", "write_trace"]
