"""The types of Triton's `tt` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!tt.ptr<f32>`, `!tt.ptr<f32, 3>`, and the block pointer `!tt.ptr<tensor<8x8xf16>>`.

    pointee        the type a load gives
    address_space  1 (global memory) where the text has none
    """

    name = "tt.ptr"
    pointee: Attribute = param_def()
    address_space: IntAttr = param_def()

    def __init__(self, pointee: Attribute, address_space: int | IntAttr = 1) -> None:
        space = address_space if isinstance(address_space, IntAttr) else IntAttr(address_space)
        super().__init__(pointee, space)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = parser.parse_integer() if parser.parse_optional_punctuation(",") else 1
        return [pointee, IntAttr(space)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            if self.address_space.data != 1:
                printer.print_string(f", {self.address_space.data}")


@irdl_attr_definition
class TensorDescriptorType(ParametrizedAttribute, TypeAttribute):
    """A descriptor of a tensor in memory that is read in blocks.

    Releases up to 3.7 write `!tt.tensordesc<tensor<32x64xf16>>`, later ones `!tt.tensordesc<32x64xf16>`,
    with a shared-memory encoding after the passes that assign one. `block` is the same tensor type for both,
    its element type as written (`ui8` keeps its sign); `spelling` ("tensor" or "shape") is what tells
    them apart in print.
    """

    name = "tt.tensordesc"
    block: TensorType = param_def()
    spelling: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if (block := parser.parse_optional_type()) is not None:
                if not isinstance(block, TensorType):
                    parser.raise_error("a tensor descriptor describes a tensor")
                return [block, StringAttr("tensor")]
            shape, element = parser.parse_ranked_shape()
            encoding = parser.parse_attribute() if parser.parse_optional_punctuation(",") else NoneAttr()
        return [TensorType(element, shape, encoding), StringAttr("shape")]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.spelling.data == "tensor":
                printer.print_attribute(self.block)
                return
            printer.print_string("".join(f"{extent}x" for extent in self.block.get_shape()))
            printer.print_attribute(self.block.element_type)
            if not isinstance(self.block.encoding, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.block.encoding)
