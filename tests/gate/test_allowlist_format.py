"""How a line of allowlist.txt reads, and what is said of one that does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.gate import Entry, Gate, KnownFailure

SOFTMAX = "coverage_kernels/reduce/softmax.py::softmax[npu-fp32-62x1000]"


def load(tmp_path, text: str) -> Gate:
    path = tmp_path / "allowlist.txt"
    path.write_text(text)
    return Gate.load(path)


def test_the_three_kinds_of_line(tmp_path):
    text = f"# why\n\n{SOFTMAX}\n  {SOFTMAX}  fails race: see #3: later\n{SOFTMAX} fails verifier at tt-pass: x\n"
    assert load(tmp_path, text).entries == (
        Entry(SOFTMAX, 3),
        Entry(SOFTMAX, 4, KnownFailure("race", "see #3: later")),
        Entry(SOFTMAX, 5, KnownFailure("verifier", "x", "tt-pass")),
    )


@pytest.mark.parametrize(
    "line",
    [
        f"{SOFTMAX} is broken",
        f"{SOFTMAX} fails race",
        f"{SOFTMAX} fails race:",
        f"{SOFTMAX} fails: reason",
        f"{SOFTMAX} # a comment beside it",
        f"{SOFTMAX} fails no-such-bucket: reason",
    ],
)
def test_a_line_that_does_not_parse_is_named_with_its_line(tmp_path, line):
    with pytest.raises(UsageError, match=r"allowlist\.txt:2: "):
        load(tmp_path, f"# one\n{line}\n")


def test_a_missing_file_and_one_that_is_not_text_are_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="there is no allowlist"):
        Gate.load(tmp_path / "allowlist.txt")
    (tmp_path / "allowlist.txt").write_bytes(b"a\n\xff\n")
    with pytest.raises(UsageError, match=r"allowlist\.txt:2: the allowlist is not UTF-8"):
        Gate.load(tmp_path / "allowlist.txt")


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (SOFTMAX, True),
        ("coverage_kernels/*", True),
        ("*::softmax[npu-*]", True),
        ("*[npu-fp?2-62x1000]", True),
        ("coverage_kernels/reduce/softmax.py::softmax", False),
        ("coverage_kernels/reduce/softmax.py::softmax[n]", False),
        ("*::softmax[!x]", False),
        ("*[gpu-*]", False),
    ],
)
def test_only_star_and_question_mark_are_special(pattern, matches):
    assert Entry(pattern, 1).matches(SOFTMAX) is matches


@given(st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="*?#"), min_size=1))
def test_a_node_id_matches_itself_whatever_is_in_it(node_id):
    entry = Entry(node_id, 1)
    assert entry.is_exact
    assert entry.matches(node_id)
    assert not entry.matches(node_id + "x")


def test_the_target_a_line_names():
    assert Entry(SOFTMAX, 1).target == "npu"
    assert Entry("k.py::k[cuda:80-fp32]", 1).target == "cuda:80"
    assert Entry("k.py::k[gpu]", 1).target == "gpu"
    assert Entry("k.py::k[*-fp32]", 1).target == ""
    assert Entry("coverage_kernels/*", 1).target == ""
