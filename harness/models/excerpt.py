"""Which kernels of a graph make a case of their own: the one that is asked for, and those that are judged with it.

A buffer that no node of the graph stands for (a sum in two steps, a part of a concatenation) has no reference that
could be written down. Its kernel is taken together with those around it, from where the golden of a later buffer
begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch.fx

from harness.models.evaluation import Golden, GoldenPlan, name_of
from harness.models.plan import GraphPlan

_WRITABLE = frozenset({"call_function", "placeholder"})


@dataclass(frozen=True)
class Recipe:
    """How the golden of one output is computed from what is in memory before the excerpt.

    kernel    by number, which finishes the output `output`; `variable` is what the generated code calls that
    guess     it need not be this node that the output holds; there may be other recipes for it
    leaves    by node, the variable that holds it
    steps     nodes to compute, in order
    """

    kernel: int
    output: str
    variable: str
    node: torch.fx.Node
    guess: bool
    leaves: Mapping[torch.fx.Node, str]
    steps: tuple[torch.fx.Node, ...]


@dataclass(frozen=True)
class Excerpt:
    """Kernels `first` to `last` of a graph, both included.

    recipes   of the outputs that are compared; every other one is scratch
    """

    first: int
    last: int
    recipes: tuple[Recipe, ...]


def excerpt_around(plan: GraphPlan, goldens: GoldenPlan, kernel: int) -> Excerpt | None:
    """The kernel alone, if each of its outputs has a golden of its own; else with the fewest others. Where there is
    nothing better, one that compares only part of what its last kernel leaves behind, or with a node that this may
    stand for. None where no golden can be written down from what these kernels read."""
    spans = {(kernel, kernel)}
    for (number, _), found in goldens.goldens.items():
        spans.update((one.at, number) for one in found if one.at <= kernel <= number and not one.guess)
    ordered = sorted(spans, key=lambda span: (span[1] - span[0], -span[0]))
    certain = [_excerpt(plan, _certain(goldens), first, last) for first, last in ordered]
    excerpts = [one for one in (*certain, _excerpt(plan, goldens, kernel, kernel)) if one is not None]
    return next((one for one in excerpts if _is_complete(plan, one)), excerpts[0] if excerpts else None)


def _certain(goldens: GoldenPlan) -> GoldenPlan:
    return GoldenPlan({key: [one for one in found if not one.guess] for key, found in goldens.goldens.items()})


def _excerpt(plan: GraphPlan, goldens: GoldenPlan, first: int, last: int) -> Excerpt | None:
    kernels = plan.kernels[first : last + 1]
    read = {name for one in kernels for name in one.reads}
    recipes = tuple(one for one in _recipes(plan, goldens, first, last) if read.issuperset(one.leaves.values()))
    hopeless = any(one.extern for one in kernels) or not any(one.kernel == last for one in recipes)
    return None if hopeless else Excerpt(first, last, recipes)


def _is_complete(plan: GraphPlan, excerpt: Excerpt) -> bool:
    spoken_for = {one.variable for one in excerpt.recipes if one.kernel == excerpt.last}
    return all(output.variable in spoken_for for output in plan.kernels[excerpt.last].outputs)


def _recipes(plan: GraphPlan, goldens: GoldenPlan, first: int, last: int) -> Iterator[Recipe]:
    """Of what these kernels leave behind: where one overwrites what another has written, of the last."""
    latest = {
        output.variable: (number, output.name)
        for number in range(first, last + 1)
        for output in plan.kernels[number].outputs
    }
    for variable, key in latest.items():
        candidates = (_recipe(plan, goldens, key, variable, one, first) for one in goldens.goldens.get(key, ()))
        yield from (one for one in candidates if one is not None)


def _recipe(
    plan: GraphPlan, goldens: GoldenPlan, key: tuple[int, str], variable: str, golden: Golden, first: int
) -> Recipe | None:
    """None where it cannot be written down from what is in memory before `first`."""
    leaves: dict[torch.fx.Node, str] = {}
    steps: dict[torch.fx.Node, None] = {}
    if golden.at < first or not _collect(plan, goldens, golden, first, leaves, steps):
        return None
    return Recipe(*key, variable, golden.node, golden.guess, leaves, tuple(steps))


def _collect(
    plan: GraphPlan,
    goldens: GoldenPlan,
    golden: Golden,
    first: int,
    leaves: dict[torch.fx.Node, str],
    steps: dict[torch.fx.Node, None],
) -> bool:
    """Adds what the golden is made of; what a kernel in between has written is made of its own golden."""
    for node, variable in golden.leaves.items():
        writer = _writer(plan, variable, first, golden.at)
        if writer is None:
            leaves[node] = variable
            continue
        made = next((one for one in goldens.goldens.get(writer, ()) if one.node is node and one.at >= first), None)
        if made is None or not _collect(plan, goldens, made, first, leaves, steps):
            return False
    if not all(map(_can_be_written, golden.steps)):
        return False
    steps.update(dict.fromkeys(golden.steps))
    return True


def _writer(plan: GraphPlan, variable: str, first: int, end: int) -> tuple[int, str] | None:
    """Which output of the kernels from `first` up to `end` the variable holds last."""
    written = [
        (number, output.name)
        for number in range(first, end)
        for output in plan.kernels[number].outputs
        if output.variable == variable
    ]
    return written[-1] if written else None


def _can_be_written(step: torch.fx.Node) -> bool:
    name = name_of(step)
    return step.op in _WRITABLE and ("inductor_" not in name or name in COMPUTED_HERE)


# Inductor's own ops, which no torch by itself can run, as Python.
COMPUTED_HERE: Mapping[str, str] = {
    "prims.inductor_lookup_seed.default": "{0}[{1}]",
    "prims.inductor_random.default": "inductor_random({0}, {1}, {2})",
    "mm_plus_mm": "{0} @ {1} + {2} @ {3}",
}
