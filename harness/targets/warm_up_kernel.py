"""The kernel that a warm-up compiles: a bit of everything that most kernels have. It is never launched."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

_TYPES = {"out": "*fp32", "x": "*fp16", "n": "i32", "BLOCK": "constexpr"}


@triton.jit
def warm_up_kernel(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + at + start, mask=inside, other=0.0).to(tl.float32)
    most = tl.max(total, axis=0)
    tl.store(out + at, tl.where(inside, tl.exp(total - most), 0.0), mask=inside)


def compiled_for(machine: str) -> Any:
    """The kernel, as Triton compiles it for a machine of the simulated NPU."""
    source = ASTSource(warm_up_kernel, _TYPES, {(3,): 64})
    return triton.compile(source, target=GPUTarget("npu", machine, 32))
