"""`--machine`: which machine the npu target lowers to."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cases.options import RunOptions
from harness.collection.settings import Settings, _machine


def test_a_machine_that_does_not_exist_is_refused_with_the_known_ones() -> None:
    with pytest.raises(pytest.UsageError, match=r"--machine: there is no machine 'hugh'.*default, tiny, wide"):
        _machine("hugh")


def test_a_description_is_found_again_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text('base = "tiny"\nname = "mine"\ncores = 2\n')
    monkeypatch.chdir(tmp_path)
    assert _machine("mine.toml") == str(tmp_path / "mine.toml")


def test_a_rerun_is_on_the_same_machine(pytestconfig: pytest.Config) -> None:
    settings = Settings.of(pytestconfig)
    for machine, options in (("", ()), ("tiny", ("--machine=tiny",))):
        run = RunOptions(checks=settings.run.checks, machine=machine)
        rerun = Settings(**{**vars(settings), "run": run, "targets": ("npu",)}).rerun
        assert rerun == options
