"""What the run stands on: taken before and after, so that a toolchain relinked in between voids the run.

Small files are hashed whole. Of a file over one MiB (libtriton is hundreds of megabytes) only the size
and the first and last MiB are hashed, with its modification time and inode beside them; a rebuild moves
those even where it leaves both ends alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

_MIB = 1 << 20
_SKIPPED_FOLDERS = {"__pycache__", ".git", "test", "tests", "include"}


@dataclass(frozen=True)
class Part:
    """One thing that verdicts depend on.

    version   for a person: what the package calls itself
    content   digest of what is the same on every machine: names, sizes and bytes
    instance  digest of what belongs to this copy: modification time and inode of the large files
    """

    version: str
    content: str
    instance: str = ""


@dataclass(frozen=True)
class Fingerprint:
    """Parts by name: harness, triton, torch, numpy, python, machine, and any extra toolchain."""

    parts: dict[str, Part] = field(default_factory=dict)


def take_fingerprint(extra: Mapping[str, Path] | None = None) -> Fingerprint:
    """Reads the fingerprint of this process's toolchain; imports none of it.

    `extra` are further toolchains by name, as files or folders: an external compiler, another backend.
    A package or file that is missing is recorded as missing.
    """
    parts = {
        "harness": _package("harness"),
        "triton": _package("triton"),
        "torch": _package("torch", ("version.py", "__init__.py", "lib/libtorch_cpu.so", "lib/libtorch_python.so")),
        "numpy": _package("numpy", ("version.py", "__init__.py", "_core")),
        "python": Part(platform.python_version(), _digest([sys.version, sys.implementation.name])),
        "machine": _machine(),
    }
    for name, path in (extra or {}).items():
        parts[name] = fingerprint_of_path(path)
    return Fingerprint(parts)


def fingerprint_of_path(path: Path) -> Part:
    """The part that a file or a folder of files is."""
    return _part("", [path])


def changed(before: Fingerprint, after: Fingerprint) -> list[str]:
    """What differs, one phrase for each part; empty when the run stands on what it started on."""
    return _differences(before, after, ("version", "content", "instance"))


def differs_across_machines(one: Fingerprint, other: Fingerprint) -> list[str]:
    """What differs between two machines' toolchains, the machines themselves left out."""
    shared = _without_machine(one), _without_machine(other)
    return _differences(*shared, ("version", "content"))


def _without_machine(fingerprint: Fingerprint) -> Fingerprint:
    return Fingerprint({name: part for name, part in fingerprint.parts.items() if name != "machine"})


def _differences(before: Fingerprint, after: Fingerprint, fields: tuple[str, ...]) -> list[str]:
    missing = Part("missing", "")
    found = []
    for name in dict.fromkeys((*before.parts, *after.parts)):
        old, new = before.parts.get(name, missing), after.parts.get(name, missing)
        if all(getattr(old, key) == getattr(new, key) for key in fields):
            continue
        versions = f" from {old.version} to {new.version}" if old.version != new.version else ""
        found.append(f"{name} changed{versions}")
    return found


def _package(name: str, only: Iterable[str] = ()) -> Part:
    root = _package_folder(name)
    if root is None:
        return Part("missing", "")
    return _part(_version_of(name), [root / path for path in only] or [root])


def _part(version: str, roots: Iterable[Path]) -> Part:
    content: list[str] = []
    instance: list[str] = []
    for root in roots:
        for path in _files_under(root):
            shared, own = _read(path, str(path.relative_to(root)) if path != root else path.name)
            content.append(shared)
            instance.append(own)
    return Part(version, _digest(content), _digest(own for own in instance if own))


def _package_folder(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _version_of(name: str) -> str:
    distribution = {"harness": "triton-coverage-harness"}.get(name, name)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unpackaged"


def _files_under(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names) if not name.endswith(".pyc"))


def _read(path: Path, name: str) -> tuple[str, str]:
    """(what is the same in every copy, what is this copy's own) of one file."""
    try:
        status = path.stat()
        if status.st_size <= _MIB:
            return f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}", ""
        with path.open("rb") as file:
            first = file.read(_MIB)
            file.seek(-_MIB, os.SEEK_END)
            ends = hashlib.sha256(first + file.read(_MIB)).hexdigest()
    except OSError as error:  # gone or being written: that too is a state a run can stand on
        return f"{name} unreadable {type(error).__name__}", ""
    return f"{name} {status.st_size} {ends}", f"{name} {status.st_mtime_ns} {status.st_ino}"


def _machine() -> Part:
    facts = [platform.system(), platform.release(), platform.machine(), _processor(), str(os.cpu_count())]
    return Part(" ".join(facts), _digest(facts))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
