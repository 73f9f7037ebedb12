"""The attributes and types of the `npu` dialect: where the elements of a tile are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class Lanes(ParametrizedAttribute):
    """`#npu.lanes<1>`: the axis whose indices are spread over the lanes; the other axes lie inside each lane."""

    name = "npu.lanes"
    axis: IntAttr = param_def()

    def __init__(self, axis: int | IntAttr) -> None:
        super().__init__(axis if isinstance(axis, IntAttr) else IntAttr(axis))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.axis.data))


@irdl_attr_definition
class Uniform(ParametrizedAttribute):
    """`#npu.uniform`: one copy, in the scratchpad that all lanes share."""

    name = "npu.uniform"


@irdl_attr_definition
class Token(ParametrizedAttribute, TypeAttribute):
    """`!npu.token`: a transfer that was started; what a wait takes."""

    name = "npu.token"


ATTRIBUTES: tuple[type[Attribute], ...] = (Lanes, Uniform, Token)
