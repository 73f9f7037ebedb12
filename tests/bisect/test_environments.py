"""Folders of releases: whole or not there, installed once."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness.bisect.environments import Environments, said_by_pip
from harness.errors import EnvironmentFailed, UsageError


class FakeInstaller:
    """Makes what pip would, and counts."""

    def __init__(self) -> None:
        self.installed: list[str] = []

    def __call__(self, release: str, folder: Path) -> None:
        self.installed.append(release)
        (folder / "triton").mkdir()
        (folder / "triton" / "__init__.py").touch()
        (folder / f"triton-{release}.dist-info").mkdir()


def test_a_release_is_installed_once(tmp_path: Path) -> None:
    install = FakeInstaller()
    environments = Environments(tmp_path / "e", install, running="3.7.1")
    first = environments.search_path("3.6.0")
    assert environments.search_path("3.6.0") == first == [str(tmp_path / "e" / "triton-3.6.0")]
    assert install.installed == ["3.6.0"]
    assert environments.kept() == ["3.6.0", "3.7.1"]


def test_the_release_of_this_python_needs_no_folder(tmp_path: Path) -> None:
    install = FakeInstaller()
    assert Environments(tmp_path / "e", install, running="3.7.1").search_path("3.7.1") == []
    assert install.installed == []


def test_an_interrupted_installation_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    def interrupted(release: str, folder: Path) -> None:
        (folder / "triton").mkdir()
        (folder / "triton" / "__init__.py").touch()
        raise KeyboardInterrupt

    environments = Environments(tmp_path, interrupted)
    with pytest.raises(KeyboardInterrupt):
        environments.search_path("3.6.0")
    assert not environments.ready("3.6.0")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_behind_is_removed_and_what_a_live_one_fills_is_not(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    abandoned, filling = tmp_path / f".partial-{child}-3.6.0", tmp_path / f".partial-{os.getppid()}-3.6.0"
    abandoned.mkdir()
    filling.mkdir()
    Environments(tmp_path, FakeInstaller()).search_path("3.8.0")
    assert not abandoned.exists()
    assert filling.exists()


def test_an_installation_without_a_package_is_refused(tmp_path: Path) -> None:
    environments = Environments(tmp_path, lambda release, folder: None)
    with pytest.raises(EnvironmentFailed, match="no whole package"):
        environments.search_path("3.6.0")
    assert not environments.ready("3.6.0")


@pytest.mark.parametrize("name", ["main", "3.8.0rc1", "../3.6.0"])
def test_what_is_no_release_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no release"):
        Environments(tmp_path, FakeInstaller()).search_path(name)


def test_what_pip_came_to() -> None:
    command = ["python", "-m", "pip", "install", "triton==3.6.0"]
    assert said_by_pip(subprocess.CompletedProcess(command, 0, "versions", "")) == "versions"
    with pytest.raises(EnvironmentFailed, match="no such release") as caught:
        said_by_pip(subprocess.CompletedProcess(command, 1, "", "WARNING: old\nERROR: no such release\n"))
    assert caught.value.hint == "pip install triton==3.6.0"
    with pytest.raises(KeyboardInterrupt):  # Ctrl-C ends pip too, which says nothing of the release
        said_by_pip(subprocess.CompletedProcess(command, -signal.SIGINT, "", ""))
