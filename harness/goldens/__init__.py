"""Expected buffers: made by the case's reference, compared with what the kernel left behind.

    allocated = allocate(case, node_id)               # harness.cases.allocate; device="cuda" for a GPU
    goldens = run_reference(case, allocated, where)   # before the first launch: it reads the same buffers
    before = allocated.snapshot()
    for launch in case.launches:
        arguments = allocated.arguments(launch)       # torch tensors in place of Buffers
        ...                                           # run it
    comparison = compare(case, allocated, goldens, roles, before)
    comparison.buffers   # list[BufferEvidence], one for every buffer name
    comparison.findings  # list[Finding]: "input-changed", "wrote-outside"

`roles` says what the launches were measured to do with each buffer name ("in", "out", "inout",
"unused"); a name it lacks is judged by whether its bytes changed. For the executor,
`allocated.storages` has what an Allocation needs: `name`, `bytes`, `address`, `root.dtype.itemsize`,
`inside`, `initialised()`; `allocated.buffers[name]` has `storage` and `byte_offset`.
`writers(storage_name, byte_offsets)` may be given to `compare`: it returns the program ids that
wrote those bytes. `operation` narrows the tolerance to what the kernel does; see `tolerance.Operation`.
"""

from harness.goldens.compare import Comparison, Writers, compare, compare_values
from harness.goldens.reference import run_reference
from harness.goldens.tolerance import Operation

__all__ = ["Comparison", "Operation", "Writers", "compare", "compare_values", "run_reference"]
