"""Takes one launch out of a running model, with those that are judged with it, for `harness.models.case_text`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.models.checking import Launching
from harness.models.excerpt import Excerpt, excerpt_around
from harness.models.graph_run import GraphRun
from harness.models.kernel_text import kernel_functions

if TYPE_CHECKING:
    import torch

    from harness.npu.session import LaunchRequest


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel as it was given: a tensor, or a value.

    content  of a tensor, its elements as they were before the launch; None where it had just been allocated
    memory   and all the memory that it is a view of, likewise
    """

    name: str
    value: Any
    content: torch.Tensor | None = None
    memory: torch.Tensor | None = None

    @property
    def is_tensor(self) -> bool:
        return hasattr(self.value, "data_ptr")

    @property
    def layout(self) -> tuple[Any, ...]:
        tensor: torch.Tensor = self.value
        return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype

    @property
    def is_written(self) -> bool:
        """As Inductor names what its kernels write."""
        return self.content is None or self.name.startswith(("in_out_ptr", "out_ptr"))

    @property
    def span(self) -> tuple[int, int]:
        """The address of its first byte, and of the first one after it."""
        tensor: torch.Tensor = self.value
        reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) + 1
        return tensor.data_ptr(), tensor.data_ptr() + reach * tensor.element_size()


@dataclass(frozen=True)
class Piece:
    """One launch of an excerpt. `functions` are the kernel and its helpers, by name, as text: Inductor's files go."""

    request: LaunchRequest
    parameters: tuple[Parameter, ...]
    functions: Mapping[str, str]


@dataclass
class Extraction:
    """`Checker.on_launch` that takes one launch and those around it that are judged with it.

    wanted   the number of the launch, or the name of a kernel, for the first launch of it
    number   of the launch, once it is known
    missed   the excerpt had begun when the number became known: only another run, told the number, can take it
    steps    the numbers of the launches of the excerpt
    leaves   by variable, what the goldens begin with
    outputs  by variable, where the kernels leave what they finish
    """

    wanted: str
    number: int = 0
    missed: bool = False
    launching: Launching | None = None
    excerpt: Excerpt | None = None
    steps: range = range(0)
    pieces: list[Piece] = field(default_factory=list)
    leaves: dict[str, torch.Tensor] = field(default_factory=dict)
    outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    _run: GraphRun | None = None

    def __call__(self, launching: Launching) -> None:
        if self._run is None:
            self._choose(launching)
        if self._run is not launching.run or self.missed:
            return
        if launching.number == self.number:
            self.launching = launching
        if self.excerpt is not None and launching.number in self.steps:
            self._take(launching)

    @property
    def is_whole(self) -> bool:
        """Every launch has come by; else the last one that did has ended the model."""
        return bool(self.pieces) and len(self.pieces) == sum(one.launches for one in self._kernels())

    def check(self) -> None:
        """Raises UsageError where there is nothing that a case could be written from."""
        if self.launching is None:
            raise UsageError(f"there is no launch {self.wanted!r}")
        if self.excerpt is None:
            what = f"no reference of {self.launching.request.kernel.name} can be written"
            raise UsageError(what, hint="its golden begins with something that no kernel around it reads")

    def _kernels(self) -> list[Any]:
        assert self._run is not None and self.excerpt is not None
        return self._run.plan.kernels[self.excerpt.first : self.excerpt.last + 1]

    def _choose(self, launching: Launching) -> None:
        """As soon as a launch says how far the wanted one is away: the excerpt may begin before that."""
        kernel = self._wanted_kernel(launching)
        if kernel is None:
            return
        self._run, plan = launching.run, launching.run.plan
        offset = launching.number - launching.kernel.number
        self.number = offset + kernel
        self.excerpt = excerpt_around(plan, launching.run.goldens, kernel)
        if self.excerpt is None:
            return
        self.steps = range(offset + self.excerpt.first, offset + self.excerpt.last + 1)
        before = plan.kernels[self.excerpt.first : launching.kernel.number]
        self.missed = any(one.launches for one in before)

    def _wanted_kernel(self, launching: Launching) -> int | None:
        if not self.wanted.isdecimal():
            return launching.kernel.number if launching.request.kernel.name == self.wanted else None
        kernel = launching.kernel.number + int(self.wanted) - launching.number
        return kernel if 0 <= kernel < len(launching.run.plan.kernels) else None

    def _take(self, launching: Launching) -> None:
        assert self.excerpt is not None
        run = launching.run
        if not self.pieces:
            names = {name for recipe in self.excerpt.recipes for name in recipe.leaves.values()}
            self.leaves = {name: run.variables[name] for name in names}
        for kernel in run.plan.kernels[launching.kernel.number : self.excerpt.last + 1]:
            tensors = run.output_tensors(kernel)
            self.outputs.update({one.variable: tensors[one.name] for one in kernel.outputs if one.name in tensors})
        self.pieces.append(Piece(launching.request, _parameters(launching), _functions(launching.request)))


def _parameters(launching: Launching) -> tuple[Parameter, ...]:
    request, run = launching.request, launching.run
    outputs = {tensor.data_ptr(): tensor for tensor in run.output_tensors(launching.kernel).values()}
    inputs = {run.variables[name].data_ptr(): run.variables[name] for name in run.tensors(launching.kernel)}
    found = []
    for name, value in zip(request.signature, request.values, strict=True):
        if not hasattr(value, "data_ptr"):
            found.append(Parameter(name, value))
            continue
        # With the shape that the graph gives it, not the flat one that some kernels are handed.
        tensor = inputs.get(value.data_ptr(), outputs.get(value.data_ptr(), value))
        starts_empty = value.data_ptr() in outputs and value.data_ptr() not in inputs
        saved = (None, None) if starts_empty else (tensor.clone(), _memory(tensor))
        found.append(Parameter(name, tensor, *saved))
    return tuple(found)


def _functions(request: LaunchRequest) -> Mapping[str, str]:
    if request.source is None or not Path(request.source).is_file():
        raise UsageError(f"the source of {request.kernel.name} is not there any more")
    constants = [name for name, kind in request.signature.items() if kind == "constexpr"]
    return kernel_functions(Path(request.source), request.kernel.name, constants)


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of the storage that it is a view of, as a flat tensor of its dtype."""
    import torch

    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=tensor.dtype)
    return whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,)).clone()
