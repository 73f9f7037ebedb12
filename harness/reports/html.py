"""The report as one static page, with no script and nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from harness.cases.evidence import Verdict
from harness.reports import summary
from harness.reports.record import Record
from harness.reports.words import plural
from harness.verdicts.next_step import next_step

PAGE = "index.html"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .8rem; text-align: left;
border-bottom: 1px solid #ddd; vertical-align: top } code, pre { font-size: 13px } pre { background: #f6f6f6;
padding: .6rem; overflow-x: auto } details { margin: .4rem 0 } .warning { background: #fdd; padding: .5rem }
.red { color: #b00 } .green { color: #070 }
"""


def html_page(record: Record) -> str:
    """A complete HTML document; links to failure folders are relative to the report folder."""
    body = [
        f"<h1>Kernel coverage on {escape(', '.join(record.run.targets) or 'no target')}</h1>",
        f"<p>{escape(summary.headline(record))}. Started {escape(record.run.started)}.</p>",
        *(f"<p>{escape(absence)}.</p>" for absence in summary.facts(record)),
        *(f"<p class=warning>{escape(warning)}</p>" for warning in summary.warnings(record)),
        _bucket_table(record),
        _gate(record),
        _changes(record),
        _failures(record),
        _passed(record),
        _versions(record),
    ]
    head = f"<meta charset=utf-8><title>Kernel coverage</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>\n" + "\n".join(body) + "\n</body></html>\n"


def _bucket_table(record: Record) -> str:
    rows = [
        (group.bucket.name, str(len(group.verdicts)), group.bucket.owner, group.bucket.meaning, group.bucket.next_step)
        for group in summary.by_bucket(record)
    ]
    return _table(("bucket", "cases", "owner", "meaning", "next step"), rows) if rows else ""


def _gate(record: Record) -> str:
    gate = record.gate
    if gate is None:
        return ""
    colour = "green" if gate.is_green else "red"
    candidates = _details(f"{plural(len(gate.candidates), 'candidate')} for the list", _list(gate.candidates))
    return (
        f"<h2 class={colour}>{escape(summary.gate_headline(gate))}</h2>"
        + _list(summary.gate_lines(gate))
        + (candidates if gate.candidates else "")
    )


def _changes(record: Record) -> str:
    if record.comparison is None:
        return ""
    groups = summary.change_lines(record.comparison)
    text = "".join(f"<p>{escape(title)}</p>{_list(lines)}" for title, lines in groups)
    return f"<h2>Since the last report</h2>{text or '<p>Nothing changed.</p>'}"


def _failures(record: Record) -> str:
    shown = [verdict for verdict in record.verdicts if verdict.outcome not in ("pass", "skip")]
    if not shown:
        return ""
    return "<h2>Not passed</h2>" + "\n".join(_failure(record, verdict) for verdict in shown)


def _failure(record: Record, verdict: Verdict) -> str:
    title = f"<code>{escape(verdict.case)}</code> {escape(verdict.bucket)} at {escape(verdict.stage)}"
    evidence = verdict.evidence
    facts = [f"<p>{escape(verdict.summary)}</p>", f"<p>{escape(next_step(verdict))}</p>"]
    facts.append(f"<pre>{escape(record.run.rerun_command(verdict.case))}</pre>")
    if evidence.artifacts:
        facts.append(f'<p><a href="{escape(evidence.artifacts, quote=True)}/">failure folder</a></p>')
    if evidence.failure and (evidence.failure.traceback or evidence.failure.log):
        facts.append(f"<pre>{escape(evidence.failure.traceback)}\n{escape(evidence.failure.log)}</pre>")
    facts += [f"<p>{escape(finding.kind)}: {escape(finding.message)}</p>" for finding in evidence.findings]
    facts.append(_buffers(verdict))
    return _details(title, "".join(facts))


def _buffers(verdict: Verdict) -> str:
    rows = [
        (
            buffer.name,
            buffer.dtype,
            "x".join(str(extent) for extent in buffer.shape),
            buffer.role,
            buffer.tolerance if buffer.compared else f"not compared: {buffer.reason}",
            _mismatch(verdict, buffer.name),
        )
        for buffer in verdict.evidence.buffers
    ]
    return _table(("buffer", "dtype", "shape", "role", "tolerance", "difference"), rows) if rows else ""


def _mismatch(verdict: Verdict, name: str) -> str:
    for buffer in verdict.evidence.buffers:
        mismatch = buffer.mismatch
        if buffer.name == name and mismatch:
            return (
                f"{mismatch.wrong} of {mismatch.total}, {mismatch.error_shape}; first at {mismatch.first_index}: "
                f"got {mismatch.got}, want {mismatch.want}; largest {mismatch.max_absolute:g} absolute, "
                f"{mismatch.max_relative:g} relative, {mismatch.max_ulp:g} ulp"
            )
    return "none"


def _passed(record: Record) -> str:
    passed = record.by_outcome("pass")
    return _details(f"{len(passed)} passed", _list(verdict.case for verdict in passed)) if passed else ""


def _versions(record: Record) -> str:
    rows = [(name, part.version, part.content[:12]) for name, part in record.before.parts.items()]
    return "<h2>Ran on</h2>" + _table(("part", "version", "content"), rows)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _list(items: Iterable[str]) -> str:
    text = "".join(f"<li><code>{escape(item)}</code></li>" for item in items)
    return f"<ul>{text}</ul>" if text else ""


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>{body}</details>"
