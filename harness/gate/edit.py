"""Changing allowlist.txt: comments and order stay, and a line taken off leaves its reason."""

from __future__ import annotations

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
    done = []
    for node_id in node_ids:
        _checked(node_id)
        lines, sentence = _allowed(lines, str(path), node_id)
        done.append(sentence)
    _write(path, lines)
    return done


def disallow(path: Path, node_id: str, reason: str, bucket: str = "", stage: str = "") -> str:
    """Takes a line off and leaves `reason` as a comment; or, with `bucket`, makes it a known failure.

    Raises UsageError where no line is exactly `node_id`, the reason is empty, or the bucket unknown.
    """
    _checked(node_id)
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
        _write(path, _inserted(lines, entries, replacement))
        return f"{node_id}: now listed as a known failure"
    kept = [text for number, text in enumerate(lines, 1) if number not in {entry.line for entry in listed[1:]}]
    kept[listed[0].line - 1] = replacement + "\n"
    _write(path, kept)
    return f"{node_id}: {'now a known failure' if bucket else 'taken off'}"


def _allowed(lines: list[str], path: str, node_id: str) -> tuple[list[str], str]:
    entries = parse(lines, path)
    listed = next((entry for entry in entries if entry.pattern == node_id), None)
    if listed and listed.known is None:
        return lines, f"{node_id}: is on the list already"
    if listed:
        kept = list(lines)
        kept[listed.line - 1 : listed.line] = [f"# was: {listed}\n", f"{node_id}\n"]
        return kept, f"{node_id}: was a known failure and must pass now"
    covering = next((entry for entry in entries if entry.known is None and entry.matches(node_id)), None)
    if covering:
        return lines, f"{node_id}: line {covering.line} covers it already"
    return _inserted(lines, entries, node_id), f"{node_id}: added"


def _inserted(lines: list[str], entries: list[Entry], text: str) -> list[str]:
    """`lines` with `text` after the entry most like it; at the end where none shares its folder."""
    kept = [line if line.endswith("\n") else line + "\n" for line in lines]
    folder = text.partition("::")[0].rpartition("/")[0]
    best, shared = None, len(folder) + 1
    for entry in entries:
        common = _common_beginning(entry.pattern, text)
        if common >= shared:
            best, shared = entry, common
    kept.insert(best.line if best else len(kept), text + "\n")
    return kept


def _common_beginning(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _covering(entries: list[Entry], node_id: str) -> str:
    for entry in entries:
        if entry.matches(node_id):
            return f"line {entry.line}, {entry.pattern}, matches it: take that off and list the others"
    return "write it as the report writes it"


def _checked(node_id: str) -> None:
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
