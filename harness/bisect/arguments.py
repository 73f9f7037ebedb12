"""A launch's arguments as a stage's function takes them: a pass may take tensor descriptors apart."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from harness.executor import Argument, DescriptorArgument
from harness.ir.dialects.tt_types import TensorDescriptorType


def fitted(arguments: Sequence[Argument], parameters: Sequence[Attribute]) -> list[Argument]:
    """The arguments for a function with these parameters.

    Where a parameter is no descriptor any more, it is the base pointer, followed by the shape, the strides, whether
    elements outside are NaN and (from 3.7) whether they round to tf32, which no descriptor here does.
    """
    result: list[Argument] = []
    for argument in arguments:
        at = len(result)
        taken_apart = at < len(parameters) and not isinstance(parameters[at], TensorDescriptorType)
        if not isinstance(argument, DescriptorArgument) or not taken_apart:
            result.append(argument)
            continue
        result += [argument.base, *argument.shape, *argument.strides]
        for flag in (argument.padding == "nan", False):
            if len(result) < len(parameters) and parameters[len(result)] == i1:
                result.append(flag)
    return result
