"""A pass over a graph before Inductor sees it: the bias of a convolution becomes an addition."""

from __future__ import annotations

from typing import Any


def peel_convolution_bias(graph: Any) -> None:
    """A fault of torch 2.13: on CPU tensors the Triton templates of convolutions drop the bias. kernel/conv.py makes
    an addition of it for every device but the CPU, and the templates never add it. Here the addition is made in the
    FX graph, before Inductor sees it, so that goldens are of the graph that is compiled.
    """
    import torch

    aten = torch.ops.aten
    for node in list(graph.find_nodes(op="call_function", target=aten.convolution.default)):
        value, weight, bias, *rest = node.args
        if bias is None:
            continue
        dims = node.meta["val"].dim()
        with graph.inserting_before(node):
            plain = graph.call_function(aten.convolution.default, (value, weight, None, *rest))
            shape = [-1] + [1] * (dims - 2)
            column = graph.call_function(aten.reshape.default, (bias, shape))
            total = graph.call_function(aten.add.Tensor, (plain, column))
        _take_over(node, plain, column, total)
        node.replace_all_uses_with(total)
        graph.erase_node(node)


def _take_over(node: Any, plain: Any, column: Any, total: Any) -> None:
    """Values and places of the nodes that stand for a convolution with a bias."""
    import torch

    for one in (plain, column, total):
        one.meta.update({key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta})
    plain.meta["val"] = node.meta["val"]
    total.meta["val"] = node.meta["val"]
    bias = node.args[2].meta["val"]
    column.meta["val"] = torch.ops.aten.reshape.default(bias, [-1] + [1] * (node.meta["val"].dim() - 2))
