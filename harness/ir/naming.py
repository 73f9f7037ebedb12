"""Names for the values and blocks of a module, as MLIR's printer chooses them."""

from __future__ import annotations

from itertools import groupby

from xdsl.ir import Block, Operation, Region, SSAValue


class Names:
    """Numbers a whole module at once: all values of a region first, then those of the regions inside it, which
    go on from there (so two branches of one op use the same numbers). A function starts afresh."""

    def __init__(self) -> None:
        self._values: dict[SSAValue, str] = {}
        self._results: dict[Operation, str] = {}
        self._blocks: dict[Block, str] = {}

    def value(self, value: SSAValue) -> str:
        return self._values[value]

    def results(self, op: Operation) -> str:
        return self._results[op]

    def block(self, block: Block) -> str:
        return self._blocks[block]

    def number(self, op: Operation) -> None:
        scope = _Scope({}, 0, 0)
        self._operation(op, scope)
        self._regions(op, scope)

    def _regions(self, op: Operation, scope: _Scope) -> None:
        isolated = op.name.endswith(".func") or op.name == "builtin.module"
        for region in op.regions:
            self._region(region, _Scope({}, 0, 0) if isolated else scope.inner())

    def _region(self, region: Region, scope: _Scope) -> None:
        for index, block in enumerate(region.blocks):
            self._blocks[block] = f"^bb{index}"
            for arg in block.args:
                self._values[arg] = "%" + scope.name(arg.name_hint, "arg" if not index else None)
            for op in block.ops:
                self._operation(op, scope)
        for block in region.blocks:
            for op in block.ops:
                if op.regions:
                    self._regions(op, scope)

    def _operation(self, op: Operation, scope: _Scope) -> None:
        """Results that share a name are one group, `%a:2`, used as `%a#0` and `%a#1`."""
        groups = [
            (scope.name(hint), list(group)) for hint, group in groupby(op.results, key=lambda result: result.name_hint)
        ]
        for name, group in groups:
            for index, result in enumerate(group):
                self._values[result] = f"%{name}" if len(group) == 1 else f"%{name}#{index}"
        self._results[op] = ", ".join(
            f"%{name}" if len(group) == 1 else f"%{name}:{len(group)}" for name, group in groups
        )


class _Scope:
    """Names taken so far, the next number, and the next suffix that makes a taken name unique."""

    def __init__(self, taken: dict[str, bool], number: int, suffix: int) -> None:
        self._taken = taken
        self._number = number
        self._suffix = suffix

    def inner(self) -> _Scope:
        return _Scope(dict(self._taken), self._number, self._suffix)

    def name(self, hint: str | None, anonymous: str | None = None) -> str:
        if hint is None and anonymous is None:
            self._number += 1
            return str(self._number - 1)
        hint = hint or anonymous or ""
        name = hint
        while name in self._taken:
            name = f"{hint}_{self._suffix}"
            self._suffix += 1
        self._taken[name] = True
        return name
