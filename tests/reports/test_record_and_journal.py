"""One record feeds every output, and loses nothing on its way through JSON or the death of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.gate import Gate, Scope
from harness.reports import Journal, Record, RunInfo, assemble
from harness.reports.codec import decode, encode


def same(one: object, other: object) -> bool:
    """Equal, nan included."""
    return encode(one) == encode(other)


def test_a_record_survives_json_whole(record, tmp_path):
    (tmp_path / "allowlist.txt").write_text("k/*\n")
    record.gate = Gate.load(tmp_path / "allowlist.txt").check(record.verdicts, Scope.of_verdicts(record.verdicts))
    text = record.to_json()
    again = Record.from_json(text)
    assert same(again, record)
    assert again.verdicts[1].evidence == record.verdicts[1].evidence or "nan" in text
    assert again.to_json() == text


def test_the_json_is_strict_and_names_its_schema(record):
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(record.to_json(), parse_constant=refuse)["schema"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "not a record of schema 1"),
        ('{"schema": 2}', "its schema is 2"),
        ('{"schema": 1, "surprise": 1}', "no field 'surprise'"),
        ('{"schema": 1}', "missing"),
        ('{"schema": 1, "run": 3, "before": {}}', "run must be dict, not int"),
        ('{"schema": 1, "run": {}, "before": {}, "seconds": true}', "seconds must be float, not bool"),
        ('{"schema": 1, "run": {}, "before": {}, "seconds": "fast"}', "seconds must be a number"),
        ('{"schema": 1, "run": {"command": [1]}, "before": {}}', r"run\.command\[0\] must be str"),
    ],
)
def test_what_is_no_record_is_said_in_one_sentence(text, said):
    with pytest.raises(UsageError, match=said):
        Record.from_json(text)


@dataclass(frozen=True)
class Everything:
    number: float
    text: str
    maybe: int | None
    pairs: dict[str, tuple[int, ...]]
    fixed: tuple[int, str]
    nested: list[RunInfo]


@given(st.builds(Everything, nested=st.lists(st.builds(RunInfo), max_size=2)))
@examples(25)
def test_any_dataclass_survives_the_codec(value):
    assert same(decode(Everything, json.loads(json.dumps(encode(value), allow_nan=False))), value)


def test_numpys_numbers_are_numbers_and_other_things_are_refused():
    assert encode({"a": np.int64(3), "b": np.float32(0.5), "c": np.float16("inf")}) == {"a": 3, "b": 0.5, "c": "inf"}
    with pytest.raises(TypeError, match="a record cannot hold object"):
        encode([object()])


def test_a_journal_is_complete_after_every_line(tmp_path, verdict, fingerprint):
    path = tmp_path / "journal.jsonl"
    journal = Journal.create(path, RunInfo(("pytest",)), fingerprint)
    for count, name in enumerate("abc", start=1):
        journal.add(verdict(name))
        dead = assemble(path)
        assert (len(dead.verdicts), dead.interrupted) == (count, True)
    journal.end(2.0, False, fingerprint)
    whole = assemble(path)
    assert (whole.seconds, whole.interrupted, len(whole.verdicts)) == (2.0, False, 3)


def test_a_line_cut_short_costs_that_line_alone(tmp_path, verdict, fingerprint):
    path = tmp_path / "journal.jsonl"
    journal = Journal.create(path, RunInfo(), fingerprint)
    journal.add(verdict("a"))
    journal.add(verdict("b", "race"))
    text = path.read_text()
    path.write_text(text[:-200])
    assert [one.case for one in assemble(path).verdicts] == ["a"]
    path.write_text(text[:-200] + "\n" + json.dumps({"verdict": encode(verdict("c"))}) + "\n")
    with pytest.raises(UsageError, match=r"journal\.jsonl:3 is not a journal line"):
        assemble(path)


def test_a_case_that_ran_again_counts_once(tmp_path, verdict, fingerprint):
    journal = Journal.create(tmp_path / "journal.jsonl", RunInfo(), fingerprint)
    journal.add(verdict("a", "race"))
    journal.add(verdict("a"))
    assert [one.outcome for one in assemble(tmp_path / "journal.jsonl").verdicts] == ["pass"]


def test_a_run_whose_toolchain_changed_is_void_and_says_what(tmp_path, verdict, fingerprint):
    journal = Journal.create(tmp_path / "journal.jsonl", RunInfo(), fingerprint)
    journal.add(verdict("a"))
    part = fingerprint.parts["triton"]
    after = replace(fingerprint, parts={**fingerprint.parts, "triton": replace(part, instance="inode 2")})
    journal.end(1.0, False, after)
    record = assemble(tmp_path / "journal.jsonl")
    assert record.void == ["triton changed"]
    assert [one.outcome for one in record.verdicts] == ["void"]


def test_nothing_is_lost_when_the_run_is_killed(tmp_path):
    """SIGKILL gives a process no chance to write: what it had recorded must be on disk already."""
    script = """
import os, signal, sys
from pathlib import Path
from harness.cases.evidence import Evidence
from harness.reports import Recorder, RunInfo
from harness.verdicts import classify
recorder = Recorder.start(Path(sys.argv[1]), RunInfo())
for name in "abc":
    recorder.add(classify(Evidence(name, "npu")))
os.kill(os.getpid(), signal.SIGKILL)
"""
    died = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[2], check=False)
    assert died.returncode == -9
    record = assemble(tmp_path / "journal.jsonl")
    assert ([one.case for one in record.verdicts], record.interrupted) == (["a", "b", "c"], True)
    assert len(list((tmp_path / "failures").iterdir())) == 3


def test_a_file_that_is_no_journal(tmp_path):
    (tmp_path / "journal.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="is not a journal of schema 1"):
        assemble(tmp_path / "journal.jsonl")
