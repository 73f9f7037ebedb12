"""`ub`: values that nobody may look at."""

from __future__ import annotations

from xdsl.dialects import ub
from xdsl.ir import Dialect

from harness.ir.codecs import AnyCodec
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import Syntax


def build() -> DialectSyntax:
    poison = Syntax(ub.PoisonOp, "attr-dict (`<` $value^ `>`)? `:` type($result)", codecs={"value": AnyCodec()})
    dialect: Dialect = next(item for item in vars(ub).values() if isinstance(item, Dialect))
    return DialectSyntax(dialect, {ub.PoisonOp: poison})
