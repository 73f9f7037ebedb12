"""One zygote for the inner runs of pytest in this process: most are about what becomes of cases, and would each start
one of their own, which takes longer than all else they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Imported here, since inner runs forget what they import.
from harness.cases.evidence import Evidence
from harness.cases.loading import CaseSummary
from harness.collection.cases import EXECUTION
from harness.isolation import CaseRequest, IsolatedRunner

MISBEHAVIOUR = Path(__file__).parent / "isolation"
_CASE = "from harness.cases import case\n\n@case()\ndef first(): ...\n"


class KeptZygote:
    """A plugin of an inner run, and the runner of that run's cases: the run's end is not the zygote's."""

    def __init__(self, runner: IsolatedRunner) -> None:
        self._runner = runner

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[EXECUTION]._runners[()] = self  # type: ignore[assignment]

    def collect(self, path: Path, timeout: float) -> list[CaseSummary]:
        return self._runner.collect(path, timeout)

    def end_collection(self) -> None:
        self._runner.end_collection()

    def run(self, request: CaseRequest, timeout: float) -> Evidence:
        return self._runner.run(request, timeout)

    def close(self) -> None:
        self._runner.let_go()


@contextmanager
def kept_zygote(folder: Path) -> Iterator[KeptZygote]:
    """One that has imported nothing yet, started in `folder`, which must be there as long as it is."""
    runner = IsolatedRunner(preload=())
    (folder / "first.py").write_text(_CASE, encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(MISBEHAVIOUR)
        runner.collect(folder / "first.py", 60)
    try:
        yield KeptZygote(runner)
    finally:
        runner.close()
