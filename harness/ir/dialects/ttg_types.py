"""The types and layout attributes of Triton's GPU dialects."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer


def _parse_field(parser: AttrParser) -> Attribute:
    """A field of a layout: a number, a boolean, a (nested) list of them, a word or another layout."""
    if parser.parse_optional_punctuation("[") is not None:
        items: list[Attribute] = []
        while parser.parse_optional_punctuation("]") is None:
            items.append(_parse_field(parser))
            parser.parse_optional_punctuation(",")
        return ArrayAttr(items)
    boolean = parser.parse_optional_boolean()
    if boolean is not None:
        return IntegerAttr(int(boolean), i1)
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return IntAttr(number)
    word = parser.parse_optional_identifier()
    return parser.parse_attribute() if word is None else StringAttr(word)


def _print_field(printer: Printer, value: Attribute) -> None:
    if isinstance(value, ArrayAttr):
        with printer.in_square_brackets():
            printer.print_list(value.data, lambda item: _print_field(printer, item))
    elif isinstance(value, IntAttr):
        printer.print_string(str(value.data))
    elif isinstance(value, IntegerAttr):
        printer.print_string("true" if value.value.data else "false")
    elif isinstance(value, StringAttr):
        printer.print_string(value.data)
    else:
        printer.print_attribute(value)


def _parse_fields(parser: AttrParser) -> DictionaryAttr:
    """`{name = field, ...}`"""
    fields: dict[str, Attribute] = {}
    parser.parse_punctuation("{")
    while parser.parse_optional_punctuation("}") is None:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        fields[name] = _parse_field(parser)
        parser.parse_optional_punctuation(",")
    return DictionaryAttr(fields)


def _print_fields(printer: Printer, fields: DictionaryAttr) -> None:
    with printer.in_braces():
        _print_named(printer, fields)


def _print_named(printer: Printer, fields: DictionaryAttr) -> None:
    for index, (name, value) in enumerate(fields.data.items()):
        printer.print_string(f"{', ' if index else ''}{name} = ")
        _print_field(printer, value)


class Layout(ParametrizedAttribute):
    """`#ttg.blocked<{sizePerThread = [1, 4], ...}>`: a layout by its fields, as written."""

    fields: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [_parse_fields(parser)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_fields(printer, self.fields)


@irdl_attr_definition
class BlockedLayout(Layout):
    name = "ttg.blocked"


@irdl_attr_definition
class SliceLayout(Layout):
    name = "ttg.slice"


@irdl_attr_definition
class LinearLayout(Layout):
    name = "ttg.linear"


@irdl_attr_definition
class GenericLinearLayout(Layout):
    name = "ttg.generic_linear"


@irdl_attr_definition
class DotOperandLayout(Layout):
    name = "ttg.dot_op"


@irdl_attr_definition
class NvidiaMmaLayout(Layout):
    name = "ttg.nvidia_mma"


@irdl_attr_definition
class AmdMfmaLayout(Layout):
    name = "ttg.amd_mfma"


@irdl_attr_definition
class AmdWmmaLayout(Layout):
    name = "ttg.amd_wmma"


@irdl_attr_definition
class SwizzledSharedLayout(Layout):
    name = "ttg.swizzled_shared"


@irdl_attr_definition
class NvmmaSharedLayout(Layout):
    name = "ttg.nvmma_shared"


@irdl_attr_definition
class AmdRotatingSharedLayout(Layout):
    name = "ttg.amd_rotating_shared"


@irdl_attr_definition
class PartitionedSharedLayout(Layout):
    name = "ttg.partitioned_shared"


@irdl_attr_definition
class SharedLinearLayout(ParametrizedAttribute):
    """`#ttg.shared_linear<{offset = ..., block = []}, alignment = 16>`"""

    name = "ttg.shared_linear"
    fields: DictionaryAttr = param_def()
    alignment: IntAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            fields = _parse_fields(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("alignment")
            parser.parse_punctuation("=")
            return [fields, IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_fields(printer, self.fields)
            printer.print_string(f", alignment = {self.alignment.data}")


@irdl_attr_definition
class PaddedSharedLayout(ParametrizedAttribute):
    """`#ttg.padded_shared<[512:+16, ...] {offset = ..., block = []}>`: `paddings` are pairs (interval, padding)."""

    name = "ttg.padded_shared"
    paddings: ArrayAttr[ArrayAttr[IntAttr]] = param_def()
    fields: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        pairs: list[ArrayAttr[IntAttr]] = []
        with parser.in_angle_brackets():
            parser.parse_punctuation("[")
            while parser.parse_optional_punctuation("]") is None:
                interval = parser.parse_integer()
                parser.parse_punctuation(":")
                parser.parse_punctuation("+")
                pairs.append(ArrayAttr([IntAttr(interval), IntAttr(parser.parse_integer())]))
                parser.parse_optional_punctuation(",")
            return [ArrayAttr(pairs), _parse_fields(parser)]

    def print_parameters(self, printer: Printer) -> None:
        pairs = ", ".join(f"{pair.data[0].data}:+{pair.data[1].data}" for pair in self.paddings.data)
        with printer.in_angle_brackets():
            printer.print_string(f"[{pairs}] ")
            _print_fields(printer, self.fields)


@irdl_attr_definition
class SharedMemory(ParametrizedAttribute):
    """The memory space that the programs' threads share."""

    name = "ttg.shared_memory"


@irdl_attr_definition
class AsyncToken(ParametrizedAttribute, TypeAttribute):
    """What an asynchronous copy gives and a wait takes."""

    name = "ttg.async.token"


@irdl_attr_definition
class MemDesc(ParametrizedAttribute, TypeAttribute):
    """`!ttg.memdesc<2x32x64xf16, #shared, #smem, mutable, 4x32x64>`: a view of memory inside the chip.

    mutable_     "mutable", or "" for one that is written once, where it is made
    allocation   extents of the allocation it is a part of, where they differ from its own; () otherwise
    """

    name = "ttg.memdesc"
    shape: ArrayAttr[IntAttr] = param_def()
    element_type: Attribute = param_def()
    layout: Attribute = param_def()
    space: Attribute = param_def()
    mutable_: StringAttr = param_def()
    allocation: ArrayAttr[IntAttr] = param_def()

    def get_shape(self) -> tuple[int, ...]:
        return tuple(extent.data for extent in self.shape.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            layout = parser.parse_attribute()
            parser.parse_punctuation(",")
            space = parser.parse_attribute()
            mutable, allocation = "", []
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("mutable") is not None:
                    mutable = "mutable"
                else:
                    allocation = parser.parse_dimension_list()
        return [_integers(shape), element, layout, space, StringAttr(mutable), _integers(allocation)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("".join(f"{extent}x" for extent in self.get_shape()))
            for index, part in enumerate((self.element_type, self.layout, self.space)):
                printer.print_string(", " if index else "")
                printer.print_attribute(part)
            if self.mutable_.data:
                printer.print_string(", mutable")
            if self.allocation.data:
                printer.print_string(", " + "x".join(str(extent.data) for extent in self.allocation.data))


def _integers(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(value) for value in values])


@irdl_attr_definition
class TensorMemorySpace(ParametrizedAttribute):
    """The memory of Blackwell's tensor cores."""

    name = "ttng.tensor_memory"


class _BareLayout(Layout):
    """Its fields stand without braces."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        fields: dict[str, Attribute] = {}
        with parser.in_angle_brackets():
            while (name := parser.parse_optional_identifier()) is not None:
                parser.parse_punctuation("=")
                fields[name] = _parse_field(parser)
                parser.parse_optional_punctuation(",")
        return [DictionaryAttr(fields)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_named(printer, self.fields)


@irdl_attr_definition
class TensorMemoryLayout(_BareLayout):
    name = "ttng.tensor_memory_encoding"


@irdl_attr_definition
class TensorMemoryScalesLayout(_BareLayout):
    name = "ttng.tensor_memory_scales_encoding"


LAYOUTS: tuple[type[Attribute], ...] = (
    BlockedLayout,
    SliceLayout,
    LinearLayout,
    GenericLinearLayout,
    DotOperandLayout,
    NvidiaMmaLayout,
    AmdMfmaLayout,
    AmdWmmaLayout,
    SwizzledSharedLayout,
    NvmmaSharedLayout,
    AmdRotatingSharedLayout,
    PartitionedSharedLayout,
    SharedLinearLayout,
    PaddedSharedLayout,
)
TYPES: tuple[type[Attribute], ...] = (MemDesc, AsyncToken, SharedMemory)
TENSOR_MEMORY: tuple[type[Attribute], ...] = (TensorMemorySpace, TensorMemoryLayout, TensorMemoryScalesLayout)
