"""Lit cases made up for a test, and their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cases.evidence import Verdict
from harness.cases.lit_case import LitCase
from harness.cases.options import RunOptions
from harness.errors import CaseError
from harness.lit.run_case import run_case
from harness.verdicts import classify

Judge = Callable[..., Verdict]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """The verdict on a lit case with this text."""

    def judged(text: str, artifacts: str = "") -> Verdict:
        path = tmp_path / "case.mlir"
        path.write_text(text, encoding="utf-8")
        return classify(run_case(LitCase.load(path), "case.mlir", "lit", RunOptions(artifacts=artifacts)))

    return judged


@pytest.fixture
def refuse(tmp_path: Path) -> Callable[[str], str]:
    """What loading a lit case with this text says."""

    def refused(text: str) -> str:
        path = tmp_path / "case.mlir"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(CaseError) as caught:
            LitCase.load(path)
        return str(caught.value).removeprefix(str(tmp_path) + "/")

    return refused
