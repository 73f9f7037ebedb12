"""What a model returns, run by torch on the host: in float64, and in its own dtype for how far that is from it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.dtypes import as_dtype
from harness.cases.evidence import BufferEvidence
from harness.cases.model_case import ModelCase
from harness.errors import CaseError, HarnessError, ReferenceFailed, is_out_of_memory
from harness.goldens import Operation
from harness.models.beside import Beside, can_fork
from harness.models.judge import OWN, Claim, judge, largest_finite
from harness.models.tensors import buffer_of, content_of

if TYPE_CHECKING:
    import torch

_SEED = 0
_AFTERWARDS = " afterwards"
Results = dict[str, "torch.Tensor"]


class _LooksAtBits(Exception):
    """The module takes a float for an integer, or back: in float64 it would compute something else."""


@dataclass
class References:
    """results  by name, in float64
    missing  why there are none
    """

    case: ModelCase
    results: Mapping[str, torch.Tensor]
    missing: str = ""
    _own: Mapping[str, torch.Tensor] | None = None

    def own(self, name: str) -> torch.Tensor:
        """The same in the model's own dtype: a run more, made when it is first asked for."""
        if self._own is None:
            subject = Subject.of(self.case, self.case.dtype)
            self._own = subject.results(self.case, subject.module)
        return self._own[name] if name in self._own else self._unchanged({name}, self.case.dtype)[name]

    def compare(self, got: Results) -> list[BufferEvidence]:
        """Every result of the compiled model with torch's. A result that only one of them has is a mistake of the
        harness: raises AssertionError."""
        got = {**self._unchanged(self.results.keys() - got.keys(), self.case.dtype), **got}
        wanted = {**self._unchanged(got.keys() - self.results.keys(), "fp64"), **self.results}
        scale = max(largest_finite(np.abs(content_of(one))) for one in wanted.values())
        return [self._compared(name, tensor, wanted[name], scale) for name, tensor in got.items()]

    def _unchanged(self, names: Set[str], dtype: str | None) -> Results:
        """What one of the runs has changed and the other has not."""
        before = Subject.of(self.case, dtype).state
        strangers = [name for name in names if name.removesuffix(_AFTERWARDS) not in before]
        assert not strangers, strangers
        return {name: before[name.removesuffix(_AFTERWARDS)].detach() for name in sorted(names)}

    def _compared(self, name: str, tensor: torch.Tensor, golden: torch.Tensor, scale: float) -> BufferEvidence:
        claim = Claim(
            name,
            "out",
            golden,
            Operation("transcendental"),
            again=lambda how: self.own(name),
            precisions=(OWN,),
            tolerance=self.case.tolerance,
            scale=scale,
        )
        return judge(claim, buffer_of(tensor), content_of(tensor)).evidence


def references_of(case: ModelCase) -> References:
    """Runs the module on the host. Raises ReferenceFailed where it raises; an allocation's failure as it is."""
    wide = Subject.of(case, "fp64")
    try:
        results = wide.results(case, wide.module, _everything_in_float64)
    except _LooksAtBits:
        return References(case, {}, "the module looks at the bits of floats, which float64 has others of")
    except Exception as error:
        if isinstance(error, HarnessError) or is_out_of_memory(error):
            raise
        raise ReferenceFailed(f"torch alone cannot run the module: {type(error).__name__}: {error}") from error
    if not results:
        raise CaseError("the module returns no tensor and changes none: there is nothing to compare")
    return References(case, results)


@contextmanager
def references_meanwhile(case: ModelCase, beside: bool) -> Iterator[Callable[[Callable[[str], None]], References]]:
    """What gives `references_of` the case when it is called with who hears of stages; it then raises what that does.

    beside  a copy of this process runs the module meanwhile, if there can be one; else it has run when the block begins
    """
    if not beside or not can_fork():
        known = references_of(case)
        yield lambda enter: known
        return
    import torch._dynamo  # noqa: F401 - the copy needs it, and this process will

    def made() -> tuple[Mapping[str, torch.Tensor], str]:
        references = references_of(case)
        return references.results, references.missing

    with closing(Beside(made)) as run:
        yield lambda enter: References(case, *run.result(lambda: enter("reference")))


@dataclass
class Subject:
    """A module and its arguments, copied, so that a run can change them."""

    module: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    kwargs: dict[str, Any]

    @classmethod
    def of(cls, case: ModelCase, dtype: str | None) -> Subject:
        """The case's module and inputs, their floats converted to `dtype`; None leaves them as they are."""
        module: Any = copy.deepcopy(case.module) if hasattr(case.module, "parameters") else case.module
        if dtype is not None and hasattr(module, "parameters"):
            module = module.to(as_dtype(dtype).torch)
        calls = [tuple(_copied(list(call), dtype)) for call in case.calls]
        return cls(module, calls, _copied(dict(case.kwargs), dtype))

    def results(
        self, case: ModelCase, run: Callable[..., Any], inside: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Results:
        """Calls `run`, which is the module or its compiled form, for every call of the case, and backward where the
        case trains, each `inside` a context. Gives outputs, gradients, and what was changed in place, by name."""
        import torch

        torch.manual_seed(_SEED)
        found: Results = {}
        before = {name: tensor.detach().clone() for name, tensor in self.state.items()}
        for number, arguments in enumerate(self.calls):
            label = f"output of call {number + 1}" if len(self.calls) > 1 else "output"
            with inside(), torch.set_grad_enabled(case.train):
                returned = run(*arguments, **self.kwargs)
            found.update({name: tensor.detach() for name, tensor in _tensors(label, returned)})
            if case.train:
                with inside():
                    _loss(case, returned).backward()
        state = self.state
        gradients = {f"gradient of {name}": tensor.grad for name, tensor in state.items() if tensor.is_leaf}
        found.update({name: grad for name, grad in gradients.items() if grad is not None})
        changed = {name for name, tensor in state.items() if not _same(before[name], tensor)}
        found.update({f"{name}{_AFTERWARDS}": state[name].detach() for name in sorted(changed)})
        return found

    @property
    def state(self) -> Results:
        """Parameters, buffers and inputs by name."""
        state: Results = {}
        if hasattr(self.module, "parameters"):
            module: Any = self.module
            state.update(module.named_parameters())
            state.update(module.named_buffers())
        for number, call in enumerate(self.calls):
            label = f"input of call {number + 1}" if len(self.calls) > 1 else "input"
            state.update(_tensors(label, call))
        state.update(_tensors("keyword", self.kwargs))
        return state


def _loss(case: ModelCase, returned: Any) -> torch.Tensor:
    if case.loss is not None:
        return case.loss(returned)
    total: Any = 0.0
    for _, tensor in _tensors("output", returned):
        if tensor.requires_grad:
            total = total + (tensor * _weights(tensor.shape).to(tensor.dtype)).sum()
    return total


def _weights(shape: torch.Size) -> torch.Tensor:
    """The same numbers whatever the dtype of the run; in bf16 and fp16 without rounding. A scalar is a loss already."""
    import torch

    if not shape:
        return torch.ones(())
    return torch.from_numpy(np.random.default_rng(_SEED).integers(-16, 17, tuple(shape)) / 16.0)


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Bit for bit, NaNs included."""
    return bool((content_of(left).reshape(-1).view("uint8") == content_of(right).reshape(-1).view("uint8")).all())


def _tensors(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    """Tensors in nested tuples, lists, dicts and dataclasses, by a name that says where."""
    import torch

    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, Mapping):
        return [one for key, item in value.items() for one in _tensors(f"{name}[{key!r}]", item)]
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            return _tensors(name, value[0])
        return [one for key, item in enumerate(value) for one in _tensors(f"{name}[{key}]", item)]
    if hasattr(value, "__dataclass_fields__"):
        return [one for key in value.__dataclass_fields__ for one in _tensors(f"{name}.{key}", getattr(value, key))]
    return []


def _copied(value: Any, dtype: str | None) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        converted = value.detach().clone()
        if dtype is not None and value.is_floating_point():
            converted = converted.to(as_dtype(dtype).torch)
        return converted.requires_grad_(value.requires_grad)
    if isinstance(value, Mapping):
        return {key: _copied(item, dtype) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_copied(item, dtype) for item in value)
    return copy.deepcopy(value)


@contextmanager
def _everything_in_float64() -> Iterator[None]:
    """Inside the block torch makes float64 where a module asks for a narrower float by name, such as `x.float()`, or
    names none, as in `torch.zeros(3)`. Raises _LooksAtBits where it views floats as other numbers."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    def wide(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value

    class Float64(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten.view.dtype and (args[0].is_floating_point() or args[1].is_floating_point):
                raise _LooksAtBits
            arguments: Any = tree_map(wide, args)
            return func(*arguments, **tree_map(wide, kwargs or {}))

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Float64():
            yield
    finally:
        torch.set_default_dtype(default)
