"""A case in which nothing was written and nothing could have been: it would pass whatever a compiler does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.cases.evidence import BufferEvidence, Finding
from harness.cases.location import SourceLocation

# Dialects whose ops are known to leave memory alone, but for those of `tt` that are named. An op of any other dialect
# is taken to write.
_HARMLESS = re.compile(r"(arith|math|scf|cf|ub)\..*|tt\.(?!.*(store|atomic|descriptor_reduce|scatter|asm|extern)).*")
# Stops the program where it does not hold: a case of one says something without a store.
_CHECKS = "tt.assert"


def nothing_stored(
    operations: Iterable[str], buffers: Iterable[BufferEvidence], where: SourceLocation
) -> list[Finding]:
    """A finding where the IR that ran has no op that writes, and every golden is what its buffer held before.

    Judged by the IR and not by what was stored: a store that is masked off, in a branch not taken, in a loop of no
    turns or in a grid of no programs could have been executed by mistake, so that a golden beside it says something.
    `buffers` as compared; `where` is the case's line.
    """
    names = list(operations)
    compared = [buffer for buffer in buffers if buffer.compared]
    if not names or not compared or any(buffer.mismatch for buffer in compared):
        return []
    if any(name == _CHECKS or not _HARMLESS.fullmatch(name) for name in names):
        return []
    message = (
        f"no launch stores to any buffer, and the reference leaves {compared[0].name!r} as it was:"
        " the case passes whatever the compiler does"
    )
    return [Finding("reference", compared[0].name, message, where)]
