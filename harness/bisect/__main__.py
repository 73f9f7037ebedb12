"""`python -m harness.bisect FILE[::case[id]] --target cuda:90`: the table of stages of each case."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from harness.bisect.results import Bisection, StageResult
from harness.bisect.run import bisect_case
from harness.cases.kernel_case import CaseInstance
from harness.cases.loading import load_templates

EXIT = {"clean": 0, "found": 1, "undecided": 2}


def instances(name: str) -> Iterator[CaseInstance]:
    """The cases that `FILE`, `FILE::case` or `FILE::case[id]` names."""
    path, _, chosen = name.partition("::")
    for template in load_templates(Path(path)):
        for instance in template.instances():
            if chosen in ("", template.name, f"{template.name}[{instance.parameter_id}]"):
                yield instance


def table(bisection: Bisection) -> str:
    """One line per stage, and what was found."""
    lines = []
    for one in bisection.launches:
        lines.append(f"{one.capture.kernel} on {bisection.target}, grid {one.grid}")
        lines += [_line(result) for result in one.results]
        if one.capture.failure is not None:
            lines.append(f"  the compiler failed in {one.capture.failure.pass_name}: {one.capture.failure.what}")
        change = one.first_change()
        if change is not None:
            lines.append(f"  changed by {', '.join(change.suspects)}: {change.after.reason}")
    return "\n".join([*lines, f"{bisection.outcome}"])


def _line(result: StageResult) -> str:
    same = f" (same program as {result.same_as})" if result.same_as is not None else ""
    timing = f" [{result.copied}]" if result.copied != "earliest" else ""
    races = f", {len(result.findings)} findings" if result.findings else ""
    reason = f": {result.reason}" if result.reason else ""
    verdict = f"{result.verdict}{timing}{same}{races}{reason}"
    return (
        f"  {result.number:3} {result.stage.pipeline:5} {result.stage.pass_name:44} {result.seconds:5.2f} s  {verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.bisect", description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--target", default="cuda:90")
    options = parser.parse_args()
    worst = 0
    for instance in instances(options.case):
        bisection = bisect_case(instance, options.target)
        print(f"{instance.template.name}[{instance.parameter_id}]")
        print(table(bisection))
        worst = max(worst, EXIT[bisection.outcome])
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
