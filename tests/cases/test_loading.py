"""A case file that is wrong says so in one sentence, at its line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from harness.cases.features import FEATURES, lacking
from harness.cases.kernel_case import CaseTemplate
from harness.cases.loading import case_files, find_instance, load_templates, summarise
from harness.cases.location import SourceLocation
from harness.errors import CaseError

GOOD = """
from harness.cases import case

@case(marks=["slow"], size=[1, (2, 3)])
def second(size):
    return None

@case()
def bare():
    return None

again = second
"""


def write(folder: Path, text: str, name: str = "cases.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_cases_come_in_file_order_once_each(tmp_path: Path) -> None:
    summaries = summarise(write(tmp_path, GOOD))
    assert [(one.name, one.parameter_id) for one in summaries] == [("second", "1"), ("second", "2x3"), ("bare", "")]
    assert [mark.name for mark in summaries[0].marks] == ["slow"]
    assert summaries[0].where.line == 4


def test_files_of_one_name_do_not_meet_and_the_path_stays(tmp_path: Path) -> None:
    before = list(sys.path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, GOOD.replace("bare", f"bare_{folder}"))
    names = {load_templates(tmp_path / folder / "cases.py")[1].name for folder in ("a", "b")}
    assert names == {"bare_a", "bare_b"}
    assert sys.path == before


def test_cases_imported_from_elsewhere_are_not_the_files_own(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "other.py")
    text = f"import sys\nsys.path.append({str(tmp_path)!r})\nfrom other import bare\nsys.path.pop()\n"
    with pytest.raises(CaseError, match="declares no case"):
        load_templates(write(tmp_path, text))


def test_helpers_are_not_case_files(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_shared.py", "conftest.py", "notes.md"):
        write(tmp_path, "", name)
    assert [path.name for path in case_files(tmp_path)] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("value", "reads"),
    [
        ("a b\n", r"a\x20b\n"),
        (r"a\n", r"a\\n"),
        ("caf\u00e9 \ud800", r"caf\xe9\x20\ud800"),
        ([1, "a b"], r"[1,'a\x20b']"),
        ((1, "a b", True), r"1xa\x20bxtrue"),
    ],
)
def test_an_id_is_one_word_of_ascii(value: object, reads: str) -> None:
    template = CaseTemplate("one", lambda v: None, {"v": [value]}, SourceLocation("f.py", 1))  # type: ignore[arg-type]
    assert [one.parameter_id for one in template.instances()] == [reads]


def test_one_case_is_found_by_its_id(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert find_instance(path, "second", "2x3").chosen == {"size": (2, 3)}
    with pytest.raises(CaseError, match=r"no case second\[7\]"):
        find_instance(path, "second", "7")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("x = 1\ndef f(:\n", 2, "is not Python"),
        ("\nimport a_module_nobody_has\n", 2, "ModuleNotFoundError"),
        ("\n\nraise ValueError('no')\n", 3, "ValueError: no"),
        ("import sys\nsys.exit(2)\n", 2, "SystemExit: 2"),
        ("x = 1\n", 1, "declares no case"),
        (GOOD + "\ndef bare():\n    pass\n", 14, "bare is defined twice"),
        (GOOD.replace("(2, 3)", "'1'"), 4, r"two cases would have the id second\[1\]"),
        (GOOD.replace('"slow"', "7"), 4, "7 is not a pytest mark"),
        (GOOD.replace("def bare():", "def bare(n):"), 8, "takes"),
        ("x = '\0'\n", 1, "is not Python"),
    ],
)
def test_what_is_wrong_is_said_at_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(CaseError, match=what) as caught:
        summarise(path)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (str(path), line)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="cannot be read"):
        load_templates(tmp_path / "gone.py")


def test_a_factory_cannot_declare_one_name_twice(tmp_path: Path) -> None:
    text = """
from harness.cases import case

def family(size):
    @case(size=[size])
    def generated(size):
        return None
    return generated

right, wrong = family(1), family(2)
"""
    with pytest.raises(CaseError, match="two cases are called generated"):
        summarise(write(tmp_path, text))


@pytest.mark.parametrize("values", ["3", "'fp32'"])
def test_a_parameter_needs_a_list_of_values(tmp_path: Path, values: str) -> None:
    text = f"from harness.cases import case\n\n@case(v={values})\ndef one(v):\n    return None\n"
    with pytest.raises(CaseError, match="needs a list of values for v"):
        summarise(write(tmp_path, text))


def test_a_parameter_without_values_is_no_case_and_said(tmp_path: Path) -> None:
    text = "from harness.cases import case\n\n@case(v=[], w=[1, 2])\ndef one(v, w):\n    return None\n"
    (summary,) = summarise(write(tmp_path, text))
    assert (summary.parameter_id, summary.absent) == ("no-v", "parameter v has no values")


def test_what_the_release_lacks_is_said_of_every_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FEATURES, "tl.make_block_ptr", SpecifierSet("<1"))
    text = "from harness.cases import case\n\n@case(needs='tl.make_block_ptr', v=[1, 2])\ndef one(v):\n    pass\n"
    absent = [summary.absent for summary in summarise(write(tmp_path, text))]
    assert len(absent) == 2 and all(re.fullmatch(r"Triton \S+ has no tl.make_block_ptr", reason) for reason in absent)
    with pytest.raises(CaseError, match=r"cases.py:3: no feature is called 'tl.make_blk_ptr' .one of: tl.make_block"):
        summarise(write(tmp_path, text.replace("block", "blk")))


def test_releases_are_told_apart() -> None:
    needs = ["tl.make_block_ptr"]
    assert [bool(lacking(needs, release)) for release in ("3.6.0", "3.8.1", "3.9.0", "3.9.0+git1", "4.0.0")] == [
        *(False, False, True, True, True)
    ]
