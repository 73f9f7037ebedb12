"""A launch run once more, by the IR executor over copies of its inputs: a golden where no node of the graph is one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.executor.api import Argument, DescriptorArgument, PointerArgument
from harness.executor.memory import Allocation, Memory

if TYPE_CHECKING:
    import torch

    from harness.npu.loader import LoadedKernel
    from harness.npu.session import LaunchRequest


@dataclass
class Differential:
    """Executes launches over copies of memory. `copies` holds what each left behind, until `forget`.

    Only for launches on a machine: the executor is no check of itself.
    """

    copies: list[Allocation] = field(default_factory=list)
    _plans: dict[tuple[str, str], Any] = field(default_factory=dict)

    def before_launch(self, request: LaunchRequest) -> None:
        """Runs the launch over a copy of memory. Raises what the executor raises."""
        from harness.executor import launch

        kernel = request.kernel
        if kernel.machine is None:
            return
        copies = {id(one): replace(one, bytes=one.bytes.copy()) for one in request.memory.allocations}
        own = Memory()
        for copy in copies.values():
            own.add(copy)
        launch(self._plan(kernel), request.grid, [_moved(one, copies) for one in request.arguments], own)
        self.copies = list(copies.values())

    def content_of(self, tensor: torch.Tensor) -> np.ndarray | None:
        """What the executor left where the tensor lies, contiguous, in its shape and dtype; None where it ran
        nothing there."""
        from harness.cases.dtypes import dtype_of

        size = tensor.element_size()
        for copy in self.copies:
            offset = tensor.data_ptr() - copy.address
            reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) * size + size
            if offset < 0 or offset + reach > copy.bytes.size:
                continue
            strides = (*(s * size for s in tensor.stride()), 1)
            seen = np.lib.stride_tricks.as_strided(copy.bytes[offset:], (*tensor.shape, size), strides)
            raw = np.ascontiguousarray(seen).reshape(-1)
            return raw.view(dtype_of(tensor.dtype).numpy).reshape(tuple(tensor.shape))
        return None

    def forget(self) -> None:
        self.copies = []

    def _plan(self, kernel: LoadedKernel) -> Any:
        """Compiled without native code, which is the part of the executor that a machine's simulator shares most."""
        from harness.executor import compile_module
        from harness.ir import parse_module

        key = kernel.name, kernel.text
        if key not in self._plans:
            self._plans[key] = compile_module(parse_module(kernel.text, kernel.name), kernel.name, native=False)
        return self._plans[key]


def _moved(argument: Argument, copies: dict[int, Allocation]) -> Argument:
    if isinstance(argument, DescriptorArgument):
        base = _moved(argument.base, copies)
        assert isinstance(base, PointerArgument)
        return replace(argument, base=base)
    if not isinstance(argument, PointerArgument):
        return argument
    allocation = copies.get(id(argument.allocation))
    return argument if allocation is None else replace(argument, allocation=allocation)


def terms_between(inputs: Sequence[int], output: int, is_product: bool) -> int:
    """How many terms are added into one element, from the numbers of elements that are read and written: no node of
    the graph says it. A reduction reads that many for each; (M, K) times (K, N) is M K, K N and M N elements."""
    reductions = [size // max(1, output) for size in inputs]
    pairs = itertools.combinations(inputs, 2) if is_product else ()
    products = [math.isqrt(left * right // max(1, output)) for left, right in pairs]
    return max([1, *reductions, *products])
