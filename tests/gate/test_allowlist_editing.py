"""allow and disallow keep comments and order; what is taken off leaves its reason."""

from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.gate import Gate, allow, disallow

TEXT = """\
# the gate of the nightly

# reduce
k/reduce/softmax.py::softmax[npu-1]
k/reduce/softmax.py::softmax[npu-2]  fails race: atomics, #4
# scan
k/scan/cumsum.py::cumsum[npu-1]
"""


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "allowlist.txt"
    path.write_text(TEXT)
    return path


def test_a_new_line_goes_beside_its_like(listed):
    allow(listed, ["k/reduce/softmax.py::softmax[npu-3]", "k/sort/topk.py::topk[npu-1]"])
    wanted = TEXT.replace("atomics, #4\n", "atomics, #4\nk/reduce/softmax.py::softmax[npu-3]\n")
    assert listed.read_text() == wanted + "k/sort/topk.py::topk[npu-1]\n"


def test_a_known_failure_that_must_pass_now_keeps_its_history(listed):
    allow(listed, ["k/reduce/softmax.py::softmax[npu-2]"])
    old = "k/reduce/softmax.py::softmax[npu-2]  fails race: atomics, #4\n"
    assert listed.read_text() == TEXT.replace(old, f"# was: {old}k/reduce/softmax.py::softmax[npu-2]\n")


def test_what_is_listed_or_covered_changes_nothing(listed):
    listed.write_text(TEXT + "k/all/*\n")
    allow(listed, ["k/scan/cumsum.py::cumsum[npu-1]", "k/all/x.py::x[npu-1]"])
    assert listed.read_text() == TEXT + "k/all/*\n"


def test_a_line_taken_off_leaves_its_reason(listed):
    disallow(listed, "k/scan/cumsum.py::cumsum[npu-1]", "flaky on\nsmall machines, #9")
    line = "k/scan/cumsum.py::cumsum[npu-1]\n"
    off = "# off: k/scan/cumsum.py::cumsum[npu-1]: flaky on small machines, #9\n"
    assert listed.read_text() == TEXT.replace(line, off)


def test_a_case_becomes_a_known_failure(listed):
    disallow(listed, "k/scan/cumsum.py::cumsum[npu-1]", "#9", "wrong-values", "compare")
    known = Gate.load(listed).known_failure("k/scan/cumsum.py::cumsum[npu-1]")
    assert str(known) == "fails wrong-values at compare: #9"
    disallow(listed, "k/new.py::new[npu-1]", "never passed", "refused")
    assert listed.read_text().endswith("k/new.py::new[npu-1]  fails refused: never passed\n")


@pytest.mark.parametrize(
    ("node_id", "reason", "bucket"),
    [
        ("k/none.py::x[npu-1]", "why", ""),
        ("k/scan/cumsum.py::cumsum[npu-1]", "  ", ""),
        ("k/scan/cumsum.py::cumsum[npu-1]", "why", "no-such-bucket"),
        ("two words", "why", ""),
        ("", "why", ""),
    ],
)
def test_an_edit_that_makes_no_sense_changes_nothing(listed, node_id, reason, bucket):
    with pytest.raises(UsageError):
        disallow(listed, node_id, reason, bucket)
    assert listed.read_text() == TEXT


def test_a_case_that_a_pattern_covers_is_not_taken_off_behind_its_back(listed):
    listed.write_text("k/all/*\n")
    for bucket in ("", "race"):
        with pytest.raises(UsageError, match=r"line 1, k/all/\*, matches it"):
            disallow(listed, "k/all/x.py::x[npu-1]", "why", bucket)


def test_a_file_without_a_last_newline_and_a_file_that_is_not_there(listed, tmp_path):
    listed.write_text("k/a.py::a[npu-1]")
    allow(listed, ["k/b.py::b[npu-1]"])
    assert listed.read_text() == "k/a.py::a[npu-1]\nk/b.py::b[npu-1]\n"
    allow(tmp_path / "new.txt", ["k/a.py::a[npu-1]"])
    assert (tmp_path / "new.txt").read_text() == "k/a.py::a[npu-1]\n"


def test_a_broken_line_is_named_and_the_file_left_alone(listed):
    listed.write_text("k/a.py::a[npu-1] is odd\n")
    with pytest.raises(UsageError, match=r"allowlist\.txt:1: "):
        allow(listed, ["k/b.py::b[npu-1]"])
    assert listed.read_text() == "k/a.py::a[npu-1] is odd\n"
