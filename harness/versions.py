"""The versions this package works with, as its own metadata states them, and nowhere else.

The ranges stand in pyproject.toml, where pip reads them too. Nothing is imported to check them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from harness.errors import UnsupportedVersion

DISTRIBUTION = "triton-coverage-harness"
_CHECKED = ("torch", "triton")


def check_versions(
    python: str = platform.python_version(), version_of: Callable[[str], str] = metadata.version
) -> None:
    """Raises UnsupportedVersion, with the supported range, for Python, torch or Triton outside it or missing.

    `version_of` gives the version of an installed distribution or raises PackageNotFoundError.
    """
    package = _own_metadata()
    _check("Python", python, SpecifierSet(package["Requires-Python"]))
    for requirement in map(Requirement, package.get_all("Requires-Dist") or ()):
        if requirement.name in _CHECKED and requirement.marker is None:
            _check(requirement.name, _installed(requirement, version_of), requirement.specifier)


def _own_metadata() -> metadata.PackageMetadata:
    try:
        return metadata.metadata(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise UnsupportedVersion(f"{DISTRIBUTION} is not installed in this Python", hint="pip install -e .") from error


def _installed(requirement: Requirement, version_of: Callable[[str], str]) -> str:
    try:
        return version_of(requirement.name)
    except metadata.PackageNotFoundError as error:
        what = f"{requirement.name} is not installed"
        raise UnsupportedVersion(what, hint=f"supported: {_readable(requirement.specifier)}") from error


def _check(name: str, version: str, supported: SpecifierSet) -> None:
    # Pre-releases count by their number: whoever installs a nightly build wants it tested.
    if not supported.contains(version, prereleases=True):
        raise UnsupportedVersion(f"{name} {version} is not supported", hint=f"supported: {_readable(supported)}")


def _readable(supported: SpecifierSet) -> str:
    """Lower bounds first."""
    return ", ".join(sorted(map(str, supported), key=lambda one: one.startswith("<")))
