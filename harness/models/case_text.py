"""The case file of an extracted launch: a file that needs neither the model nor Inductor.

Its kernels with the helpers they call, their buffers with layout and aliasing, grids, constants, and a reference
written from the nodes of the graph. Inputs are saved where they are small, else seeded with the same mean and spread.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.cases.dtypes import dtype_of
from harness.cases.tolerance import Tolerance
from harness.errors import UsageError
from harness.models.evaluation import terms_of
from harness.models.extract import Extraction, Parameter, Piece
from harness.models.reference_text import HeldTo, reference_text

if TYPE_CHECKING:
    import torch

SAVED_ELEMENTS = 4096
_MOST_SAVED = 2**16
_FEW = 8  # different values: a mask's, or a sign's
_WIDTH = 110

_FILE = '''"""{origin}"""

import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from harness.cases import {names}
{imports}
inf, nan = math.inf, math.nan


{kernels}

{reference}

@case()
def {name}_case():
{buffers}    return KernelCase(
        {name},
        grid={grid},
        args=dict(
{arguments}        ),
{then}        reference=reference,
{options}    )
'''

_THEN = """            Launch({name}, grid={grid}, args=dict(
{arguments}            )),
"""


_FILLS = ("Buffer", "Integers", "Normal", "Uniform", "Values", "empty")

# By what the file may use.
_IMPORTS = {
    "@constexpr_function": "from triton import constexpr_function",
    "inductor_random(": "from harness.models.philox import inductor_random",
    "operator.": "import operator",
}


@dataclass(frozen=True)
class _Named:
    """A launch under names that no other launch of the file has: a name stands for one buffer.

    kernel  what it is called in the file; `names` are its parameters there
    """

    piece: Piece
    kernel: str
    names: tuple[str, ...]

    @property
    def parameters(self) -> list[tuple[str, Parameter]]:
        return list(zip(self.names, self.piece.parameters, strict=True))


def case_text(taken: Extraction, origin: str, held_to: HeldTo) -> str:
    """The text of the file. Raises UsageError where there is no reference that could be written down.

    held_to  by kernel and output, the node that it was held to in the model
    """
    taken.check()
    assert taken.launching is not None and taken.excerpt is not None
    launches = [_named(number, piece) for number, piece in enumerate(taken.pieces, 1)]
    given = [pair for one in launches for pair in one.parameters]
    reference, kernels = reference_text(taken, given, held_to), _kernels(launches)
    first, *others = launches
    then = "".join(
        _THEN.format(name=one.kernel, grid=one.piece.request.grid, arguments=_arguments(one, 16)) for one in others
    )
    buffers = "".join(f"    {line}\n" for line in _buffers([pair for pair in given if pair[1].is_tensor]))
    used = [name for name in _FILLS if f"{name}(" in buffers]
    scratch = re.findall(r"'(\w+)': None", reference)
    return _FILE.format(
        origin=_docstring(taken, origin, scratch),
        names=", ".join(sorted(["KernelCase", "case", *used, *(["Launch"] if others else [])])),
        imports="".join(f"{line}\n" for word, line in _IMPORTS.items() if word in kernels + reference),
        kernels=kernels,
        reference=reference,
        name=first.kernel,
        buffers=buffers,
        grid=first.piece.request.grid,
        arguments=_arguments(first, 12),
        then=f"        then=[\n{then}        ],\n" if others else "",
        options="".join(f"        {line},\n" for line in _options(taken)),
    )


def widened(text: str, tolerance: Tolerance) -> str:
    """The text of a case with a tolerance that was measured in the model."""
    line = f"        tolerance=Tolerance({tolerance.reason!r}, absolute={tolerance.absolute!r}),\n"
    text = text.replace("        reference=reference,\n", f"        reference=reference,\n{line}")
    return text.replace("from harness.cases import ", "from harness.cases import Tolerance, ", 1)


def _docstring(taken: Extraction, origin: str, scratch: Sequence[str]) -> str:
    import torch
    import triton

    assert taken.launching is not None and taken.excerpt is not None
    excerpt, plan = taken.excerpt, taken.launching.run.plan
    alone = len(taken.pieces) == 1
    which = f"kernel {taken.launching.kernel.number}" if alone else f"kernels {excerpt.first} to {excerpt.last}"
    nodes = ", ".join(dict.fromkeys(recipe.node.name for recipe in excerpt.recipes))
    text = f"Launch {taken.number} of {origin}, {which} of its {plan.name} graph.\n\n"
    if not alone:
        text += "What is in memory between them has no node of the graph, and is judged by what is made of it.\n"
    if scratch:
        names = ", ".join(scratch)
        text += f"Not compared, for no node of the graph stands for what they hold: {names}.\n"
    versions = f"torch {torch.__version__.partition('+')[0]}, triton {triton.__version__}"
    return f"{text}It computes {nodes}. {versions}.\n"


def _named(number: int, piece: Piece) -> _Named:
    suffix = "" if number == 1 else f"_{number}"
    names = tuple(f"{one.name}{suffix}" for one in piece.parameters)
    return _Named(piece, f"{piece.request.kernel.name}{suffix}", names)


def _kernels(launches: Sequence[_Named]) -> str:
    """Every function once: of two helpers that differ and have one name, each kernel calls its own."""
    functions: dict[str, str] = {}
    for number, one in enumerate(launches, 1):
        parameters = dict(zip(one.piece.request.signature, one.names, strict=True))
        own = dict(one.piece.functions)
        renamed = {name: f"{name}_{number}" for name in own if functions.get(name, own[name]) != own[name]}
        renamed[one.piece.request.kernel.name] = one.kernel
        kernel = own.pop(one.piece.request.kernel.name)
        functions |= {renamed.get(name, name): _renamed(text, renamed) for name, text in own.items()}
        functions[one.kernel] = _renamed(kernel, {**renamed, **parameters})
    return "\n\n".join(functions.values())


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: names.get(found.group(), found.group()), text)


# --- buffers ---------------------------------------------------------------------------------------------------------


def _buffers(tensors: Sequence[tuple[str, Parameter]]) -> Iterator[str]:
    """A line for each buffer. A parameter of the same memory and layout is the same buffer; others that share memory
    are views of one buffer, which has all of it."""
    for number, group in enumerate(_shared(tensors), 1):
        names: dict[Any, str] = {}
        layouts = {one.layout for _, one in group}
        memory = f"memory_{number}"
        if len(layouts) > 1:
            yield f"{memory} = {_memory(group)}"
        for name, one in group:
            if one.layout in names:
                yield f"{name} = {names[one.layout]}"
                continue
            names[one.layout] = name
            yield f"{name} = {_buffer(one) if len(layouts) == 1 else _view(memory, one, group)}"


def _shared(tensors: Sequence[tuple[str, Parameter]]) -> list[list[tuple[str, Parameter]]]:
    """Groups of parameters that share memory, each in the order of the launches."""
    groups: list[list[tuple[str, Parameter]]] = []
    end = 0
    for name, one in sorted(tensors, key=lambda pair: pair[1].span):
        start, past = one.span
        if groups and start < end:
            groups[-1].append((name, one))
            end = max(end, past)
        else:
            groups.append([(name, one)])
            end = past
    order = {name: place for place, (name, _) in enumerate(tensors)}
    ordered = [sorted(group, key=lambda pair: order[pair[0]]) for group in groups]
    return sorted(ordered, key=lambda group: order[group[0][0]])


def _buffer(one: Parameter) -> str:
    tensor: torch.Tensor = one.value
    shape = tuple(int(n) for n in tensor.shape)
    strides = "" if tensor.is_contiguous() else f", strides={tuple(tensor.stride())}"
    described = f"{shape}, {dtype_of(tensor.dtype).name!r}{strides}"
    if one.content is None:
        return f"empty({described})"
    return f"Buffer({described}, fill={_fill(one.content)})"


def _memory(group: Sequence[tuple[str, Parameter]]) -> str:
    """All of what the parameters are views of, as it was before the first launch."""
    first = group[0][1]
    start, end = _extent(group)
    count = (end - start) // first.value.element_size()
    described = f"({count},), {dtype_of(first.value.dtype).name!r}"
    met = _as_met(group)
    if met is None or met.memory is None:
        return f"empty({described})"
    raw = met.memory.view(first.value.dtype)
    skipped = (start - met.value.untyped_storage().data_ptr()) // raw.element_size()
    return f"Buffer({described}, fill={_fill(raw[skipped : skipped + count])})"


def _as_met(group: Sequence[tuple[str, Parameter]]) -> Parameter | None:
    """The first parameter that holds something which no launch before it has written; None where there is none."""
    written: list[tuple[int, int]] = []
    for _, one in group:
        start, past = one.span
        if one.content is not None and not any(first <= start and past <= end for first, end in written):
            return one
        written.append(one.span)
    return None


def _view(memory: str, one: Parameter, group: Sequence[tuple[str, Parameter]]) -> str:
    tensor: torch.Tensor = one.value
    offset = (tensor.data_ptr() - _extent(group)[0]) // tensor.element_size()
    dtype = "" if tensor.dtype == group[0][1].value.dtype else f", dtype={dtype_of(tensor.dtype).name!r}"
    return f"{memory}.view({tuple(tensor.shape)}, {tuple(tensor.stride())}, offset={offset}{dtype})"


def _extent(group: Sequence[tuple[str, Parameter]]) -> tuple[int, int]:
    """In whole elements of the widest dtype, from a multiple of 16 bytes on."""
    spans = [one.span for _, one in group]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    return start, start + -(-(end - start) // 8) * 8


def _fill(content: torch.Tensor) -> str:
    """The values, as many as there are until they repeat; of a large buffer numbers like them. Infinities, NaNs and
    the few values of a mask are where they are for a reason, and are all saved. Raises UsageError where they are too
    many."""
    flat = content.reshape(-1)
    if flat.numel() and bool((flat == flat[0]).all()):
        flat = flat[:1]
    if flat.numel() <= SAVED_ELEMENTS:
        return _values(flat)
    if not flat.is_floating_point():
        return f"Integers({int(flat.min())}, {int(flat.max()) + 1})"
    wide = flat.double()
    if not bool(wide.isfinite().all()) or wide[:SAVED_ELEMENTS].unique().numel() <= _FEW:
        if flat.numel() <= _MOST_SAVED:
            return _values(flat)
        raise UsageError(f"{flat.numel()} values with infinities, NaNs or few different ones are too many to be saved")
    spread, mean = float(wide.std()), float(wide.mean())
    if float(wide.min()) >= 0:
        return f"Uniform({float(wide.min())!r}, {float(wide.max())!r})"
    return f"Normal(scale={spread!r}, mean={mean!r})"


def _values(flat: torch.Tensor) -> str:
    lines = textwrap.wrap(", ".join(map(repr, flat.tolist())) + ",", _WIDTH, break_long_words=False)
    several = "\n        ".join(lines)
    return f"Values(({several}))" if len(lines) == 1 else f"Values((\n        {several}\n    ))"


def _arguments(one: _Named, indent: int) -> str:
    lines = []
    for name, parameter in zip(one.names, one.piece.parameters, strict=True):
        lines.append(f"{name}={name}" if parameter.is_tensor else f"{name}={parameter.value!r}")
    return "".join(f"{' ' * indent}{line},\n" for line in lines)


def _options(taken: Extraction) -> Iterator[str]:
    assert taken.excerpt is not None
    terms = max(terms_of(one.steps) for one in taken.excerpt.recipes)
    if terms > 1:
        yield f"reduction={terms}"
