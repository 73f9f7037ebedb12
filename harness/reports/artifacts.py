"""The folder of one failure: everything a person needs to look at it or run it again.

    kernel.py            the kernel's source
    ttir.mlir            what the front end made of it
    last-<stage>.mlir    the IR the failing stage was given
    buffers/<name>.<input|got|want>.pt   `torch.load` reads them; shape, strides and offset included
    error.txt            the message, the traceback and the tail of the log
    verdict.json         the verdict with all its evidence
    versions.json        what ran, by version
    rerun.sh             runs this case again, from wherever it is called

Reading it back needs torch and nothing of Triton.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.reports.record import read_text, write_text

if TYPE_CHECKING:
    import torch

_MOMENTS = ("input", "got", "want")
LARGEST_BUFFER = 64 << 20  # bytes; a larger one is named in omitted.txt instead


@dataclass
class BufferArtifact:
    """One buffer of the case: before the launch, after it, and its golden. None where there is none."""

    name: str
    input: torch.Tensor | None = None
    got: torch.Tensor | None = None
    want: torch.Tensor | None = None


@dataclass
class FailureArtifacts:
    """What the executing side knows about a failure. Parts left empty are not written, so that it can be
    saved again as more becomes known: what is on disk survives the death of the process.

    command, root  what runs the case again, and the folder to do it in, as seen from the failure folder
    """

    kernel: str = ""
    ttir: str = ""
    last_ir: str = ""
    last_ir_stage: str = ""
    error: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""
    root: str = "."
    buffers: list[BufferArtifact] = field(default_factory=list)

    def save(self, folder: Path, largest_buffer: int = LARGEST_BUFFER) -> None:
        """Writes the parts that are there. Raises UsageError where the folder cannot be written."""
        if self.last_ir:
            _remove_all(folder.glob("last-*.mlir"))
        for name, text in self._texts().items():
            if text:
                write_text(folder / name, text)
        if self.command:
            (folder / "rerun.sh").chmod(0o755)
        omitted = []
        for buffer in self.buffers:
            omitted += _save_buffer(buffer, folder / "buffers", largest_buffer)
        if omitted:
            write_text(folder / "buffers" / "omitted.txt", "\n".join(omitted) + "\n")

    @classmethod
    def load(cls, folder: Path) -> FailureArtifacts:
        """Reads back what `save` wrote; parts that are absent stay empty. Raises UsageError for no folder."""
        if not folder.is_dir():
            raise UsageError(f"there is no failure folder {folder}")
        last = next(iter(sorted(folder.glob("last-*.mlir"))), None)
        command = _text_or_empty(folder / "rerun.sh").splitlines()
        return cls(
            kernel=_text_or_empty(folder / "kernel.py"),
            ttir=_text_or_empty(folder / "ttir.mlir"),
            last_ir=_text_or_empty(last) if last else "",
            last_ir_stage=last.stem.removeprefix("last-") if last else "",
            error=_text_or_empty(folder / "error.txt"),
            versions=json.loads(_text_or_empty(folder / "versions.json") or "{}"),
            command=command[-1] if command else "",
            buffers=_load_buffers(folder / "buffers"),
        )

    def _texts(self) -> dict[str, str]:
        return {
            "kernel.py": self.kernel,
            "ttir.mlir": self.ttir,
            f"last-{_slug(self.last_ir_stage or 'ir')}.mlir": self.last_ir,
            "error.txt": self.error,
            "versions.json": json.dumps(self.versions, indent=1) + "\n" if self.versions else "",
            "rerun.sh": _script(self.command, self.root) if self.command else "",
        }


def _script(command: str, root: str) -> str:
    """A shell script for the command, whose Python is the one that runs now, whatever the caller's PATH says."""
    python = shlex.quote(str(Path(sys.executable).parent))
    return f'#!/bin/sh\ncd "$(dirname "$0")"/{shlex.quote(root)} || exit\nPATH={python}:$PATH\n{command}\n'


def folder_name(case: str) -> str:
    """A file name for a node id: readable, and unique because its hash is part of it."""
    import hashlib

    digest = hashlib.sha256(case.encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{_slug(case.rpartition('/')[2])[:80]}-{digest}"


def _remove_all(paths: Iterable[Path]) -> None:
    for path in list(paths):
        path.unlink(missing_ok=True)


def _save_buffer(buffer: BufferArtifact, folder: Path, largest: int) -> list[str]:
    """Writes the tensors there are; returns a line for each that is too large."""
    omitted = []
    for moment in _MOMENTS:
        tensor = getattr(buffer, moment)
        if tensor is None:
            continue
        path = folder / f"{_slug(buffer.name)}.{moment}.pt"
        size = _reach(tensor) * tensor.element_size()
        if size > largest:
            omitted.append(f"{path.name}: {size} bytes, more than {largest}")
            continue
        _save_tensor(tensor, path)
    return omitted


def _save_tensor(tensor: torch.Tensor, path: Path) -> None:
    import torch

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(standalone(tensor), path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def standalone(tensor: torch.Tensor) -> torch.Tensor:
    """The same view of a copy of just the storage it reaches: memory of a case has guards, and changes."""
    import torch

    flat = torch.as_strided(tensor.detach(), (_reach(tensor),), (1,)).clone()
    return torch.as_strided(flat, tensor.shape, tensor.stride(), 0)


def _reach(tensor: torch.Tensor) -> int:
    """Elements from the view's first to its last."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def _load_buffers(folder: Path) -> list[BufferArtifact]:
    buffers: dict[str, BufferArtifact] = {}
    for path in sorted(folder.glob("*.pt")):
        name, _, moment = path.stem.rpartition(".")
        if moment in _MOMENTS:
            setattr(buffers.setdefault(name, BufferArtifact(name)), moment, _load_tensor(path))
    return list(buffers.values())


def _load_tensor(path: Path) -> torch.Tensor:
    import torch

    return torch.load(path, weights_only=True)


def _text_or_empty(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _slug(text: str) -> str:
    return re.sub(r"[^\w.,=+-]+", "-", text).strip("-")
