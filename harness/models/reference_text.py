"""The reference of an extracted launch: the nodes of the graph as calls of torch's own ops."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.models.evaluation import name_of
from harness.models.excerpt import COMPUTED_HERE, Recipe
from harness.models.extract import Extraction, Parameter

if TYPE_CHECKING:
    import torch
    import torch.fx

HeldTo = Mapping[tuple[int, str], "torch.fx.Node"]
_Given = Sequence[tuple[str, Parameter]]


def reference_text(taken: Extraction, given: _Given, held_to: HeldTo) -> str:
    """A function of the parameters that hold the leaves; gives every written buffer, `None` for scratch.

    given    the parameters of the file's launches, by their names there
    held_to  by kernel and output, the node that it was held to in the model
    Raises UsageError where a leaf is no parameter of any launch.
    """
    assert taken.excerpt is not None and taken.launching is not None
    numbers = taken.launching.run.variables
    results, recipes = _results(taken, [pair for pair in given if pair[1].is_tensor], held_to)
    leaves = {node: _leaf(node, taken.leaves[name], given) for one in recipes for node, name in one.leaves.items()}
    used = set(leaves.values())
    lines = [f"def reference({', '.join(name for name, _ in given if name in used)}):"]
    values = {name for name, one in given if not one.is_tensor}
    for node, name in leaves.items():
        holds = f"torch.tensor({name}, dtype=torch.float64)" if name in values else name
        lines += [f"    {node.name} = {holds}"] if node.name != holds else []
    steps = dict.fromkeys(step for one in recipes for step in one.steps)
    lines += [f"    {step.name} = {_step(step, numbers)}" for step in steps]
    golden = ", ".join(f"{name!r}: {value}" for name, value in results.items())
    return "\n".join([*lines, f"    return {{{golden}}}", ""])


def _results(taken: Extraction, tensors: _Given, held_to: HeldTo) -> tuple[dict[str, str], list[Recipe]]:
    """By buffer what it should hold, and the recipes that are needed for that."""
    assert taken.excerpt is not None
    results: dict[str, str] = {}
    needed: list[Recipe] = []
    for recipe in taken.excerpt.recipes:
        if recipe.guess and held_to.get((recipe.kernel, recipe.output)) is not recipe.node:
            continue
        found = _result(recipe, taken.outputs.get(recipe.variable), tensors)
        results.update(found)
        needed += [recipe] if found else []
    if not needed and taken.is_whole:
        raise UsageError("none of the buffers that these kernels leave behind is a parameter of one of them")
    spoken_for = {one.layout for name, one in tensors if name in results}
    for name, one in tensors:
        if one.is_written and one.layout not in spoken_for:
            results.setdefault(name, "None")
            spoken_for.add(one.layout)
    return results, needed


def _result(recipe: Recipe, tensor: torch.Tensor | None, tensors: _Given) -> dict[str, str]:
    """By the parameters that it is in, what they should hold; several where it is made in parts."""
    if tensor is None:
        return _parts(recipe, tensors)
    layout = Parameter("", tensor).layout
    same = [pair for pair in tensors if pair[1].layout == layout]
    here = same or [pair for pair in tensors if pair[1].value.data_ptr() == tensor.data_ptr()]
    for name, one in here[:1]:
        value: Any = recipe.node.meta.get("val")
        shape = tuple(one.value.shape)
        plain = hasattr(value, "shape") and tuple(value.shape) == shape
        return {name: recipe.node.name if plain else f"{recipe.node.name}.reshape({shape})"}
    return {}


def _parts(recipe: Recipe, tensors: _Given) -> dict[str, str]:
    """Of a concatenation, which nobody but the kernels of its parts has been given: each part is a view of it."""
    whole: Any = recipe.node.meta.get("val")
    if not hasattr(whole, "shape") or not whole.is_contiguous():
        return {}
    size = whole.numel() * whole.element_size()
    parts = {}
    for name, one in tensors:
        tensor: torch.Tensor = one.value
        if one.is_written and tensor.dtype == whole.dtype and tensor.untyped_storage().nbytes() == size:
            view = f"{tuple(tensor.shape)}, {tuple(tensor.stride())}, {tensor.storage_offset()}"
            parts[name] = f"torch.as_strided({recipe.node.name}.contiguous(), {view})"
    return parts


def _leaf(node: torch.fx.Node, place: torch.Tensor, given: _Given) -> str:
    """The parameter that holds it: its memory, or, of a tensor without axes, its value."""
    for name, one in given:
        if one.is_tensor and one.value.data_ptr() == place.data_ptr():
            return name
    for name, one in given:
        if not place.shape and isinstance(one.value, float) and one.value == place.item():
            return name
    raise UsageError(f"its golden begins with {node.name}, which no kernel around it is given")


def _step(step: torch.fx.Node, numbers: Mapping[str, Any]) -> str:
    if step.op == "placeholder":
        return repr(numbers[str(step.target)])
    if step.target is operator.getitem:
        return f"{_argument(step.args[0])}[{_argument(step.args[1])}]"
    mutable = getattr(getattr(step.target, "_schema", None), "is_mutable", False)
    arguments = [_copied(one) if mutable else _argument(one) for one in step.args]
    if name_of(step) in COMPUTED_HERE:
        named = [_argument(step.kwargs[name]) for name in sorted(step.kwargs)]
        return COMPUTED_HERE[name_of(step)].format(*arguments, *named)
    target: Any = step.target
    if getattr(target, "__module__", "") == operator.add.__module__:
        return f"operator.{target.__name__}({', '.join(arguments)})"
    arguments += [f"{name}={_argument(one)}" for name, one in step.kwargs.items()]
    return f"torch.ops.{step.target}({', '.join(arguments)})"


def _copied(value: Any) -> str:
    """For an op that changes what it is given: what the parameters hold is needed as it was."""
    return f"{_argument(value)}.clone()" if hasattr(value, "all_input_nodes") else _argument(value)


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
