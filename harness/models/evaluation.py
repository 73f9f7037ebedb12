"""Goldens of a graph's buffers: the nodes between what a kernel reads and what it writes, computed by torch in float64.

Each kernel is judged by what was in memory when it ran: errors do not add up from kernel to kernel, and a kernel whose
inputs are wrong is not blamed for them. Where a buffer in between has no node (one half of a reduction in two steps),
the kernels around it are judged as one: the golden is made before the first of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from harness.models.philox import inductor_random
from harness.models.plan import GraphPlan, Kernel, Output

if TYPE_CHECKING:
    import torch
    import torch.fx

_RANDOM = ("inductor_random", "inductor_randint", "inductor_seed", "aten.rand", "aten.bernoulli", "aten.normal")
_COMPUTABLE = ("prims.inductor_random.default", "prims.inductor_lookup_seed.default")


@dataclass(frozen=True)
class Golden:
    """How the golden of one output is made.

    node    whose value it is
    at      the kernel before which it is computed
    leaves  the variables that hold the nodes where computing begins
    steps   nodes to compute, in order; none where the kernel copies what it reads
    guess   it need not be this node that the buffer holds
    """

    node: torch.fx.Node
    at: int
    leaves: Mapping[torch.fx.Node, str]
    steps: tuple[torch.fx.Node, ...]
    guess: bool = False


@dataclass
class GoldenPlan:
    """Of one graph, by (kernel, output's name): how goldens are made (one, or several guesses), or why there is
    none."""

    goldens: dict[tuple[int, str], list[Golden]] = field(default_factory=dict)
    missing: dict[tuple[int, str], str] = field(default_factory=dict)

    def made_before(self, kernel: int) -> list[tuple[tuple[int, str], Golden]]:
        return [(key, one) for key, goldens in self.goldens.items() for one in goldens if one.at == kernel]


def plan_goldens(plan: GraphPlan) -> GoldenPlan:
    """Decides for every output of the graph's kernels where its golden comes from."""
    timeline = _Timeline.of(plan)
    made = GoldenPlan()
    for kernel in plan.kernels:
        for output in kernel.outputs:
            goldens, why = _goldens_of(plan, timeline, kernel, output)
            made.goldens[kernel.number, output.name] = goldens
            made.missing[kernel.number, output.name] = why
    return made


@dataclass(frozen=True)
class _Timeline:
    """held     before each kernel: the node that each variable holds
    writers  before each kernel: the kernel that wrote each variable last
    """

    held: list[dict[str, torch.fx.Node]]
    writers: list[dict[str, int]]

    @classmethod
    def of(cls, plan: GraphPlan) -> _Timeline:
        held, writers = dict(plan.inputs), dict[str, int]()
        timeline = cls([], [])
        for kernel in plan.kernels:
            timeline.held.append(dict(held))
            timeline.writers.append(dict(writers))
            for output in kernel.outputs:
                writers[output.variable] = kernel.number
                held.pop(output.variable, None)
                if output.node is not None:
                    held[output.variable] = output.node
            for name in kernel.frees:
                held.pop(name, None)
        return timeline


def _goldens_of(plan: GraphPlan, timeline: _Timeline, kernel: Kernel, output: Output) -> tuple[list[Golden], str]:
    if kernel.extern:
        return [], "it was computed on the host"
    nodes = (output.node,) if output.node is not None else output.guesses
    found: list[Golden] = []
    why = output.why
    for node in nodes:
        golden = _golden_of(plan, timeline, kernel.number, node, output)
        if isinstance(golden, Golden):
            found.append(golden)
        else:
            why = why or golden
    return found, why


def _golden_of(plan: GraphPlan, timeline: _Timeline, number: int, node: torch.fx.Node, output: Output) -> Golden | str:
    """From what the kernel reads, if that will do; else from anything that is in memory then."""
    near = _golden_from(plan, timeline, number, node, output, anything=False)
    return near if isinstance(near, Golden) else _golden_from(plan, timeline, number, node, output, anything=True)


def _golden_from(
    plan: GraphPlan, timeline: _Timeline, number: int, node: torch.fx.Node, output: Output, *, anything: bool
) -> Golden | str:
    guess = output.node is None
    together = {number}
    while True:
        first = min(together)
        held = timeline.held[first]
        reads = {name for one in together for name in plan.kernels[one].reads}
        leaves = {held[name]: name for name in sorted(held) if anything or name in reads}
        if leaves.get(node, output.variable) != output.variable:
            return Golden(node, first, {node: leaves[node]}, (), guess)
        steps = _steps(node, leaves)
        if isinstance(steps, tuple):
            used = {one for step in steps for one in step.all_input_nodes}
            begin = {leaf: name for leaf, name in leaves.items() if leaf in used}
            return Golden(node, first, begin, steps, guess)
        grown = together | {
            timeline.writers[one][name]
            for one in together
            for name in plan.kernels[one].reads
            if name not in held and name in timeline.writers[one]
        }
        if grown == together:
            return steps
        together = grown


def _steps(node: torch.fx.Node, leaves: Mapping[torch.fx.Node, str]) -> tuple[torch.fx.Node, ...] | str:
    """The nodes to compute from `leaves` up to `node`, which is computed even where it is a leaf itself (a buffer
    that is changed in place); or why that is not possible."""
    order: dict[torch.fx.Node, None] = {}
    stack: list[tuple[torch.fx.Node, bool]] = [(node, False)]
    while stack:
        one, ready = stack.pop()
        if ready:
            order[one] = None
            continue
        if one in order or (one in leaves and one is not node):
            continue
        if one.op == "placeholder" and not _is_number(one):
            return f"it depends on {one.target}, which its kernel does not read as the graph has it"
        reason = _not_computable(one)
        if reason:
            return reason
        stack.append((one, True))
        stack += [(argument, False) for argument in one.all_input_nodes]
    return tuple(order)


def _is_number(node: torch.fx.Node) -> bool:
    return not hasattr(node.meta.get("val"), "shape")


def _not_computable(node: torch.fx.Node) -> str:
    name = str(node.target)
    if _draws(node) and name not in _COMPUTABLE:
        return f"it depends on the random numbers of {name}"
    if name in ("aten.view.dtype", "prims.view_element_type.default"):
        return f"it depends on the bits of {name}"
    return ""


Values = dict["torch.fx.Node", Any]


def leaves_of(goldens: Sequence[Golden], value_of: Callable[[str], Any], dtype: torch.dtype | None) -> Values:
    """What is in memory where computing begins, floats as `dtype`; not a view of it where that is another dtype."""
    return {node: _promoted(value_of(name), dtype) for golden in goldens for node, name in golden.leaves.items()}


def is_random(plan: GraphPlan) -> bool:
    """Whether the graph draws random numbers."""
    return any(_draws(node) for node in plan.module.graph.nodes)


def _draws(node: torch.fx.Node) -> bool:
    name = str(node.target)
    return node.op == "call_function" and any(word in name for word in _RANDOM)


def evaluate(
    goldens: Sequence[Golden],
    leaves: Values,
    value_of: Callable[[str], Any],
    module: torch.fx.GraphModule,
    dtype: torch.dtype | None,
    undefined: dict[torch.fx.Node, str],
    rounding: Callable[[torch.fx.Node, Any], Any] | None = None,
) -> Values:
    """The values of the goldens' nodes, each step computed once. Floats are computed as `dtype`, whatever the graph
    says; None computes them as the graph says. `value_of` gives numbers. `undefined` is told of steps whose value
    torch does not define; `rounding` may change what a step gives. Raises what torch raises."""
    import torch

    wanted = {golden.node for golden in goldens}
    steps = dict.fromkeys(step for golden in goldens for step in golden.steps)
    last = {argument: step for step in steps for argument in step.all_input_nodes}
    environment = {node: _promoted(value, dtype) for node, value in leaves.items()}
    with torch.no_grad():
        for step in steps:
            computed = _computed(step, environment, value_of, module, dtype)
            environment[step] = computed if rounding is None else rounding(step, computed)
            note = undefined_conversion(step, environment)
            if note:
                undefined[step] = note
            for argument in step.all_input_nodes:
                if last[argument] is step and argument not in wanted:
                    environment.pop(argument, None)
    return {node: environment[node] for node in wanted}


def _computed(
    step: torch.fx.Node,
    environment: Mapping[torch.fx.Node, Any],
    value_of: Callable[[str], Any],
    module: torch.fx.GraphModule,
    dtype: torch.dtype | None,
) -> Any:
    import torch
    from torch.fx.node import map_aggregate

    if step.op == "placeholder":
        return value_of(str(step.target))
    if step.op == "get_attr":
        return _promoted(_attribute(module, str(step.target)), dtype)
    if step.op != "call_function" or not callable(step.target):
        raise NotImplementedError(f"a graph node of kind {step.op}")
    mutable = getattr(getattr(step.target, "_schema", None), "is_mutable", False)

    def argument(value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            found = environment[value]
            return found.clone() if mutable and isinstance(found, torch.Tensor) else found
        if dtype is not None and isinstance(value, torch.dtype) and value.is_floating_point:
            return dtype
        return value

    arguments: Any = map_aggregate(step.args, argument)
    keywords: Any = map_aggregate(step.kwargs, argument)
    compute = _OWN.get(name_of(step), step.target)
    return map_aggregate(compute(*arguments, **keywords), lambda value: _promoted(value, dtype))


def name_of(step: torch.fx.Node) -> str:
    """Of an op of torch its name with the overload, of one of Inductor's own functions its name."""
    return getattr(step.target, "__name__", "") if isfunction(step.target) else str(step.target)


_CONVERSIONS = frozenset({"prims.convert_element_type.default", "aten._to_copy.default"})


def _two_products(mat1: torch.Tensor, mat2: torch.Tensor, mat3: torch.Tensor, mat4: torch.Tensor) -> torch.Tensor:
    return mat1 @ mat2 + mat3 @ mat4


# Nodes whose target torch cannot run as it is.
_OWN: Mapping[str, Callable[..., Any]] = {
    "prims.inductor_random.default": inductor_random,
    "mm_plus_mm": _two_products,
}


def _promoted(value: Any, dtype: torch.dtype | None) -> Any:
    import torch

    if dtype is None or not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.to(dtype)


def undefined_conversion(step: torch.fx.Node, values: Mapping[torch.fx.Node, Any]) -> str:
    """Of a conversion of floats to integers, how many lie outside them: torch and LLVM define no value for those."""
    import torch

    made, sources = values[step], step.all_input_nodes
    if not isinstance(made, torch.Tensor) or made.is_floating_point() or made.is_complex() or len(sources) != 1:
        return ""
    source = values[sources[0]]
    if name_of(step) not in _CONVERSIONS or made.dtype == torch.bool:
        return ""
    if not isinstance(source, torch.Tensor) or not source.is_floating_point():
        return ""
    limits = torch.iinfo(made.dtype)
    whole = source.trunc()
    inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1.0)
    count = int((~inside).sum())
    what = f"{count} of the floats that {step.name} converts lie outside {str(made.dtype).removeprefix('torch.')}"
    return f"{what}, for which no value is defined" if count else ""


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


# --- how much is added into one element --------------------------------------------------------------------------


def terms_of(steps: tuple[torch.fx.Node, ...]) -> int:
    """How many terms are added into one element over all of the steps, as `KernelCase.reduction` counts them."""
    return 1 + sum(terms - 1 for terms in map(_terms, steps))


_PRODUCTS = {"aten.mm": 0, "aten.bmm": 0, "aten.addmm": 1, "aten.baddbmm": 1, "aten.dot": 0, "aten.mv": 0}
_SUMS = ("sum", "mean", "var", "std", "softmax", "norm", "avg_pool", "prod", "dist", "loss", "welford", "addmv")
_SCANS = ("cumsum", "cumprod", "logcumsumexp")
_SCATTERS = ("index_put", "scatter", "index_add", "embedding_dense_backward", "put", "_backward")


def _terms(step: torch.fx.Node) -> int:
    name = name_of(step)
    shapes = list(_shapes(step))
    if name == "mm_plus_mm":
        return max(1, 2 * shapes[0][-1])
    packet = ".".join(name.split(".")[:2])
    if packet in _PRODUCTS:
        first = shapes[_PRODUCTS[packet]]
        return max(1, first[-1])
    if "convolution" in name:
        return _convolution_terms(step, shapes)
    if any(word in name for word in _SCATTERS):
        return max([1, *(_numel(shape) for shape in shapes[1:])])
    if any(word in name for word in _SCANS):
        return max([1, *(max(shape, default=1) for shape in shapes)])
    if any(word in name for word in _SUMS):
        return _sum_terms(step, shapes)
    return 1


def _sum_terms(step: torch.fx.Node, shapes: list[tuple[int, ...]]) -> int:
    """Input elements for each output element; where the shape stays (softmax), the whole of its largest axis."""
    largest = max(shapes, key=_numel, default=())
    out = _shape(step)
    if out is not None and 0 < _numel(out) < _numel(largest):
        return _numel(largest) // _numel(out)
    return max(largest, default=1)


def _convolution_terms(step: torch.fx.Node, shapes: list[tuple[int, ...]]) -> int:
    """Forward: the channels and the window of the weight. Backward: at most the positions of the gradient, or the
    window of every output channel."""
    if "backward" not in str(step.target):
        return max(1, _numel(shapes[1][1:]))
    gradient, weight = shapes[0], shapes[2]
    return max(1, gradient[0] * _numel(gradient[2:]), weight[0] * _numel(weight[2:]))


def _shapes(step: torch.fx.Node) -> Iterator[tuple[int, ...]]:
    for argument in step.all_input_nodes:
        shape = _shape(argument)
        if shape is not None:
            yield shape


def _shape(node: torch.fx.Node) -> tuple[int, ...] | None:
    value: Any = node.meta.get("val")
    return tuple(_hint(one) for one in value.shape) if hasattr(value, "shape") else None


def _hint(size: Any) -> int:
    """A size, of a graph for any size the one that it was traced with."""
    return size if isinstance(size, int) else int(size.node.hint)


def _numel(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
