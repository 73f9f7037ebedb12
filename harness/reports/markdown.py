"""The report as Markdown, fit for a CI step summary (GitHub takes at most 1 MiB of it)."""

from __future__ import annotations

from harness.cases.evidence import Verdict
from harness.reports import summary
from harness.reports.record import Record
from harness.reports.timing_table import timing_lines
from harness.reports.words import plural

_MOST = 100  # failures written out, and lines of one group


def markdown(record: Record) -> str:
    """GitHub-flavoured Markdown."""
    blocks = [
        f"## {_title(record)}",
        "  \n".join(f"{_text(line)}." for line in [summary.headline(record), *summary.facts(record)]),
        "\n".join(f"> **{warning}**  " for warning in summary.warnings(record)),
        _bucket_table(record),
        _gate(record),
        _changes(record),
        _failures(record),
        _timing(record),
        _versions(record),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _timing(record: Record) -> str:
    lines = timing_lines(record)
    return "\n".join(["### Cycles", "", "```", *lines, "```"]) if lines else ""


def _title(record: Record) -> str:
    targets = ", ".join(record.run.targets) or "no target"
    shard = f", shard {record.run.shard}" if record.run.shard else ""
    return f"Kernel coverage on {targets}{shard}"


def _bucket_table(record: Record) -> str:
    groups = summary.by_bucket(record)
    if not groups:
        return ""
    rows = [
        f"| {group.bucket.name} | {len(group.verdicts)} | {group.bucket.owner} | {_cell(group.bucket.next_step)} |"
        for group in groups
    ]
    return "\n".join(["| bucket | cases | owner | next step |", "|---|---|---|---|", *rows])


def _gate(record: Record) -> str:
    gate = record.gate
    if gate is None:
        return ""
    lines = [f"### {_capital(summary.gate_headline(gate))}"]
    problems = [f"- {_text(line)}" for line in summary.capped(summary.gate_lines(gate), _MOST)]
    if problems:
        lines += ["", *problems]
    if gate.candidates:
        listed = summary.capped([f"- {_code(case)}" for case in gate.candidates], _MOST)
        lines += ["", _details(f"{plural(len(gate.candidates), 'candidate')} for the list", listed)]
    return "\n".join(lines)


def _changes(record: Record) -> str:
    if record.comparison is None:
        return ""
    groups = summary.change_lines(record.comparison)
    if not groups:
        return "### Since the last report\n\nNothing changed."
    lines = ["### Since the last report"]
    for title, changes in groups:
        lines += ["", f"{title}:", "", *(f"- {_text(line)}" for line in summary.capped(changes, _MOST))]
    return "\n".join(lines)


def _failures(record: Record) -> str:
    failed = summary.failures(record)
    if not failed or record.void:
        return ""
    blocks = [_details(_title_of(verdict), _facts(record, verdict)) for verdict in failed[:_MOST]]
    more = [f"... and {len(failed) - _MOST} more"] if len(failed) > _MOST else []
    return "\n\n".join(["### Failures", *blocks, *more])


def _title_of(verdict: Verdict) -> str:
    return f"<code>{_html(verdict.case)}</code> {verdict.bucket} at {_html(verdict.stage)}"


def _facts(record: Record, verdict: Verdict) -> list[str]:
    lines = [_text(verdict.summary), "", f"- rerun: {_code(record.run.rerun_command(verdict.case))}"]
    if verdict.evidence.artifacts:
        lines.append(f"- folder: {_code(verdict.evidence.artifacts)}")
    return lines


def _versions(record: Record) -> str:
    names = ", ".join(f"{name} {part.version}" for name, part in record.before.parts.items())
    compared, not_compared = summary.buffers_compared(record)
    return f"{compared} buffers compared, {not_compared} not. Ran on {_text(names)}."


def _details(title: str, lines: list[str]) -> str:
    return "\n".join([f"<details><summary>{title}</summary>", "", *lines, "", "</details>"])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _code(text: str) -> str:
    """Code that may hold backticks: the fence is one longer than any run of them."""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _text(text: str) -> str:
    """Plain text: nothing in it may become markup."""
    escaped = _html(" ".join(text.split()))
    for mark in "\\`*_[]":
        escaped = escaped.replace(mark, "\\" + mark)
    return escaped


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
