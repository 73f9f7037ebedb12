"""Listens while Inductor writes a graph's code, and writes into it where the checks happen.

For each kernel the generated code gets, in this order

    harness_before(graph, kernel, {inputs})    its inputs are in memory: goldens are made
    buf3 = empty_strided_cpu(...)              Inductor's own allocation, or reuse of a dead buffer's memory
    harness_fresh({"buf3": buf3})              new memory is filled with poison
    triton_poi_fused_relu_0.run(...)           Inductor's own launch
    harness_after(graph, kernel, {"buf3": buf3})   what it finished is compared
    harness_free(graph, {"buf1": buf1})        what dies here must still hold what was compared
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.cases.location import SourceLocation
from harness.models.plan import GraphPlan, Kernel, Output, place_of

IMPORT = "from harness.models.watch import harness_after, harness_before, harness_begin, harness_free, harness_fresh"

_MOST_GUESSES = 3

# Of torch's classes of operations that are no Triton kernel: those that compute no values of the model.
_BOOKKEEPING = frozenset({"MultiOutput", "AssertScalar", "DynamicScalar", "RandomSeeds", "ResizeStorageBytes"})


@dataclass
class _Pending:
    """The kernel that is being written: where in the code it begins, and the operations in it.

    Lines are put in when all of it is known: a buffer can turn out to stay inside the kernel.
    """

    begins: int
    nodes: list[Any] = field(default_factory=list)
    allocated: list[tuple[int, list[str]]] = field(default_factory=list)  # where in the code, and what
    extern: Any = None


@dataclass
class Capture:
    """Hooks of `harness.models.inductor`; `graphs` is what they have heard, in the order of compilation."""

    graphs: list[GraphPlan] = field(default_factory=list)
    _known: dict[int, GraphPlan] = field(default_factory=dict)
    _lowerings: list[Any] = field(default_factory=list)  # kept alive: the keys of _known are their ids
    _pending: _Pending | None = None

    def before_allocation(self, scheduler: Any, node: Any) -> None:
        from torch._inductor.virtualized import V

        if self._pending is None:
            self._pending = _Pending(len(V.graph.wrapper_code.lines))
        self._pending.nodes.append(node)

    def after_allocation(self, scheduler: Any, node: Any) -> None:
        """A step without a launch ends here: nobody frees anything after it."""
        from torch._inductor.scheduler import NopKernelSchedulerNode

        if not isinstance(node, NopKernelSchedulerNode):
            self._note_allocations(node)
            return
        self._finish(scheduler, launches=False)

    def on_extern(self, node: Any) -> None:
        from torch._inductor.virtualized import V

        self._pending = self._pending or _Pending(len(V.graph.wrapper_code.lines))
        self._pending.extern = node

    def before_free(self, scheduler: Any) -> None:
        from torch._inductor.virtualized import V

        if self._pending is not None:
            self._finish(scheduler, launches=True)
        gone = scheduler.buffer_names_to_free - V.graph.removed_buffers - V.graph.wrapper_code.freed
        dying = [name for name in sorted(gone) if name in scheduler.name_to_buf]
        dying = [name for name in dying if scheduler.name_to_buf[name].can_free()]
        if dying:
            plan = self._plan()
            if plan.kernels:
                plan.kernels[-1].frees += tuple(dying)
            V.graph.wrapper_code.writeline(f"harness_free({plan.number}, {_named(dying)})")

    def _note_allocations(self, node: Any) -> None:
        from torch._inductor.virtualized import V

        assert self._pending is not None
        reused = getattr(V.kernel, "inplace_update_buffers", {})
        fresh = [
            buffer.get_name()
            for buffer in node.get_outputs()
            if buffer.node.should_allocate() and buffer.get_name() not in reused and not buffer.get_mutations()
        ]
        self._pending.allocated.append((len(V.graph.wrapper_code.lines), fresh))

    def _finish(self, scheduler: Any, *, launches: bool) -> None:
        from torch._inductor.virtualized import V

        pending, self._pending = self._pending, None
        assert pending is not None
        plan = self._plan()
        kernel = Kernel(len(plan.kernels), launches=launches)
        if pending.extern is not None:
            kernel.extern, kernel.reason = _extern(pending.extern)
            kernel.where = _place_of(pending.extern.node)
            kernel.launches = False
            kernel.data = not kernel.extern
        outputs = tuple(_outputs(scheduler, pending.nodes))
        kernel.reads = tuple(_reads(scheduler, pending.nodes))
        chains = {one.name: tuple(_reused(one.name, V.graph.wrapper_code.reuses)) for one in outputs}
        # A buffer whose memory the same kernel hands on to another of its buffers is nowhere to be seen afterwards.
        kernel.outputs = tuple(one for one in outputs if all(one.name not in chain for chain in chains.values()))
        kernel.reuses = {name: chain for name, chain in chains.items() if chain}
        kernel.frees = tuple(name for chain in chains.values() for name in chain)
        plan.kernels.append(kernel)
        lines: list[Any] = V.graph.wrapper_code.lines
        for at, names in reversed(pending.allocated):
            there = [name for name in names if name not in V.graph.removed_buffers]
            if there:
                lines.insert(at, f"harness_fresh({_named(there)})")
        before = f"harness_before({plan.number}, {kernel.number}, {_named(kernel.reads)})"
        lines.insert(pending.begins, before)
        if kernel.number == 0:
            lines.insert(pending.begins, f"harness_begin({plan.number}, {_named(V.graph.graph_inputs)})")
        variables = _named(dict.fromkeys(one.variable for one in kernel.outputs))
        V.graph.wrapper_code.writeline(f"harness_after({plan.number}, {kernel.number}, {variables})")

    def _plan(self) -> GraphPlan:
        """The plan of the graph that is being written."""
        from torch._inductor.virtualized import V

        known = self._known.get(id(V.graph))
        if known is not None:
            return known
        module: Any = V.graph.module
        plan = GraphPlan(len(self.graphs), _graph_name(V.graph, self.graphs), module)
        self._known[id(V.graph)] = plan
        self._lowerings.append(V.graph)
        self.graphs.append(plan)
        V.graph.wrapper_code.imports.writeline(IMPORT)
        return plan


def _graph_name(lowering: Any, known: list[GraphPlan]) -> str:
    training = "backward" if lowering.is_backward else "forward"
    kind = "inference" if lowering.is_inference else training
    same = sum(one.name.startswith(kind) for one in known)
    return f"{kind}{same + 1}" if same else kind


def _named(names: Iterable[str]) -> str:
    """A dict of variables by name, as source."""
    return "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"


def _reused(name: str, reuses: Mapping[str, str]) -> Iterable[str]:
    """In whose memory a buffer lies, the nearest first."""
    while name in reuses:
        name = reuses[name]
        yield name


def _outputs(scheduler: Any, nodes: list[Any]) -> Iterable[Output]:
    from torch._inductor import ir
    from torch._inductor.virtualized import V

    gone = V.graph.removed_buffers | V.graph.inplaced_to_remove
    for buffer in (one for node in nodes for one in node.get_outputs()):
        name = buffer.get_name()
        if name in gone or isinstance(buffer.node.get_output_spec(), (ir.NoneLayout, ir.MultiOutputLayout)):
            continue
        variable = scheduler.mutation_real_name.get(name, name)
        node, why = _node_of(scheduler, buffer, variable)
        guesses = () if node is not None or variable != name else tuple(_guesses(buffer))[:_MOST_GUESSES]
        yield Output(name, variable, node, why, guesses)


def _node_of(scheduler: Any, buffer: Any, variable: str) -> tuple[Any, str]:
    """The node whose value the buffer holds when the kernel is done, or why there is none."""
    name = buffer.get_name()
    candidates = [buffer.node.get_origin_node()]
    if variable != name:
        # Changed in place: Inductor files the changing node under the changed buffer, or nowhere.
        changed = scheduler.name_to_buf.get(variable)
        candidates += [changed.node.get_origin_node()] if changed is not None else []
        candidates += [one for one in buffer.node.get_origins() if _changes_in_place(one)]
    elif any(real == name for real in scheduler.mutation_real_name.values()):
        return None, "another kernel writes into it later"
    for node in candidates:
        if node is not None and _same_layout(node, buffer, variable):
            return node, ""
    return None, "Inductor keeps no graph node for it"


def _guesses(buffer: Any) -> Iterable[Any]:
    """Of the nodes that went into a buffer, those of its size and dtype, the last first."""
    from torch._inductor.virtualized import V

    count = V.graph.sizevars.optimization_hint(buffer.node.get_numel(), fallback=0)
    origins = sorted(buffer.node.get_origins(), reverse=True)  # as the graph has them, the last first
    for node in (part for origin in origins for part in (origin, *_parts(origin))):
        value = node.meta.get("val")
        if not hasattr(value, "shape") or _changes_in_place(node) or value.dtype != buffer.node.get_dtype():
            continue
        if V.graph.sizevars.optimization_hint(value.numel(), fallback=0) == count:
            yield node


def _parts(node: Any) -> Iterable[Any]:
    """Of an op with several results, the nodes that stand for each."""
    if isinstance(node.meta.get("val"), (tuple, list)):
        yield from (user for user in node.users if user.target is operator.getitem)


def _changes_in_place(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _same_layout(node: Any, buffer: Any, variable: str) -> bool:
    """Whether the node's value has the buffer's shape and dtype: a node of another shape is seen through a view."""
    from torch._inductor.virtualized import V

    value = node.meta.get("val")
    if value is None or not hasattr(value, "shape"):
        return False
    holder = buffer.node if variable == buffer.get_name() else V.graph.try_get_buffer(variable)
    if holder is None:
        return False
    size = [str(one) for one in holder.get_size()]
    return size == [str(one) for one in value.shape] and holder.get_dtype() == value.dtype


def _reads(scheduler: Any, nodes: list[Any]) -> Iterable[str]:
    """What the operations read that was there before them, as the generated code calls it."""
    from torch._inductor.dependencies import WeakDep
    from torch._inductor.virtualized import V

    written = {buffer.get_name() for node in nodes for buffer in node.get_outputs()}
    found: dict[str, None] = {}
    for dependency in (one for node in nodes for one in node.read_writes.reads):
        if isinstance(dependency, WeakDep) or dependency.name in written:
            continue
        name = scheduler.mutation_real_name.get(dependency.name, dependency.name)
        if name in V.graph.removed_buffers or name in written:
            continue
        if name in scheduler.name_to_buf or name in V.graph.graph_inputs or name in V.graph.constants:
            found[name] = None
    return found


def _place_of(operation: Any) -> SourceLocation | None:
    """The line of the model that an operation comes from. One of several results has no node of its own."""
    nodes = [operation.get_origin_node(), *sorted(operation.get_origins(), reverse=True)]
    return next((place for place in map(place_of, nodes) if place), None)


def _extern(scheduler_node: Any) -> tuple[str, str]:
    """What stays on the host and why; ("", "") for what computes nothing of the model."""
    operation = scheduler_node.node
    kind = type(operation).__name__
    if kind in _BOOKKEEPING:
        return "", ""
    overload = getattr(operation, "op_overload", None)
    name = str(overload) if overload is not None else str(getattr(operation, "python_kernel_name", "") or kind)
    if "Fallback" in kind:
        return name, f"Inductor has no Triton lowering for it with these arguments ({kind})"
    return name, f"no Triton template of Inductor takes it with these arguments ({kind})"
