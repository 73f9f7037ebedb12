"""What is known of a compiled graph before it runs: its kernels, their buffers, and the graph node each one holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.cases.location import SourceLocation

if TYPE_CHECKING:
    import torch.fx


@dataclass(frozen=True)
class Output:
    """A buffer that a kernel finishes.

    variable  what the generated code calls it: of a buffer that is changed in place, the changed one
    node      whose value it holds afterwards; None where Inductor keeps no node for it
    why       why there is no node
    guesses   nodes whose value it may hold then, perhaps in another shape: that it holds one of them can be shown, that
              it should have cannot
    """

    name: str
    variable: str
    node: torch.fx.Node | None
    why: str = ""
    guesses: tuple[torch.fx.Node, ...] = ()


@dataclass
class Kernel:
    """One launch of generated code, or one step without any (a concatenation whose parts are in place already).

    number   from 0, in the order in which the graph runs
    reads    buffers and graph inputs that it reads, as the generated code calls them
    frees    variables whose values nobody reads any more
    reuses   by output, the variables in whose memory it lies: of the one before, of the one before that, ...
    extern   what runs on the host instead, or ""; `reason` says why, `where` for which line of the model
    data     what it makes is no value of the model, but what the host gives it: seeds of random numbers
    """

    number: int
    reads: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    frees: tuple[str, ...] = ()
    reuses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    launches: bool = True
    extern: str = ""
    reason: str = ""
    where: SourceLocation | None = None
    data: bool = False


@dataclass
class GraphPlan:
    """One graph that Inductor compiled: "forward", "backward" or "inference", numbered where there are several.

    module   the post-grad graph, with the tensors that it holds itself
    """

    number: int
    name: str
    module: torch.fx.GraphModule
    kernels: list[Kernel] = field(default_factory=list)

    @property
    def inputs(self) -> dict[str, torch.fx.Node]:
        """The graph's inputs by name, which is what the generated code calls them too."""
        return {str(node.target): node for node in self.module.graph.find_nodes(op="placeholder")}


def place_of(node: torch.fx.Node | None) -> SourceLocation | None:
    """The line of the model that a node comes from: the innermost one that is not torch's own."""
    trace = node.meta.get("stack_trace") if node is not None else None
    lines = re.findall(r'File "([^"]+)", line (\d+)', trace or "")
    own = [one for one in lines if "/torch/nn/" not in one[0]] or lines
    return SourceLocation(own[-1][0], int(own[-1][1])) if own else None
