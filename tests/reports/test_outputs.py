"""Terminal, Markdown, JUnit and HTML say the same, and nothing a kernel prints can break them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from harness.gate import GateResult, Problem
from harness.reports import Change, Comparison, html_page, junit_properties, junit_xml, markdown, terminal_table


def test_the_table_names_bucket_owner_and_rerun(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "report:" not in terminal_table(record, folder=".harness/report")
    (tmp_path / ".harness/report").mkdir(parents=True)
    (tmp_path / ".harness/report/index.html").write_text("")
    text = terminal_table(record, folder=".harness/report")
    assert "1 passed, 2 failed, 1 refused, 0 void of 4 cases in 1.5 s" in text
    rows = [line.split("  ") for line in text.splitlines()]
    assert any(row[0] == "wrong-values" and row[-1] == "kernel or compiler" for row in rows)
    assert any(row[0] == "refused" and row[-1] == "target lowering" for row in rows)
    assert "rerun one: python -m pytest --checks=full 'k/b.py::b[npu-1]'" in text
    assert "report: .harness/report/index.html" in text


def test_changes_come_from_the_record_or_from_a_previous_one(record, verdict):
    assert "since the last report" not in terminal_table(record)
    assert "nothing changed" in terminal_table(record, record)
    previous = replace(record, verdicts=[verdict("k/a.py::a[npu-1]", "race"), verdict("k/b.py::b[npu-1]")])
    text = terminal_table(record, previous)
    assert "1 fixed\n    k/a.py::a[npu-1]: race at compare -> pass" in text
    assert "k/b.py::b[npu-1]: pass -> wrong-values at compare" in text


@pytest.mark.parametrize("output", [terminal_table, markdown, html_page])
def test_void_interrupted_gate_and_changes_are_in_every_output(record, output):
    record.void, record.interrupted = ["triton changed"], True
    record.gate = GateResult("allowlist.txt", problems=[Problem("stale", "k/none", 7, "matches no case")], gated=3)
    record.gate.candidates.append("k/new")
    record.comparison = Comparison(moved=[Change("k/moved", "race at x", "timeout at y")])
    text = output(record)
    for said in ("void: triton changed", "ended early", "RED: 1 problem", "allowlist.txt:7", "k/none", "k/new"):
        assert said in text, said
    assert "race at x" in text


def test_a_void_run_is_one_problem_of_the_gate_and_asks_for_no_rerun(record):
    record.void = ["triton changed"]
    void = [Problem("void", f"k/{i}", i, "proves nothing") for i in range(1, 4)]
    record.gate = GateResult("allowlist.txt", problems=[*void, Problem("stale", "k/none", 9, "matches no case")])
    text = terminal_table(record)
    assert "3 listed cases prove nothing, such as k/1" in text
    assert "allowlist.txt:9: k/none" in text
    assert "k/2" not in text and "rerun" not in text


def test_paths_in_the_table_are_relative_to_where_one_stands(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record.verdicts[1] = replace(record.verdicts[1], summary=f"{tmp_path}/k/b.py:3: wrong")
    assert "compare: k/b.py:3: wrong" in terminal_table(record)


def test_a_known_failure_is_not_shown_as_news(record):
    record.gate = GateResult("allowlist.txt", known_failures=["k/b.py::b[npu-1]", "k/d.py::d[npu-1]"])
    assert "rerun one" not in terminal_table(record)
    assert "2 known failures" in terminal_table(record)


def test_every_skipped_case_is_counted_with_its_reason(record, verdict):
    reasons = ["Triton 3.9.0 has no tl.make_block_ptr"] * 2 + ["requires gpu, which triton 3.7.1 is not", ""]
    record.verdicts = [verdict(f"k/x.py::x[npu-{i}]", "", "skip", why) for i, why in enumerate(reasons)]
    assert terminal_table(record).splitlines()[1:4] == [
        "2 skipped: Triton 3.9.0 has no tl.make_block_ptr",
        "1 skipped: requires gpu, which triton 3.7.1 is not",
        "1 skipped: no reason is given",
    ]
    record.verdicts = [verdict(f"k/x.py::x[npu-{i}]", "", "skip", f"reason {i}") for i in range(15)]
    assert "5 skipped for 5 other reasons" in terminal_table(record)


def test_long_lists_are_cut_and_say_so(record, verdict):
    record.verdicts = [verdict(f"k/x.py::x[npu-{i}]", "race") for i in range(3000)]
    assert len(terminal_table(record).splitlines()) < 60
    assert "more" in terminal_table(record)
    assert len(markdown(record).encode()) < 1 << 20


def test_markdown_is_not_bent_by_what_it_quotes(record):
    text = markdown(record)
    assert "<script>" not in text
    assert "out: 1 of 8 wrong &lt;script&gt; | \\`x\\`" in text


def test_junit_carries_stage_and_bucket(record):
    suite = ElementTree.fromstring(junit_xml(record)).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
    }
    failed = suite.findall("testcase")[1]
    assert (failed.get("classname"), failed.get("name")) == ("k/b.py", "b[npu-1]")
    properties = {one.get("name"): one.get("value") for one in failed.iter("property")}
    assert properties == dict(junit_properties(record.verdicts[1]))
    assert (properties["stage"], properties["bucket"]) == ("compare", "wrong-values")
    assert [child.tag for child in failed if child.tag != "properties"] == ["failure", "system-out"]


def test_html_escapes_what_it_quotes_and_closes_what_it_opens(record):
    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.seen: set[str] = set()

        def handle_starttag(self, tag, attrs):
            self.seen.add(tag)
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    balance = Balance()
    balance.feed(html_page(record))
    assert balance.open == []
    assert not balance.seen & {"script", "b", "twice"}


def test_a_run_of_nothing_has_outputs_too(record):
    record.verdicts = []
    for output in (terminal_table, markdown, junit_xml, html_page):
        assert output(record)
