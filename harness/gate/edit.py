"""Changing allowlist.txt: comments and order stay, and a line taken off leaves its reason."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.gate.allowlist import Entry, KnownFailure, parse, read_lines
from harness.verdicts.buckets import bucket_named


def allow(path: Path, node_ids: Sequence[str]) -> list[str]:
    """Makes each node id a line that must pass; returns what was done, a sentence each.

    A known failure becomes a pass and its old reason stays as a comment. A new line goes after the last
    line of the same file, or of the longest common beginning. Raises UsageError for what is no node id.
    """
    lines = _lines_or_none(path)
    entries = parse(lines, str(path))
    listed = {entry.pattern: entry for entry in reversed(entries)}
    patterns = [entry for entry in entries if entry.known is None and not entry.is_exact]
    changed, new, done = dict(enumerate(lines, 1)), [], []
    for node_id in dict.fromkeys(node_ids):
        check_node_id(node_id)
        entry = listed.get(node_id)
        covering = next((one for one in patterns if one.matches(node_id)), None)
        if entry and entry.known is None:
            done.append(f"{node_id}: is on the list already")
        elif entry:
            changed[entry.line] = f"# was: {entry}\n{node_id}\n"
            done.append(f"{node_id}: was a known failure and must pass now")
        elif covering:
            done.append(f"{node_id}: line {covering.line} covers it already")
        else:
            new.append(node_id)
            done.append(f"{node_id}: added")
    _write(path, _inserted(list(changed.values()), entries, new))
    return done


def disallow(path: Path, node_id: str, reason: str, bucket: str = "", stage: str = "") -> str:
    """Takes a line off and leaves `reason` as a comment; or, with `bucket`, makes it a known failure.

    Raises UsageError where no line is exactly `node_id`, the reason is empty, or the bucket unknown.
    """
    check_node_id(node_id)
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("a line is taken off for a reason", hint="give --reason")
    if stage and not bucket:
        raise UsageError("--stage says where a known failure fails", hint="give --bucket as well")
    lines = read_lines(path)
    entries = parse(lines, str(path))
    listed = [entry for entry in entries if entry.pattern == node_id]
    is_covered = any(entry.matches(node_id) for entry in entries)
    if not listed and (is_covered or not bucket):
        raise UsageError(f"{node_id} is not on the list", hint=_covering(entries, node_id))
    replacement = f"# off: {node_id}: {reason}"
    if bucket:
        replacement = str(Entry(node_id, 0, KnownFailure(bucket, reason, stage)))
        bucket_named(bucket)
    if not listed:
        _write(path, _inserted(lines, entries, [replacement]))
        return f"{node_id}: now listed as a known failure"
    kept = [text for number, text in enumerate(lines, 1) if number not in {entry.line for entry in listed[1:]}]
    kept[listed[0].line - 1] = replacement + "\n"
    _write(path, kept)
    return f"{node_id}: {'now a known failure' if bucket else 'taken off'}"


def _inserted(lines: list[str], entries: list[Entry], texts: Sequence[str]) -> list[str]:
    """`lines` with each text after the entry most like it; at the end where none shares its folder."""
    kept = [line if line.endswith("\n") else line + "\n" for line in lines]
    after: dict[int, list[str]] = {}
    for text in texts:
        after.setdefault(_place_of(text, entries) or len(kept), []).append(text + "\n")
    for place in sorted(after, reverse=True):
        kept[place:place] = after[place]
    return kept


def _place_of(text: str, entries: list[Entry]) -> int:
    """The line to go after; 0 where no entry shares the folder."""
    folder = text.partition("::")[0].rpartition("/")[0]
    best, shared = 0, len(folder) + 1
    for entry in entries:
        common = _common_beginning(entry.pattern, text)
        if common >= shared:
            best, shared = entry.line, common
    return best


def _common_beginning(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _covering(entries: list[Entry], node_id: str) -> str:
    for entry in entries:
        if entry.matches(node_id):
            return f"line {entry.line}, {entry.pattern}, matches it: take that off and list the others"
    return nearest(node_id, [entry.pattern for entry in entries]) or "write it as the report writes it"


def nearest(node_id: str, known: Sequence[str]) -> str:
    """A hint with the few of `known` that are most like the node id; "" where none is."""
    close = difflib.get_close_matches(node_id, known, n=3)
    return f"did you mean {' or '.join(close)}?" if close else ""


def check_node_id(node_id: str) -> None:
    """Raises UsageError for what cannot be a node id or pattern."""
    if not node_id or node_id.startswith("#") or any(character.isspace() for character in node_id):
        raise UsageError(f"{node_id!r} is not a node id", hint="copy it from the report")


def _lines_or_none(path: Path) -> list[str]:
    return read_lines(path) if path.exists() else []


def _write(path: Path, lines: Sequence[str]) -> None:
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes("".join(lines).encode("utf-8"))
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
