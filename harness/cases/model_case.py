"""A model case: a torch module or function, its inputs, and whether it is trained.

@case(dtype=["fp32", "bf16"], size=["tiny"])
def mlp(dtype, size):
    width = {"tiny": 64, "full": 4096}[size]
    model = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))
    return ModelCase(model, inputs=(torch.randn(8, width),), dtype=dtype, train=True)

torch's generator is seeded with the case's own name before the function is called: weights and inputs that torch makes
are the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.cases.dtypes import as_dtype
from harness.cases.tolerance import Tolerance
from harness.errors import CaseError

if TYPE_CHECKING:
    import torch

_FLOATS = ("fp32", "bf16", "fp16")


@dataclass(frozen=True)
class ModelCase:
    """One model, ready to compile and run.

    module     an nn.Module, or a function of its inputs; what it computes depends on nothing else
    inputs     positional arguments: tensors, numbers, or nested tuples, lists and dicts of them
    kwargs     keyword arguments, likewise
    dtype      "fp32", "bf16" or "fp16": the module's floats, and those of the inputs, are converted to it; None
               leaves them as they are
    train      also run backward, and compare the gradient of every parameter, and of every input that asks for one
    loss       called with what the module returns; gives the scalar whose backward runs. Without it the returned
               tensors are weighted with fixed random numbers and summed
    then       further calls of the module, after the first: their positional arguments (the steps of a decoder)
    dynamic    compile once for any size: torch.compile(dynamic=True). `then` shows it with other sizes
    tolerance  of the module's results and gradients, wider than the measured one, with its reason
    keep_going go on after a buffer that differs (as --keep-going does)
    """

    module: Callable[..., Any]
    inputs: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dtype: str | None = None
    train: bool = False
    loss: Callable[[Any], torch.Tensor] | None = None
    then: Sequence[Sequence[Any]] = ()
    dynamic: bool = False
    tolerance: Tolerance | None = None
    keep_going: bool = False

    def __post_init__(self) -> None:
        if not callable(self.module):
            raise CaseError(f"module={self.module!r} must be an nn.Module or a function", about="module")
        if not isinstance(self.inputs, (tuple, list)):
            hint = "inputs=(x,) is one tensor"
            raise CaseError("inputs must be a tuple of the module's arguments", hint=hint, about="inputs")
        if self.dtype is not None and as_dtype(self.dtype).name not in _FLOATS:
            raise CaseError(f"dtype={self.dtype!r} must be one of {', '.join(_FLOATS)}, or None", about="dtype")
        if self.loss is not None and not self.train:
            raise CaseError("a loss without train=True is never called", about="loss")
        if any(not isinstance(one, (tuple, list)) for one in self.then):
            raise CaseError("then must be a list of tuples of the module's arguments", about="then")

    @property
    def calls(self) -> tuple[tuple[Any, ...], ...]:
        """Positional arguments of every call, in order."""
        return (tuple(self.inputs), *(tuple(one) for one in self.then))
