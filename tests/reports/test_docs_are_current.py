"""The pages on buckets, allowlist and schema say what the code does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from harness.cases import evidence, location
from harness.gate import Gate, GateResult, Problem
from harness.reports import Change, Comparison, Record, RunInfo
from harness.verdicts import BUCKETS, Fingerprint, Part

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTED = (
    *(RunInfo, Fingerprint, Part, Comparison, Change, GateResult, Problem, location.SourceLocation),
    *(evidence.Verdict, evidence.Evidence, evidence.LaunchEvidence, evidence.BufferEvidence),
    evidence.TimingEvidence,
    *(evidence.Mismatch, evidence.Finding, evidence.Failure, evidence.CommandEvidence, evidence.StageEvidence),
    evidence.ModelEvidence,
)


def test_every_bucket_is_in_the_table_as_the_code_has_it():
    page = (DOCS / "buckets.md").read_text()
    rows = [f"| `{one.name}` | {one.owner} | {one.meaning} | {one.next_step} |" for one in BUCKETS]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_every_field_of_the_record_is_documented():
    page = (DOCS / "report-schema.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert set(sections) == {kind.__name__ for kind in DOCUMENTED}
    for kind in DOCUMENTED:
        documented = re.findall(r"^\| `(\w+)` \|", sections[kind.__name__], re.MULTILINE)
        assert documented == [field.name for field in dataclasses.fields(kind)], kind
    for field in dataclasses.fields(Record):
        assert f"`{field.name}`" in page


def test_the_example_allowlist_is_one(tmp_path):
    page = (DOCS / "allowlist.md").read_text()
    example = re.findall(r"```\n(# A comment.*?)```", page, re.DOTALL)[0]
    (tmp_path / "allowlist.txt").write_text(example)
    assert [bool(entry.known) for entry in Gate.load(tmp_path / "allowlist.txt").entries] == [False, False, True, True]
