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

    A known failure becomes a pass and its old reason stays as a comment. A new line goes where it sorts
    among those of its file, else of its folder; where these are not sorted, after the one most like it.
    Raises UsageError for what is no node id.
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


def disallow(
    path: Path, node_id: str, reason: str, bucket: str = "", stage: str = "", cases: Sequence[str] | None = None
) -> str:
    """Takes a line off and leaves `reason` as a comment; or, with `bucket`, makes it a known failure.

    A pattern's line that holds the case as well becomes a line for each of its others among `cases`, all those that
    there are. Raises UsageError for such a line where `cases` is None, where no line is about `node_id`, the reason is
    empty, or the bucket unknown.
    """
    check_node_id(node_id)
    replacement = _replacement(node_id, " ".join(reason.split()), bucket, stage)
    lines = read_lines(path)
    entries = parse(lines, str(path))
    listed = [entry for entry in entries if entry.pattern == node_id]
    covering = covering_entries(entries, node_id)
    if covering and cases is None:
        what = f"{node_id} cannot be taken off alone: line {covering[0].line}, {covering[0].pattern}, matches it"
        raise UsageError(what, hint="give --split as well, to list that line's other cases by name")
    if not (listed or covering or bucket):
        hint = nearest(node_id, [entry.pattern for entry in entries]) or "write it as the report writes it"
        raise UsageError(f"{node_id} is not on the list", hint=hint)
    if not (listed or covering):
        _write(path, _inserted(lines, entries, [replacement]))
        return f"{node_id}: now listed as a known failure"
    changed = dict(enumerate(lines, 1)) | {entry.line: "" for entry in listed}
    if listed:
        changed[listed[0].line] = replacement + "\n"
    unnamed = [case for case in cases or () if case not in {entry.pattern for entry in entries}]
    changed |= _by_name(covering, node_id, "" if listed else replacement, unnamed)
    _write(path, list(changed.values()))
    return f"{node_id}: {'now a known failure' if bucket else 'taken off'}{_told(covering)}"


def covering_entries(entries: Sequence[Entry], node_id: str) -> list[Entry]:
    """The lines, other than its own, that hold the case."""
    return [entry for entry in entries if entry.pattern != node_id and entry.matches(node_id)]


def _replacement(node_id: str, reason: str, bucket: str, stage: str) -> str:
    """The line that takes the place of the case's."""
    if not reason:
        raise UsageError("a line is taken off for a reason", hint="give --reason")
    if stage and not bucket:
        raise UsageError("--stage says where a known failure fails", hint="give --bucket as well")
    if not bucket:
        return f"# off: {node_id}: {reason}"
    return str(Entry(node_id, 0, KnownFailure(bucket_named(bucket).name, reason, stage)))


def _by_name(entries: Sequence[Entry], node_id: str, replacement: str, cases: Sequence[str]) -> dict[int, str]:
    """What takes the place of each entry's line: one for each case, and `replacement` for those of `node_id`."""
    named = Entry(node_id, 0)
    left = [case for case in cases if not named.matches(case)]
    texts: dict[int, str] = {}
    for entry in entries:
        own = {case: str(Entry(case, 0, entry.known)) for case in left if entry.matches(case)}
        left = [case for case in left if case not in own]
        if replacement:
            own[node_id], replacement = replacement, ""
        texts[entry.line] = "".join(f"{own[case]}\n" for case in sorted(own))
    return texts


def _told(split: Sequence[Entry]) -> str:
    return "".join(f"; the others of line {entry.line}, {entry.pattern}, are listed by name" for entry in split)


def _inserted(lines: list[str], entries: list[Entry], texts: Sequence[str]) -> list[str]:
    """`lines` with each text at its place among those of its file or folder; at the end where there are none."""
    kept = [line if line.endswith("\n") else line + "\n" for line in lines]
    after: dict[int, list[str]] = {}
    for text in texts:
        place = _place_of(text.split()[0], entries, lines)
        after.setdefault(len(kept) if place is None else place, []).append(text + "\n")
    for place in sorted(after, reverse=True):
        kept[place:place] = after[place] if place == len(kept) else sorted(after[place])
    return kept


def _place_of(node_id: str, entries: list[Entry], lines: list[str]) -> int | None:
    """The line to go after: where it sorts among those of the file, else of the folder, if these are sorted, else after
    the one most like it. None where no entry shares the folder."""
    for part in (_file, _folder):
        like = [entry for entry in entries if part(entry.pattern) == part(node_id)]
        if like and [entry.pattern for entry in like] == sorted(entry.pattern for entry in like):
            smaller = [entry.line for entry in like if entry.pattern < node_id]
            return smaller[-1] if smaller else _above(like[0].line, lines)
    best, shared = None, len(_folder(node_id)) + 1
    for entry in entries:
        common = _common_beginning(entry.pattern, node_id)
        if common >= shared:
            best, shared = entry.line, common
    return best


def _above(line: int, lines: list[str]) -> int:
    """The line before that one and what it was before, but below the heading of its block."""
    before = line - 1
    while before and lines[before - 1].startswith("# was: "):
        before -= 1
    return before


def _file(node_id: str) -> str:
    return node_id.partition("::")[0]


def _folder(node_id: str) -> str:
    return _file(node_id).rpartition("/")[0]


def _common_beginning(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


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
