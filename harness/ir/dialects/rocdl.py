"""`rocdl`: what AMD's passes ask of the scheduler; none of it computes anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def

from harness.ir.codecs import BareIntegerCodec
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Syntax

if TYPE_CHECKING:
    from harness.ir.parser import ModuleParser
    from harness.ir.printer import ModulePrinter

_KEYWORDS = re.compile(r"\s*([a-z]\w*(?:\s*\|\s*[a-z]\w*)*)")


@irdl_op_definition
class SetPrioOp(IRDLOperation):
    name = "rocdl.s.setprio"
    priority = prop_def(IntegerAttr)


@irdl_op_definition
class SchedBarrierOp(IRDLOperation):
    """mask: which instructions may pass it, a number to 3.8 and keywords from 3.9."""

    name = "rocdl.sched.barrier"
    mask = prop_def(IntegerAttr | StringAttr)


@irdl_op_definition
class SBarrierOp(IRDLOperation):
    name = "rocdl.s.barrier"


class InstructionsCodec:
    """A bare number, or keywords joined by `|`, which are kept as they stand: nothing here reads them."""

    number = BareIntegerCodec()

    def begins(self, parser: ModuleParser) -> bool:
        return self.number.begins(parser) or _KEYWORDS.match(parser.text, parser.at) is not None

    def parse(self, parser: ModuleParser) -> Attribute:
        if self.number.begins(parser):
            return self.number.parse(parser)
        return StringAttr(parser.expect_pattern(_KEYWORDS, "a number or kinds of instructions")[1])

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        if isinstance(value, StringAttr):
            printer.word(value.data)
        else:
            self.number.print(printer, value)


def build() -> DialectSyntax:
    formats = [
        Syntax(SetPrioOp, "$priority attr-dict", codecs={"priority": BareIntegerCodec()}),
        Syntax(SchedBarrierOp, "$mask attr-dict", codecs={"mask": InstructionsCodec()}),
        Syntax(SBarrierOp, "attr-dict"),
    ]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    return DialectSyntax(Dialect("rocdl", list(syntaxes)), syntaxes)
