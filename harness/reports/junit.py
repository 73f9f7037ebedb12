"""JUnit XML with stage and bucket as properties."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from harness.cases.evidence import Verdict
from harness.reports.record import Record
from harness.verdicts.buckets import bucket_named

# What XML 1.0 has no way to write.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_properties(verdict: Verdict) -> list[tuple[str, str]]:
    """For pytest's `user_properties`, so that its own --junitxml carries them too."""
    pairs = [("target", verdict.target), ("outcome", verdict.outcome), ("stage", verdict.stage)]
    if verdict.bucket:
        pairs += [("bucket", verdict.bucket), ("owner", bucket_named(verdict.bucket).owner)]
    return pairs


def junit_xml(record: Record) -> str:
    """One test suite, one test case for each verdict. Void is an error; refused and skipped are skips."""
    suite = ElementTree.Element(
        "testsuite",
        name="harness",
        tests=str(len(record.verdicts)),
        failures=str(len(record.by_outcome("fail"))),
        errors=str(len(record.by_outcome("void"))),
        skipped=str(len(record.by_outcome("refused", "skip"))),
        time=f"{record.seconds:.3f}",
        timestamp=record.run.started,
    )
    _add_properties(suite, [(name, part.version) for name, part in record.before.parts.items()])
    for verdict in record.verdicts:
        _add_case(suite, verdict)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


_ELEMENT = {"fail": "failure", "void": "error", "refused": "skipped", "skip": "skipped"}


def _add_case(suite: ElementTree.Element, verdict: Verdict) -> None:
    path, _, name = verdict.case.partition("::")
    seconds = sum(verdict.evidence.seconds.values())
    case = ElementTree.SubElement(
        suite, "testcase", classname=_legal(path), name=_legal(name or path), time=f"{seconds:.3f}"
    )
    _add_properties(case, junit_properties(verdict))
    if verdict.outcome in _ELEMENT:
        tag = _ELEMENT[verdict.outcome]
        result = ElementTree.SubElement(case, tag, message=_legal(verdict.summary), type=verdict.bucket or "skip")
        failure = verdict.evidence.failure
        result.text = _legal("\n".join((failure.traceback, failure.log)).strip()) if failure else None
    if verdict.evidence.output:
        ElementTree.SubElement(case, "system-out").text = _legal(verdict.evidence.output)


def _add_properties(parent: ElementTree.Element, pairs: list[tuple[str, str]]) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in pairs:
        ElementTree.SubElement(properties, "property", name=name, value=_legal(value))


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
