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


@pytest.mark.parametrize(
    ("machine", "target", "options"),
    [
        ("default", "npu", ()),
        ("tiny", "npu", ("--machine=tiny",)),
        ("", "npu", ("--machine=none",)),
        ("", "ttir", ("--target=ttir",)),
    ],
)
def test_a_rerun_is_on_the_same_machine(
    pytestconfig: pytest.Config, machine: str, target: str, options: tuple[str, ...]
) -> None:
    settings = Settings.of(pytestconfig)
    run = RunOptions(checks=settings.run.checks, machine=machine)
    assert Settings(**{**vars(settings), "run": run, "targets": (target,)}).rerun == options


@pytest.mark.parametrize(
    ("arguments", "machine"),
    [((), "default"), (("--machine=none",), ""), (("--machine=tiny",), "tiny"), (("--target=ttir",), "")],
)
def test_the_npu_is_a_machine_unless_told_otherwise(
    pytester: pytest.Pytester, arguments: tuple[str, ...], machine: str
) -> None:
    assert Settings.of(pytester.parseconfig(*arguments)).run.machine == machine


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        (("--target=npu,ttir",), "target npu, ttir; machine default; fast checks"),
        (("--machine=none",), "target npu; fast checks"),
    ],
)
def test_the_head_of_a_run_names_the_machine(
    pytester: pytest.Pytester, arguments: tuple[str, ...], summary: str
) -> None:
    assert Settings.of(pytester.parseconfig(*arguments)).summary == summary


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--timing", "--machine=none"), "--timing is about a machine, and there is none with --machine=none"),
        (("--check-lowering", "--target=ttir"), "--check-lowering is for the target npu: the others lower to none"),
        (("--machine=tiny", "--target=cuda:80"), "--machine is for the target npu: the others lower to none"),
    ],
)
def test_options_that_need_a_machine_are_refused_without_one(
    pytester: pytest.Pytester, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(pytest.UsageError, match=sentence):
        Settings.of(pytester.parseconfig(*arguments))
