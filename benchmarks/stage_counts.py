"""`python -m benchmarks.stage_counts TARGET [FILE...] [--each N]`: how many stages of the coverage kernels match,
differ and cannot be executed on a GPU backend's pipeline, and which ops are to blame.

No false alarm on correct kernels is what the executor of GPU IR is worth: this counts them.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.bisect.results import Bisection
from harness.bisect.run import bisect_case
from harness.cases.kernel_case import CaseInstance
from harness.cases.loading import case_files, load_templates

FOLDER = Path(__file__).parents[1] / "coverage_kernels"


@dataclass
class Counts:
    """Stages by verdict; `executed` counts distinct programs; `blockers` the stages each op kept from running."""

    verdicts: Counter[str] = field(default_factory=Counter)
    blockers: Counter[str] = field(default_factory=Counter)
    executed: int = 0
    remarks: list[str] = field(default_factory=list)

    def add(self, name: str, bisection: Bisection) -> None:
        for one in bisection.launches:
            self.executed += sum(result.same_as is None for result in one.results)
            for result in one.results:
                self.verdicts[result.verdict] += 1
                if result.verdict == "not executed":
                    self.blockers[result.blocker] += 1
            self._remark(name, one.capture.failure, [finding for result in one.results for finding in result.findings])
            change = one.first_change()
            if change is not None:
                self.remarks.append(f"{name}: changed by {', '.join(change.suspects)}: {change.after.reason}")
            elif one.count("differs"):
                self.remarks.append(f"{name}: differs from the first stage on")

    def _remark(self, name: str, failure: object, findings: Sequence[object]) -> None:
        if failure is not None:
            self.remarks.append(f"{name}: the compiler failed: {getattr(failure, 'pass_name', '')}")
        self.remarks += [f"{name}: {finding}" for finding in dict.fromkeys(map(str, findings))]


def chosen(files: Sequence[Path], each: int) -> Iterator[tuple[str, CaseInstance]]:
    """Up to `each` cases of every declaration, spread over its parameters."""
    for path in files:
        for template in load_templates(path):
            instances = template.instances()
            for instance in instances[:: max(1, len(instances) // each)][:each]:
                yield f"{path.parent.name}/{path.name}::{template.name}[{instance.parameter_id}]", instance


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stage_counts", description=__doc__)
    parser.add_argument("target", help="such as cuda:90 or hip:gfx942")
    parser.add_argument("files", nargs="*", type=Path, help="case files; all coverage kernels where none is named")
    parser.add_argument("--each", type=int, default=1, help="cases of every declaration")
    options = parser.parse_args(arguments)
    counts, started = Counts(), time.perf_counter()
    for name, instance in chosen(options.files or case_files(FOLDER), options.each):
        try:
            counts.add(name, bisect_case(instance, options.target))
        except Exception as error:  # a case that the target's front end refuses is counted, not the end
            counts.verdicts["refused"] += 1
            counts.remarks.append(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[-1:]}")
    print("\n".join(counts.remarks))
    print(f"{dict(counts.verdicts)}, {counts.executed} programs executed, {time.perf_counter() - started:.1f} s")
    for blocker, number in counts.blockers.most_common():
        print(f"not executed: {blocker}: {number} stages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
