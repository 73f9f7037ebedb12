"""From the live arguments of a launch to the parameters of the compiled function.

The JIT hands over every argument of the Python function. The compiled function has none for constexprs
(which include None and integers specialised to 1), one per leaf of a tuple, and for a host-side tensor
descriptor the descriptor, its shape and its strides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import Refusal, UsageError
from harness.executor.api import Argument, DescriptorArgument, PointerArgument
from harness.executor.memory import Allocation, Memory

if TYPE_CHECKING:
    import torch

CONSTEXPR = "constexpr"


def bind_arguments(signature: Mapping[str, Any], values: Sequence[Any], memory: Memory) -> list[Argument]:
    """The function's parameters for `values`, given the JIT's `signature` (types by parameter name).

    Tensors that no allocation of `memory` holds are added to it. Raises UsageError for an argument the
    simulated NPU cannot see, Refusal for a descriptor it cannot honour.
    """
    bound: list[Argument] = []
    for (name, kind), value in zip(signature.items(), values, strict=True):
        _bind(name, kind, value, memory, bound)
    return bound


def _bind(name: str, kind: Any, value: Any, memory: Memory, bound: list[Argument]) -> None:
    if isinstance(kind, tuple):
        for index, (inner, item) in enumerate(zip(kind, value, strict=True)):
            _bind(f"{name}[{index}]", inner, item, memory, bound)
        return
    if kind == CONSTEXPR:
        return
    if kind.startswith("tensordesc"):
        _bind_descriptor(name, value, memory, bound)
        return
    bound.append(pointer_to(name, value, memory) if kind.startswith("*") else value)


def _bind_descriptor(name: str, value: Any, memory: Memory, bound: list[Argument]) -> None:
    if getattr(value, "round_f32_to_tf32", False):
        raise Refusal(f"argument {name!r} is a tensor descriptor that rounds to tf32, which the simulated NPU cannot")
    shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
    base = pointer_to(name, value.base, memory)
    bound.append(DescriptorArgument(base, shape, strides, value.padding))
    bound.extend(shape)
    bound.extend(strides)


def pointer_to(name: str, value: Any, memory: Memory) -> PointerArgument:
    """A pointer to a tensor's first element, inside an allocation of the tensor's whole storage."""
    address = value.data_ptr()
    allocation = memory.find(address)
    if allocation is None:
        allocation = _register(name, getattr(value, "base", value), memory)
    return PointerArgument(allocation, address - allocation.address)


def _register(name: str, tensor: Any, memory: Memory) -> Allocation:
    if not hasattr(tensor, "untyped_storage"):
        raise UsageError(f"argument {name!r} is a {type(tensor).__name__}, not a torch tensor: its bounds are unknown")
    if tensor.device.type != "cpu":
        raise UsageError(f"argument {name!r} lives on {tensor.device}; the simulated NPU runs on CPU tensors")
    if tensor.numel() == 0:
        # Nothing to point at: any access is outside it, and it must not shadow a neighbour's memory.
        return Allocation(name, np.empty(0, np.uint8), tensor.data_ptr(), tensor.element_size())
    storage = storage_bytes(tensor)
    return memory.add(Allocation(name, storage, int(storage.ctypes.data), tensor.element_size()))


def storage_bytes(tensor: torch.Tensor) -> np.ndarray:
    """The whole storage of a CPU tensor as 1-D uint8, sharing its memory."""
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy()
