"""The out-of-tree Triton backend `npu`, found through the entry-point group `triton.backends`.

Triton imports `.compiler` and `.driver` and wants exactly one subclass of its base class in each. Both
are imported while `triton` itself is being imported, so neither may import `triton.language`, the JIT or
torch at its top.
"""

# Whoever imports one of the two before `triton` would otherwise meet it half made: Triton imports both.
import triton  # noqa: F401
