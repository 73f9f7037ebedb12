"""One run of one compiled graph: its variables as they come and go, and the goldens that wait for their kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.models.evaluation import Golden, GoldenPlan, Values, evaluate, leaves_of, name_of
from harness.models.judge import FLOAT32, OWN
from harness.models.plan import GraphPlan, Kernel

if TYPE_CHECKING:
    import torch
    import torch.fx

Key = tuple[int, str]  # kernel, and its output's name
Rounding = Callable[["torch.fx.Node", Any], Any]
Again = Callable[[int | str], "torch.Tensor"]

# Ops of ATen that Triton calls a library for, which is allowed some units in the last place.
_FUNCTIONS = [["cos"], ["exp"], ["exp2"], ["log"], ["pow"], ["reciprocal"], ["rsqrt"], ["sin"], ["tan"], ["tanh"]]

# By how much leaves are moved: four units in the last place of float32.
_MOVED = 2.0**-22


@dataclass(frozen=True)
class Made:
    """The golden of one output.

    exact   it was computed in the model's own dtypes, since torch cannot in float64
    again   computes it in one of `precisions` instead, or, given a seed, in float64 from leaves that are moved a
            little, with results of functions that are too; None where it was made in the model's own dtypes
    """

    golden: Golden
    value: torch.Tensor
    exact: bool
    again: Again | None

    @property
    def precisions(self) -> tuple[str, ...]:
        """In which torch's error says something: its own dtypes only where they are narrower than float32."""
        if self.again is None:
            return ()
        return (FLOAT32, OWN) if any(map(_is_narrow, self.golden.steps)) else (FLOAT32,)


@dataclass
class GraphRun:
    """variables  tensors and numbers, as the generated code calls them
    made       goldens that are waiting for their kernel
    failed     why torch could not compute a golden
    state      of each variable that a kernel wrote: "right", "wrong", "not compared"
    digests    of what was compared
    fresh      what has been allocated for the kernel that runs next
    undefined  by node, what about its value nobody defines
    """

    plan: GraphPlan
    goldens: GoldenPlan
    variables: dict[str, Any]
    made: dict[Key, list[Made]] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    digests: dict[str, int] = field(default_factory=dict)
    fresh: dict[str, torch.Tensor] = field(default_factory=dict)
    undefined: dict[torch.fx.Node, str] = field(default_factory=dict)

    def make_goldens(self, kernel: int) -> None:
        """Computes what begins with what is in memory before this kernel."""
        due = self.goldens.made_before(kernel)
        if not due:
            return
        try:
            self._make(due)
        except Exception:
            # What torch cannot do in float64 it may do in the model's own dtypes.
            for key, golden in due:
                self._make_exactly(key, golden)

    def is_uncertain(self, key: Key) -> bool:
        """Whether an output may find no golden of the graph that it can be held to."""
        return all(made.golden.guess for made in self.made.get(key, ()))

    def undefined_in(self, golden: Golden) -> str:
        """What about the golden's value nobody defines; "" where all of it is."""
        return next((self.undefined[step] for step in golden.steps if step in self.undefined), "")

    def tensors(self, kernel: Kernel) -> list[str]:
        """The variables that a kernel reads and that are no numbers."""
        return [name for name in kernel.reads if hasattr(self.variables.get(name), "numel")]

    def only_read(self, kernel: Kernel) -> list[str]:
        """Those of them whose memory none of its outputs takes over."""
        written = {one.variable for one in kernel.outputs}
        taken = written | {name for chain in kernel.reuses.values() for name in chain}
        return [name for name in self.tensors(kernel) if name not in taken]

    def output_tensors(self, kernel: Kernel) -> dict[str, torch.Tensor]:
        """Where it will write its outputs, by their names; to be asked when they are allocated, before it runs."""
        found: dict[str, torch.Tensor] = {}
        for output in kernel.outputs:
            names = (output.name, *kernel.reuses.get(output.name, ()), output.variable)
            known = [where[name] for name in names for where in (self.fresh, self.variables) if name in where]
            found.update({output.name: known[0]} if known else {})
        return found

    def forget(self, name: str) -> None:
        for known in (self.variables, self.state, self.digests):
            known.pop(name, None)

    def forget_digests(self, kernel: Kernel) -> None:
        """What it reads may be changed: who runs on the host may do so in place, and is no pass anyway."""
        for name in kernel.reads:
            self.digests.pop(name, None)

    def _make(self, due: Sequence[tuple[Key, Golden]]) -> None:
        import torch

        goldens = [golden for _, golden in due]
        leaves = leaves_of(goldens, self.variables.__getitem__, torch.float64)
        values = self._evaluated(goldens, leaves, torch.float64)
        for key, golden in due:
            made = Made(golden, values[golden.node], False, self._again(golden, leaves))
            self.made.setdefault(key, []).append(made)

    def _make_exactly(self, key: Key, golden: Golden) -> None:
        try:
            leaves = leaves_of([golden], self.variables.__getitem__, None)
            value = self._evaluated([golden], leaves, None)[golden.node]
        except Exception as error:
            self.failed[key] = f"torch cannot compute its golden: {type(error).__name__}: {error}"
        else:
            self.made.setdefault(key, []).append(Made(golden, value, True, None))

    def _again(self, golden: Golden, leaves: Values) -> Again:
        """From the same leaves, which float64 holds as they are: memory may have changed by the time it is called."""
        own = {node: leaves[node] for node in golden.leaves}

        def again(how: int | str) -> torch.Tensor:
            import torch

            if how == FLOAT32:
                return self._evaluated([golden], own, torch.float32)[golden.node]
            if how == OWN:
                narrow = {node: _as_in_graph(node, value) for node, value in own.items()}
                return self._evaluated([golden], narrow, None)[golden.node]
            generator = torch.Generator().manual_seed(int(how))
            moved = {node: _moved(value, generator) for node, value in own.items()}
            rounding = functools.partial(_as_rounded, generator)
            return self._evaluated([golden], moved, torch.float64, rounding)[golden.node]

        return again

    def _evaluated(
        self, goldens: Sequence[Golden], leaves: Values, dtype: torch.dtype | None, rounding: Rounding | None = None
    ) -> Values:
        value_of, module = self.variables.__getitem__, self.plan.module
        return evaluate(goldens, leaves, value_of, module, dtype, self.undefined, rounding)


def _is_narrow(node: torch.fx.Node) -> bool:
    """bf16, fp16 or fp8: what passes through it is rounded, as float64 is not."""
    dtype = getattr(node.meta.get("val"), "dtype", None)
    return dtype is not None and dtype.is_floating_point and dtype.itemsize < 4


def _as_in_graph(node: torch.fx.Node, value: Any) -> Any:
    """A float in the dtype that the graph has for it."""
    import torch

    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(node.meta["val"].dtype) if is_float else value


def _as_rounded(generator: torch.Generator, step: torch.fx.Node, value: Any) -> Any:
    """What a function gives, as float32 might have rounded it: of angles that begin with constants alone nothing else
    says how far a power's last bit reaches. It is Monte Carlo arithmetic (Parker, 1997) of these functions."""
    return _moved(value, generator) if name_of(step).split(".")[1:2] in _FUNCTIONS else value


def _moved(value: Any, generator: torch.Generator) -> Any:
    """Floats moved up or down, or not, by a few units in the last place of float32."""
    import torch

    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    steps = torch.randint(-1, 2, value.shape, generator=generator)
    return value * (1 + _MOVED * steps)
