"""The allowlist and the gate.

gate = Gate.load("allowlist.txt")                       # UsageError with FILE:LINE
scope = Scope(collected=frozenset(ids), selected=frozenset(ids_left), whole=no_path_given,
              targets=frozenset({"npu"}))
result = gate.check(verdicts, scope, strict=False)      # GateResult; exit non-zero unless is_green
"""

from harness.gate.allowlist import Entry, KnownFailure
from harness.gate.edit import allow, check_node_id, covering_entries, disallow, nearest
from harness.gate.gate import PROBLEM_KINDS, Gate, GateResult, Problem, Scope

__all__ = [
    "PROBLEM_KINDS",
    "Entry",
    "Gate",
    "GateResult",
    "KnownFailure",
    "Problem",
    "Scope",
    "allow",
    "check_node_id",
    "covering_entries",
    "disallow",
    "nearest",
]
