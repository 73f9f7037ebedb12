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


def test_a_new_line_stands_in_its_place_of_a_sorted_block_and_below_its_heading(listed):
    new = ["k/reduce/softmax.py::softmax[npu-0]", "k/reduce/topk.py::topk[npu-1]", "k/reduce/max.py::max[npu-1]"]
    allow(listed, [*new, "k/reduce/softmax.py::softmax[npu-1b]"])
    assert listed.read_text().splitlines()[2:9] == [
        "# reduce",
        "k/reduce/max.py::max[npu-1]",
        "k/reduce/softmax.py::softmax[npu-0]",
        "k/reduce/softmax.py::softmax[npu-1]",
        "k/reduce/softmax.py::softmax[npu-1b]",
        "k/reduce/softmax.py::softmax[npu-2]  fails race: atomics, #4",
        "k/reduce/topk.py::topk[npu-1]",
    ]


def test_a_line_is_not_put_between_another_and_what_it_was(listed):
    listed.write_text("# was: k/a/b.py::b[npu-1]  fails race: #4\nk/a/b.py::b[npu-1]\n")
    allow(listed, ["k/a/a.py::a[npu-1]"])
    assert listed.read_text().startswith("k/a/a.py::a[npu-1]\n# was: k/a/b.py::b[npu-1]")


def test_lines_that_are_not_sorted_stay_so_and_a_new_one_goes_after_the_last_that_is_like_it(listed):
    listed.write_text("k/a.py::a[npu-9]\nk/a.py::a[npu-10]\nk/a.py::a[npu-100]\nk/b/c.py::c[npu-1]\n")
    allow(listed, ["k/a.py::a[npu-11]"])
    assert listed.read_text().splitlines()[3] == "k/a.py::a[npu-11]"


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


def test_a_patterns_line_is_split_to_take_one_case_off(listed):
    listed.write_text("# all\nk/all/*[npu-?]  fails refused: too large\nk/all/z.py::z[npu-3]\n# end")
    cases = [f"k/all/z.py::z[npu-{n}]" for n in "3412"] + ["k/all/z.py::z[npu-12]", "k/b.py::b[npu-1]"]
    disallow(listed, "k/all/z.py::z[npu-2]", "why", "race", cases=cases)
    assert listed.read_text().splitlines() == [
        "# all",
        "k/all/z.py::z[npu-1]  fails refused: too large",
        "k/all/z.py::z[npu-2]  fails race: why",
        "k/all/z.py::z[npu-4]  fails refused: too large",
        "k/all/z.py::z[npu-3]",
        "# end",
    ]


def test_a_case_on_a_line_of_its_own_and_on_a_patterns_leaves_both(listed):
    listed.write_text("k/a.py::a[npu-1]\nk/a.py::*\n")
    with pytest.raises(UsageError, match="cannot be taken off alone"):
        disallow(listed, "k/a.py::a[npu-1]", "why")
    told = disallow(listed, "k/a.py::a[npu-1]", "why", cases=["k/a.py::a[npu-1]", "k/a.py::a[npu-2]"])
    assert listed.read_text() == "# off: k/a.py::a[npu-1]: why\nk/a.py::a[npu-2]\n"
    assert told.endswith("taken off; the others of line 2, k/a.py::*, are listed by name")


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
