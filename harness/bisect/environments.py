"""One folder for each release of Triton, to be put in front of PYTHONPATH; everything else, torch too, is shared.

A folder is filled under another name and renamed when it is whole, so that an interrupted installation is not taken
for one. Nothing is asked of the network for a release that is there.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version

from harness.errors import EnvironmentFailed, UsageError

# Before it the JIT has no hook that tells what it is about to compile; see harness.bisect.older.
OLDEST = Version("3.3")
_PARTIAL = re.compile(r"\.partial-(?P<process>\d+)-.*")

# (release, empty folder): puts the release's wheel there. Raises EnvironmentFailed.
Installer = Callable[[str, Path], None]


def pip_install(release: str, folder: Path) -> None:
    """The wheel from the package index, without what it depends on. Raises EnvironmentFailed with pip's last word."""
    options = ("--no-deps", "--only-binary=:all:", "--no-compile", "--disable-pip-version-check", "--quiet")
    _pip("install", *options, "--target", str(folder), f"triton=={release}")


def named_by_pip() -> list[str]:
    """Every release that pip can install for this Python, oldest first. Raises EnvironmentFailed."""
    said = _pip("index", "versions", "triton", "--disable-pip-version-check")
    line = next((line for line in said.splitlines() if line.startswith("Available versions:")), "")
    return sorted_releases(line.partition(":")[2].replace(" ", "").split(","))


def _pip(*arguments: str) -> str:
    return said_by_pip(
        subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    )


def said_by_pip(ran: subprocess.CompletedProcess[str]) -> str:
    """Its output. Raises EnvironmentFailed with its last word, KeyboardInterrupt where Ctrl-C ended it."""
    if ran.returncode == 0:
        return ran.stdout
    if ran.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    told = [line for line in ran.stderr.splitlines() if line.startswith("ERROR") or "No module" in line]
    what = told[-1].removeprefix("ERROR: ") if told else f"pip ended with status {ran.returncode}"
    raise EnvironmentFailed(what, hint=f"pip {' '.join(ran.args[3:])}")


def sorted_releases(names: Sequence[str]) -> list[str]:
    """Each once, oldest first; what is no final release is left out."""
    return sorted({name for name in names if _is_final(name)}, key=Version)


def _is_final(name: str) -> bool:
    try:
        return not Version(name).is_prerelease
    except InvalidVersion:
        return False


@dataclass(frozen=True)
class Environments:
    """The releases kept under `folder`; made with `install`, but for the one this Python has already."""

    folder: Path
    install: Installer = pip_install
    running: str = ""

    @classmethod
    def in_cache(cls, cache: Path) -> Environments:
        return cls(cache / "environments", running=metadata.version("triton"))

    def ready(self, release: str) -> bool:
        return release == self.running or _is_whole(self._path(release), release)

    def kept(self) -> list[str]:
        """What can be used without a network, oldest first."""
        folders = self.folder.glob("triton-*") if self.folder.is_dir() else ()
        names = [folder.name.removeprefix("triton-") for folder in folders]
        return sorted_releases([self.running, *(name for name in names if self.ready(name))])

    def search_path(self, release: str) -> list[str]:
        """What to put in front of PYTHONPATH; the release is installed first where it is not there.

        Raises UsageError for what is no release, EnvironmentFailed where it cannot be installed.
        """
        if not _is_final(release):
            raise UsageError(f"{release!r} is no release of Triton", hint="such as 3.7.1")
        if release == self.running:
            return []
        if not self.ready(release):
            self._make(release)
        return [str(self._path(release))]

    def _path(self, release: str) -> Path:
        return self.folder / f"triton-{release}"

    def _make(self, release: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._remove_abandoned()
        partial = self.folder / f".partial-{os.getpid()}-{release}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            self.install(release, partial)
            if not _is_whole(partial, release):
                raise EnvironmentFailed(f"installing triton {release} left no whole package behind")
            self._keep(partial, release)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _keep(self, partial: Path, release: str) -> None:
        try:
            partial.rename(self._path(release))
        except OSError:  # another run was faster
            if not self.ready(release):
                raise

    def _remove_abandoned(self) -> None:
        """What runs left behind that were ended in the middle."""
        for folder in self.folder.glob(".partial-*"):
            match = _PARTIAL.fullmatch(folder.name)
            if match and not _is_alive(int(match["process"])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_whole(folder: Path, release: str) -> bool:
    return (folder / "triton" / "__init__.py").is_file() and (folder / f"triton-{release}.dist-info").is_dir()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
