"""One launch of a model as a kernel case of its own: a file that needs neither the model nor Inductor.

Its kernel with the helpers it calls, its buffers with their layout and aliasing, its grid, constants, and a reference
written from the nodes of the graph. Inputs are saved where they are small, else seeded with the same mean and spread.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cases.dtypes import dtype_of
from harness.cases.tolerance import Tolerance
from harness.errors import UsageError
from harness.models.checking import Launching
from harness.models.evaluation import Golden, name_of, terms_of
from harness.models.kernel_text import kernel_text

if TYPE_CHECKING:
    import torch
    import torch.fx

SAVED_ELEMENTS = 4096
_WIDTH = 116


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel as it was given: a tensor (with `content` as it was before the launch), or a value."""

    name: str
    value: Any
    content: torch.Tensor | None = None


@dataclass
class Extraction:
    """`Checker.on_launch` that keeps one launch: that of this number, or the first of a kernel of this name.

    text  of the case file, once the launch has come by
    """

    wanted: str
    origin: str
    text: str = ""
    name: str = ""
    number: int = 0

    def __call__(self, launching: Launching) -> None:
        kernel = launching.request.kernel.name
        if self.text or self.wanted not in (str(launching.number), kernel):
            return
        self.name, self.number = kernel, launching.number
        self.text = case_text(launching, self.origin)

    def widened(self, tolerance: Tolerance) -> str:
        """The text with a tolerance that was measured in the model."""
        line = f"        tolerance=Tolerance({tolerance.reason!r}, absolute={tolerance.absolute!r}),\n"
        text = self.text.replace("        reference=reference,\n", f"        reference=reference,\n{line}")
        return text.replace("Normal, Uniform,", "Normal, Tolerance, Uniform,")


def case_text(launching: Launching, origin: str) -> str:
    """The case file of a launch that is about to run. Raises UsageError where the graph gives no reference that could
    be written down."""
    request = launching.request
    parameters = _parameters(launching)
    goldens = _goldens(launching, parameters)
    file = request.source
    if file is None or not Path(file).is_file():
        raise UsageError(f"the source of {request.kernel.name} is not there any more")
    constants = [name for name, kind in request.signature.items() if kind == "constexpr"]
    kernel = kernel_text(Path(file), request.kernel.name, constants)
    reference = _reference(goldens, parameters)
    return _FILE.format(
        origin=_docstring(launching, origin),
        kernel=kernel,
        reference=reference,
        name=request.kernel.name,
        buffers="".join(f"    {line}\n" for line in _buffers(parameters)),
        grid=request.grid,
        arguments="".join(f"            {line},\n" for line in _arguments(parameters)),
        options="".join(f"        {line},\n" for line in _options(goldens)),
    )


_FILE = '''"""{origin}"""

import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from harness.cases import Buffer, KernelCase, Normal, Uniform, Values, case, empty

inf, nan = math.inf, math.nan


{kernel}

{reference}

@case()
def {name}_case():
{buffers}    return KernelCase(
        {name},
        grid={grid},
        args=dict(
{arguments}        ),
        reference=reference,
{options}    )
'''


def _docstring(launching: Launching, origin: str) -> str:
    import torch
    import triton

    nodes = ", ".join(one.node.name for one in launching.kernel.outputs if one.node is not None)
    kernel = f"kernel {launching.kernel.number} of its {launching.run.plan.name} graph"
    return (
        f"Launch {launching.number} of {origin}, {kernel}.\n\n"
        f"It computes {nodes or 'what no node of the graph stands for'}."
        f" torch {torch.__version__.partition('+')[0]}, triton {triton.__version__}.\n"
    )


# --- buffers ---------------------------------------------------------------------------------------------------------


def _parameters(launching: Launching) -> list[Parameter]:
    request = launching.request
    outputs = {tensor.data_ptr(): tensor for tensor in launching.run.output_tensors(launching.kernel).values()}
    inputs = {
        launching.run.variables[name].data_ptr(): launching.run.variables[name]
        for name in launching.run.tensors(launching.kernel)
    }
    found = []
    for name, value in zip(request.signature, request.values, strict=True):
        if not hasattr(value, "data_ptr"):
            found.append(Parameter(name, value))
            continue
        # With the shape that the graph gives it, not the flat one that some kernels are handed.
        tensor = inputs.get(value.data_ptr(), outputs.get(value.data_ptr(), value))
        starts_empty = value.data_ptr() in outputs and value.data_ptr() not in inputs
        found.append(Parameter(name, tensor, None if starts_empty else tensor.clone()))
    return found


def _buffers(parameters: Sequence[Parameter]) -> Iterator[str]:
    """A line for each buffer; a parameter of the same memory and layout is the same buffer."""
    seen: dict[Any, str] = {}
    for one in parameters:
        if not hasattr(one.value, "data_ptr"):
            continue
        key = _layout(one.value)
        _refuse_views(one, parameters)
        if key in seen:
            yield f"{one.name} = {seen[key]}"
            continue
        seen[key] = one.name
        yield f"{one.name} = {_buffer(one)}"


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def _refuse_views(one: Parameter, parameters: Sequence[Parameter]) -> None:
    """Two layouts of one piece of memory need a buffer that both are views of, which nobody here knows to fill."""
    for other in (each for each in parameters if hasattr(each.value, "data_ptr")):
        if _layout(other.value) != _layout(one.value) and _overlap(one.value, other.value):
            raise UsageError(f"{one.name} and {other.name} are two views of one buffer, which cannot be extracted yet")


def _overlap(left: torch.Tensor, right: torch.Tensor) -> bool:
    (first, end), (start, past) = _span(left), _span(right)
    return first < past and start < end


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return tensor.data_ptr(), tensor.data_ptr() + reach * tensor.element_size()


def _buffer(one: Parameter) -> str:
    tensor: torch.Tensor = one.value
    shape = tuple(int(n) for n in tensor.shape)
    strides = "" if tensor.is_contiguous() else f", strides={tuple(tensor.stride())}"
    described = f"{shape}, {dtype_of(tensor.dtype).name!r}{strides}"
    if one.content is None:
        return f"empty({described})"
    return f"Buffer({described}, fill={_fill(one.content)})"


def _fill(content: torch.Tensor) -> str:
    """The values, as many as there are until they repeat; of a large buffer of floats their mean and spread."""
    flat = content.reshape(-1)
    if flat.numel() and bool((flat == flat[0]).all()):
        flat = flat[:1]
    if flat.numel() <= SAVED_ELEMENTS or not content.is_floating_point():
        return f"Values(({''.join(f'{_number(value)}, ' for value in flat.tolist())}))"
    wide = flat.double()
    spread, mean = float(wide.std()), float(wide.mean())
    if float(wide.min()) >= 0:
        return f"Uniform({float(wide.min())!r}, {float(wide.max())!r})"
    return f"Normal(scale={spread!r}, mean={mean!r})"


def _number(value: float | int | bool) -> str:
    return repr(value)


def _arguments(parameters: Sequence[Parameter]) -> Iterator[str]:
    for one in parameters:
        tensor = hasattr(one.value, "data_ptr")
        yield f"{one.name}={one.name}" if tensor else f"{one.name}={one.value!r}"


# --- reference -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Output:
    """parameter  the kernel's, for the output
    leaves     by node, the parameter that holds it
    """

    parameter: str
    golden: Golden
    leaves: Mapping[Any, str]
    shape: tuple[int, ...]


def _goldens(launching: Launching, parameters: Sequence[Parameter]) -> list[_Output]:
    run, kernel = launching.run, launching.kernel
    by_place = {one.value.data_ptr(): one.name for one in parameters if hasattr(one.value, "data_ptr")}
    tensors = run.output_tensors(kernel)
    found = []
    for output in kernel.outputs:
        goldens = run.goldens.goldens.get((kernel.number, output.name), [])
        tensor = tensors.get(output.name)
        if tensor is None or tensor.data_ptr() not in by_place:
            continue
        name = by_place[tensor.data_ptr()]
        for golden in goldens:
            leaves = {node: by_place.get(_address(run.variables.get(var))) for node, var in golden.leaves.items()}
            if golden.at == kernel.number and all(leaves.values()) and _can_be_written(golden):
                held = {node: str(parameter) for node, parameter in leaves.items()}
                found.append(_Output(name, golden, held, tuple(tensor.shape)))
                break
        else:
            what = f"no reference of {launching.request.kernel.name} can be written for {output.name}"
            raise UsageError(what, hint="its golden begins with something that the kernel does not read")
    if not found:
        raise UsageError(f"{launching.request.kernel.name} finishes no buffer that the graph knows")
    return found


def _address(value: Any) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else 0


def _can_be_written(golden: Golden) -> bool:
    return all(step.op == "call_function" and "inductor_" not in name_of(step) for step in golden.steps)


def _reference(outputs: Sequence[_Output], parameters: Sequence[Parameter]) -> str:
    used = {parameter for one in outputs for parameter in one.leaves.values()}
    ordered = [one.name for one in parameters if one.name in used]
    lines = [f"def reference({', '.join(ordered)}):"]
    named: dict[Any, None] = {}
    for one in outputs:
        for node, parameter in one.leaves.items():
            if node not in named and node.name != parameter:
                lines.append(f"    {node.name} = {parameter}")
            named[node] = None
        for step in one.golden.steps:
            if step not in named:
                lines.append(f"    {step.name} = {_call(step)}")
            named[step] = None
    results = ", ".join(f"{one.parameter!r}: {_result(one)}" for one in outputs)
    return "\n".join([*lines, f"    return {{{results}}}", ""])


def _result(one: _Output) -> str:
    value: Any = one.golden.node.meta.get("val")
    plain = hasattr(value, "shape") and tuple(value.shape) == one.shape
    return one.golden.node.name if plain else f"{one.golden.node.name}.reshape({one.shape})"


def _call(step: torch.fx.Node) -> str:
    if step.target is operator.getitem:
        return f"{_argument(step.args[0])}[{_argument(step.args[1])}]"
    if name_of(step) == "mm_plus_mm":
        first, second, third, fourth = (_argument(step.kwargs[f"mat{i}"]) for i in (1, 2, 3, 4))
        return f"{first} @ {second} + {third} @ {fourth}"
    arguments = [_argument(one) for one in step.args]
    arguments += [f"{name}={_argument(one)}" for name, one in step.kwargs.items()]
    return f"torch.ops.{step.target}({', '.join(arguments)})"


def _argument(value: Any) -> str:
    import torch

    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, torch.dtype):  # the reference computes floats in float64
        return "torch.float64" if value.is_floating_point else str(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_argument, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return str(value) if isinstance(value, (torch.layout, torch.memory_format)) else repr(value)


def _options(outputs: Sequence[_Output]) -> Iterator[str]:
    terms = max(terms_of(one.golden.steps) for one in outputs)
    if terms > 1:
        yield f"reduction={terms}"
