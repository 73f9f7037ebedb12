"""Python's stacks with the frames of whoever wrote the case, and not those of what ran it."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line \d+,? in ')
_DUMP = re.compile(r"(?:Stack|(?:Current thread|Thread) 0x[0-9a-f]+.*) \(most recent call first\):")
_TRACEBACK = "Traceback (most recent call last):"
_MODULES = "Extension modules: "
_PACKAGE = Path(__file__).resolve().parents[1]


def of_traceback(text: str) -> str:
    """A traceback from the first frame of a user's file on; all of it where there is none: the fault is ours then."""
    lines = text.splitlines()
    if not any(map(_is_user, lines)):
        return text
    kept: list[str] = []
    hidden = False
    for line in lines:
        if line.startswith(_TRACEBACK):
            hidden = True
            kept.append(line)
            continue
        # A frame's source lines follow it, further in; what is not indented ends the stack.
        hidden = hidden and line.startswith(" ") and not _is_user(line)
        if not hidden:
            kept.append(line)
    return "\n".join(kept)


def of_dump(log: str, others: bool) -> str:
    """A log with each stack in it, innermost frame first as Python dumps it, up to the outermost frame of a user.

    A stack without such a frame stays only with `others`; the list of extension modules below never does.
    """
    kept: list[str] = []
    lines = log.splitlines()
    while lines:
        line = lines.pop(0)
        if _DUMP.match(line):
            count = next((number for number, one in enumerate(lines) if not _FRAME.match(one)), len(lines))
            frames = _up_to_user(lines[:count]) or (lines[:count] if others else [])
            kept += [line, *frames] if frames else []
            del lines[:count]
        elif not line.startswith(_MODULES):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _up_to_user(frames: list[str]) -> list[str]:
    users = [number for number, frame in enumerate(frames) if _is_user(frame)]
    return frames[: users[-1] + 1] if users else []


def _is_user(line: str) -> bool:
    """Whether a line is a frame of a file that is neither this package's nor a library's."""
    match = _FRAME.match(line)
    if match is None or match["file"].startswith("<"):
        return False
    return not Path(match["file"]).is_relative_to(_PACKAGE) and not match["file"].startswith(_libraries())


def _libraries() -> tuple[str, ...]:
    """Python's folders, that of commands such as `pytest` too."""
    paths = sysconfig.get_paths()
    return tuple(f"{paths[name]}/" for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))
