"""`ttng` on Blackwell: tensor memory and the products that end there."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    var_operand_def,
)

from harness.ir.dialects.ttg_types import AsyncToken
from harness.ir.elements import OpShape, Parsed
from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.syntax import Syntax

_SIZED = (AttrSizedOperandSegments(as_property=True),)
_TOKEN = AsyncToken()


@dataclass(frozen=True)
class TokenElement:
    """`[%token]`, or `[]`, after an operand: what came before; an op that has it gives a token, too."""

    operand: str
    result: str = "token"

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        if not parser.accept("["):
            return
        parsed.types[self.result] = [_TOKEN]
        if not parser.accept("]"):
            parsed.operands[self.operand] = [parser.use()]
            parser.need("]")

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees("[")

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return getattr(op, self.result) is not None

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        if self.present(op, syntax):
            printer.glued(f"[{printer.values(syntax.operands(op, self.operand))}]")


@dataclass(frozen=True)
class SignalsElement:
    """`, %barrier[%predicate], ...`: what is told when the op ends."""

    barriers: str = "barriers"
    predicates: str = "barrier_preds"

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        barriers, predicates = [], []
        while parser.accept(","):
            barriers.append(parser.use())
            parser.need("[")
            predicates.append(parser.use())
            parser.need("]")
        parsed.operands |= {self.barriers: barriers, self.predicates: predicates}

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees(",")

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return bool(syntax.operands(op, self.barriers))

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        told = (syntax.operands(op, name) for name in (self.barriers, self.predicates))
        for barrier, predicate in zip(*told, strict=True):
            printer.glued(f", {printer.value(barrier)}[{printer.value(predicate)}]")


@irdl_op_definition
class TMEMAllocOp(IRDLOperation):
    """Tensor memory of this program, with the tensor `src` in it where there is one."""

    name = "ttng.tmem_alloc"
    src = opt_operand_def()
    result = result_def()
    token = opt_result_def(AsyncToken)


@irdl_op_definition
class TMEMLoadOp(IRDLOperation):
    name = "ttng.tmem_load"
    src = operand_def()
    dep = opt_operand_def(AsyncToken)
    result = result_def()
    token = opt_result_def(AsyncToken)


@irdl_op_definition
class TMEMStoreOp(IRDLOperation):
    """Where `pred` holds."""

    name = "ttng.tmem_store"
    src = operand_def()
    dst = operand_def()
    dep = opt_operand_def(AsyncToken)
    pred = operand_def()
    token = opt_result_def(AsyncToken)


@irdl_op_definition
class TMEMSubSliceOp(IRDLOperation):
    """The part of `src` from an offset on, which `N` says (to 3.8) or `offset` and `dim`."""

    name = "ttng.tmem_subslice"
    src = operand_def()
    N = opt_prop_def(IntegerAttr)
    offset = opt_prop_def(IntegerAttr)
    dim = prop_def(IntegerAttr, default_value=IntegerAttr(1, i32))
    result = result_def()


@irdl_op_definition
class TCGen5MMAOp(IRDLOperation):
    """d = a @ b + d where `pred`, without d where `useD` is false; `is_async`: it tells `barriers` when it ends."""

    name = "ttng.tc_gen5_mma"
    a = operand_def()
    b = operand_def()
    d = operand_def()
    acc_dep = opt_operand_def(AsyncToken)
    useD = operand_def()
    pred = operand_def()
    barriers = var_operand_def()
    barrier_preds = var_operand_def()
    is_async = opt_prop_def(UnitAttr)
    two_ctas = opt_prop_def(UnitAttr)
    multicast = opt_prop_def(UnitAttr)
    is_unsigned = opt_prop_def(UnitAttr)
    token = opt_result_def(AsyncToken)
    irdl_options = _SIZED


@irdl_op_definition
class TCGen5CommitOp(IRDLOperation):
    """Tells `barrier` when all products that were begun before have ended."""

    name = "ttng.tc_gen5_commit"
    barrier = operand_def()
    pred = opt_operand_def()
    descs = var_operand_def()
    two_ctas = opt_prop_def(UnitAttr)
    irdl_options = _SIZED


def formats() -> list[Syntax]:
    """The formats of all of them."""
    after = {"Token": TokenElement("dep")}
    return [
        Syntax(TMEMAllocOp, "($src^)? attr-dict `:` functional-type(operands, results)"),
        Syntax(
            TMEMLoadOp,
            "$src custom<Token> attr-dict `:` type($src) `->` type($result)",
            {"dep": _TOKEN},
            customs=after,
        ),
        Syntax(
            TMEMStoreOp,
            "$src `,` $dst custom<Token> `,` $pred attr-dict `:` type($src) `->` type($dst)",
            {"dep": _TOKEN, "pred": i1},
            customs=after,
        ),
        Syntax(TMEMSubSliceOp, "$src attr-dict `:` type($src) `->` type($result)"),
        Syntax(
            TCGen5MMAOp,
            "$a `,` $b `,` $d custom<Token> `,` $useD `,` $pred custom<Signals> attr-dict"
            " `:` type($a) `,` type($b) `,` type($d) (`,` type($barriers)^)?",
            {"acc_dep": _TOKEN, "useD": i1, "pred": i1, "barrier_preds": i1},
            customs={"Token": TokenElement("acc_dep"), "Signals": SignalsElement()},
        ),
        Syntax(
            TCGen5CommitOp,
            "$barrier (`,` $pred^)? (`descs` $descs^)? attr-dict `:` type($barrier) (`,` type($descs)^)?",
            {"pred": i1},
        ),
    ]
