"""The gate: what the allowlist expects against what the run showed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cases.evidence import Verdict
from harness.gate.allowlist import Entry, KnownFailure, parse, read_lines
from harness.verdicts import is_absent, is_simulated, owes_simulation


@dataclass(frozen=True)
class Scope:
    """Which cases the run is about.

    collected  every case's node id that was collected, before -k, -m, --lf or a shard took any away
    selected   those of them that were to run; None means all
    whole      everything there is was collected: no path, node id or --ignore narrowed the collection.
               Only then can a line that matches nothing be called stale
    targets    the targets chosen; a line that names another one is out of scope. None means any
    unfinished what did not run to its end, and why: ("Shard 3/4", "has no record"). Each is red
    left_out   how the node ids begin of cases that a run collects only when it is asked to: a line of theirs is out
               of scope
    """

    collected: frozenset[str]
    selected: frozenset[str] | None = None
    whole: bool = True
    targets: frozenset[str] | None = None
    unfinished: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def of_verdicts(cls, verdicts: Iterable[Verdict], unfinished: Iterable[tuple[str, str]] = ()) -> Scope:
        """The scope of a whole run, such as merged shards, of which only the verdicts are left."""
        listed, missing = list(verdicts), tuple(unfinished)
        targets = frozenset(verdict.target for verdict in listed)
        return cls(frozenset(verdict.case for verdict in listed), None, not missing, targets, missing)

    @property
    def run(self) -> frozenset[str]:
        return self.collected if self.selected is None else self.selected


@dataclass(frozen=True)
class Problem:
    """One reason for red. `kind` is a key of PROBLEM_KINDS; `line` is 0 where no line is to blame."""

    kind: str
    case: str
    line: int
    message: str


PROBLEM_KINDS: Mapping[str, str] = {
    "failed": "a listed case failed",
    "unearned": "a listed case passed without a simulated launch",
    "not-run": "a listed case, or a part of the run, has no verdict",
    "fixed": "a known failure passes",
    "moved": "a known failure fails elsewhere",
    "void": "the run is void",
    "empty": "the list expects nothing, so that the gate would be green whatever happened",
    "stale": "a line matches nothing",
    "twice": "a line is written twice",
    "conflict": "two lines expect different things of one case",
    "unlisted": "a case is not on the list (strict gate)",
}


@dataclass
class GateResult:
    """What the gate found. Plain data; goes into the record.

    lines, out_of_scope   how many lines there are; how many of them were not judged
    gated                 how many cases were held to a line
    candidates            cases off the list that pass: `harness allow` takes them
    unlisted_failures     cases off the list that do not
    known_failures        cases that fail just as a line says
    absent                listed cases with nothing to run in this release of Triton: see `harness.cases.features`
    """

    allowlist: str
    strict: bool = False
    problems: list[Problem] = field(default_factory=list)
    gated: int = 0
    out_of_scope: int = 0
    candidates: list[str] = field(default_factory=list)
    unlisted_failures: list[str] = field(default_factory=list)
    known_failures: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    lines: int = 0

    @property
    def is_green(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Gate:
    """The entries of one allowlist. `Gate.load(path).check(verdicts, scope)`."""

    path: str
    entries: tuple[Entry, ...]

    @classmethod
    def load(cls, path: str | Path) -> Gate:
        """Reads and parses. Raises UsageError, with FILE:LINE, for a file or line that cannot be used."""
        path = Path(path)
        return cls(str(path), tuple(parse(read_lines(path), str(path))))

    def check(self, verdicts: Sequence[Verdict], scope: Scope, *, strict: bool = False) -> GateResult:
        """Judges every verdict that a line is about, and every line that the scope can judge."""
        result = GateResult(self.path, strict, lines=len(self.entries))
        result.problems += self._written_twice()
        result.problems += [
            Problem("not-run", part, 0, f"{what}: its cases have no verdict") for part, what in scope.unfinished
        ]
        if not self.entries and verdicts:
            message = "expects nothing of any case: take cases up with `harness allow`"
            result.problems.append(Problem("empty", self.path, 0, message))
        exact, wild = self._indexed()
        matches = {case: self._matching(case, exact, wild) for case in sorted(scope.collected)}
        self._judge_cases(verdicts, scope, matches, result)
        self._judge_lines(scope, matches, result)
        return result

    def known_failure(self, case: str) -> KnownFailure | None:
        """How `case` is listed as failing, if it is."""
        return next((entry.known for entry in self.entries if entry.known and entry.matches(case)), None)

    def expects(self, verdict: Verdict) -> KnownFailure | None:
        """The known failure that the verdict is, if it is one."""
        known = self.known_failure(verdict.case)
        return known if known and _is_as_known(verdict, known) else None

    def _indexed(self) -> tuple[dict[str, list[Entry]], list[Entry]]:
        exact: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.is_exact:
                exact.setdefault(entry.pattern, []).append(entry)
        return exact, [entry for entry in self.entries if not entry.is_exact]

    def _matching(self, case: str, exact: dict[str, list[Entry]], wild: list[Entry]) -> list[Entry]:
        return exact.get(case, []) + [entry for entry in wild if entry.matches(case)]

    def _written_twice(self) -> list[Problem]:
        first: dict[str, Entry] = {}
        problems = []
        for entry in self.entries:
            known = first.setdefault(entry.pattern, entry)
            if known is not entry:
                message = f"is written twice: line {known.line} has it too"
                problems.append(Problem("twice", entry.pattern, entry.line, message))
        return problems

    def _judge_cases(
        self, verdicts: Sequence[Verdict], scope: Scope, matches: Mapping[str, list[Entry]], result: GateResult
    ) -> None:
        by_case = {verdict.case: verdict for verdict in verdicts}
        for case in sorted(scope.run | set(by_case)):
            entries = matches.get(case)
            if entries is None:  # a verdict on something the scope forgot: judge it all the same
                entries = [entry for entry in self.entries if entry.matches(case)]
            verdict = by_case.get(case)
            if not entries:
                _judge_unlisted(case, verdict, result)
                continue
            if verdict is not None and is_absent(verdict):
                result.absent.append(case)
                continue
            result.gated += 1
            result.problems += _conflicts(case, entries)
            result.problems += _judge_listed(case, entries[0], verdict, result)

    def _judge_lines(self, scope: Scope, matches: Mapping[str, list[Entry]], result: GateResult) -> None:
        matched = {entry.line for entries in matches.values() for entry in entries}
        judged = {entry.line for case in scope.run for entry in matches.get(case, ())}
        for entry in self.entries:
            if entry.line in judged:
                continue
            if entry.line in matched or not _can_be_stale(entry, scope):
                result.out_of_scope += 1
                continue
            message = "matches no case: mend the node id, or take it off with `harness disallow`"
            result.problems.append(Problem("stale", entry.pattern, entry.line, message))


def _can_be_stale(entry: Entry, scope: Scope) -> bool:
    other_target = entry.target and scope.targets is not None and entry.target not in scope.targets
    return scope.whole and not other_target and not entry.pattern.startswith(scope.left_out)


def _conflicts(case: str, entries: Sequence[Entry]) -> list[Problem]:
    first = entries[0]
    return [
        Problem("conflict", case, entry.line, f"is expected to do one thing here and another in line {first.line}")
        for entry in entries[1:]
        if entry.pattern != first.pattern and _expectation(entry) != _expectation(first)
    ]


def _expectation(entry: Entry) -> tuple[str, str]:
    return (entry.known.bucket, entry.known.stage) if entry.known else ("", "")


def _judge_unlisted(case: str, verdict: Verdict | None, result: GateResult) -> None:
    if verdict is None or verdict.outcome == "skip":
        return
    kept = result.candidates if verdict.outcome == "pass" else result.unlisted_failures
    kept.append(case)
    if result.strict:
        result.problems.append(Problem("unlisted", case, 0, f"is not on the list: {_brief(verdict)}"))


def _judge_listed(case: str, entry: Entry, verdict: Verdict | None, result: GateResult) -> list[Problem]:
    if verdict is None:
        return [Problem("not-run", case, entry.line, "has no verdict: the run ended before it")]
    if verdict.outcome == "void":
        return [Problem("void", case, entry.line, f"proves nothing: {verdict.summary}")]
    if entry.known is None:
        return _judge_must_pass(case, entry, verdict)
    return _judge_known(case, entry, entry.known, verdict, result)


def _judge_must_pass(case: str, entry: Entry, verdict: Verdict) -> list[Problem]:
    if verdict.outcome != "pass":
        return [Problem("failed", case, entry.line, f"must pass and does not: {_brief(verdict)}")]
    if owes_simulation(verdict.target) and not is_simulated(verdict.evidence):
        return [Problem("unearned", case, entry.line, "passed without a simulated launch, which proves nothing")]
    return []


def _judge_known(case: str, entry: Entry, known: KnownFailure, verdict: Verdict, result: GateResult) -> list[Problem]:
    if verdict.outcome == "pass":
        message = f"passes now, and the line says it {known}; take the line up with `harness allow`"
        return [Problem("fixed", case, entry.line, message)]
    if _is_as_known(verdict, known):
        result.known_failures.append(case)
        return []
    place = f" at {known.stage}" if known.stage else ""
    message = f"moved from {known.bucket}{place} to {_brief(verdict)}"
    return [Problem("moved", case, entry.line, message)]


def _is_as_known(verdict: Verdict, known: KnownFailure) -> bool:
    return verdict.bucket == known.bucket and known.stage in ("", verdict.stage)


def _brief(verdict: Verdict) -> str:
    if verdict.outcome == "pass":
        return "passes"
    # A failure says its own piece elsewhere; a skip has no other place.
    return f"{verdict.bucket} at {verdict.stage}" if verdict.bucket else f"{verdict.outcome}: {verdict.summary}"
