"""What pytest's configuration says where a file is, without running anything of the repository's."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.collection.settings import DEFAULT_FOLDER

if TYPE_CHECKING:
    import pytest

# Neither conftest files, which are the repository's code, nor options that only those know.
_ARGUMENTS = ("--noconftest", "-o", "addopts=", "-p", "no:cacheprovider", "-s")


@dataclass(frozen=True)
class KernelFolders:
    """Where kernel case files may be, and what says so.

    folders  whether they are there or not
    ini      the file that was read, None where there is none
    """

    folders: tuple[Path, ...]
    ini: Path | None

    def hold(self, path: Path) -> bool:
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in self.folders)


def kernel_folders(path: Path) -> KernelFolders | None:
    """Those of the pytest that would be given `path`; None where it has no such setting, or cannot start."""
    import pytest

    probe = _Probe()
    existing = next(one for one in path.absolute().parents if one.is_dir())
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*_ARGUMENTS, str(existing)], plugins=[probe])
    if probe.config is None:
        return None
    try:
        named: list[Path] = probe.config.getini("kernel_paths")
    except ValueError:  # the plugin is switched off
        return None
    return KernelFolders(tuple(named) or (probe.config.rootpath / DEFAULT_FOLDER,), probe.config.inipath)


class _Probe:
    """A plugin that takes the configuration and ends pytest before it does anything."""

    config: pytest.Config | None = None

    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        self.config = config
        return 0
