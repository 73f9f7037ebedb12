"""The command line: what it prints, its exit status, and one sentence for a mistake."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from functools import partial

import pytest

from harness.cases.evidence import Evidence, Failure, Verdict
from harness.cases.loading import load_templates
from harness.cli import MODULES, main, parser
from harness.commands import nightly
from harness.reports import Recorder, RunInfo
from harness.verdicts import Fingerprint, classify
from harness.versions import check_versions

A, B = "k/a.py::a[npu-1]", "k/b.py::b[npu-1]"


# Collected without torch, which these cases do not need.
CONFTEST = """
import pytest
from harness.collection.cases import EXECUTION

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.stash[EXECUTION].preload = ()
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A repository with the cases A and B, as working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nkernel_paths = k\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "k").mkdir()
    for name in "ab":
        text = f"from harness.cases import case\n\n@case(n=[1])\ndef {name}(n):\n    return None\n"
        (tmp_path / "k" / f"{name}.py").write_text(text)
    return tmp_path


@pytest.fixture
def quick(monkeypatch, quick_start):
    """A pytest that collects has the plugin under test alone: others cost every one of them their start."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist -p harness.pytest_plugin")


@pytest.fixture
def report(here):
    def record(*cases: str, folder: str = ".harness/report", passed: Sequence[str] = ()):
        recorder = Recorder.start(here / folder, RunInfo(("pytest",), ("npu",)), Fingerprint)
        for case in cases:
            recorder.add(classify(Evidence(case, "npu", failure=Failure("simulate", "OutOfBounds", "x[9]"))))
        for case in passed:
            recorder.add(Verdict(case, "npu", "pass", "compare", "", "", Evidence(case, "npu")))
        return recorder.finish()

    return record


@pytest.mark.parametrize("format_", ["text", "json", "md", "junit", "html"])
def test_report_prints_every_format_of_the_last_run(report, capsys, format_):
    report(A)
    assert main(["report", "--format", format_]) == 0
    assert "trap-out-of-bounds" in capsys.readouterr().out


def test_report_merges_shards_and_gates_them(report, here, capsys):
    report(A, folder="one")
    report(B, folder="two")
    (here / "allowlist.txt").write_text(f"{A}  fails trap-out-of-bounds: known\n{B}\n")
    arguments = ["report", "one", "two/record.json", "--merge", "--gate", "--format", "json"]
    assert main(arguments) == 1
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert ([problem["case"] for problem in gate["problems"]], gate["known_failures"]) == ([B], [A])
    (here / "allowlist.txt").write_text("k/*  fails trap-out-of-bounds: known\n")
    assert main([*arguments, "--output", "merged.json"]) == 0
    assert (here / "merged.json").exists()


def test_report_shows_a_run_that_died(here, capsys):
    recorder = Recorder.start(here / ".harness/report", RunInfo())
    recorder.add(classify(Evidence(A, "npu")))
    assert main(["report"]) == 0
    assert "ended early" in capsys.readouterr().out


@pytest.mark.parametrize("merge", [[], ["--merge"]])
def test_the_gate_is_red_for_a_run_that_died_though_all_it_did_passed(here, capsys, merge):
    recorder = Recorder.start(here / "one", RunInfo())
    recorder.add(classify(Evidence(A, "npu", failure=Failure("simulate", "OutOfBounds", "x[9]"))))
    (here / "allowlist.txt").write_text(f"{A}  fails trap-out-of-bounds: known\n{B}\n")
    assert main(["report", "one", "--gate", *merge]) == 1
    out = capsys.readouterr().out
    assert "The run ended early: its cases have no verdict" in out and "matches no case" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report"], "there is no .harness/report"),
        (["report", "none.json"], "there is no none.json"),
        (["report", "broken.json"], "broken.json is not JSON"),
        (["report", "one", "two"], "more than one record"),
        (["allow", "two words"], "'two words' is not a node id"),
        (["allow"], "there is nothing to allow"),
        (["allow", A, "--allowlist", "none/allowlist.txt"], "cannot write none/allowlist.txt"),
        (["disallow", A, "--reason", "x"], "there is no allowlist"),
        (["disallow", A, "--reason", "x", "--bucket", "hang"], "called 'hang' (did you mean 'timeout'?)"),
        (["disallow", A, "--reason", "x", "--bucket", "wrong-value"], "(did you mean 'wrong-values'?)"),
        (["new", "k/a-b.py"], "k/a-b.py is no case file"),
        (["new", "k/conftest.py"], "k/conftest.py is no case file"),
        (["new", "k/a.py/x/y.py"], "cannot write k/a.py/x/y.py"),
        (
            ["new", "other/a.py"],
            "in no folder of kernel cases, so that pytest would not collect it (write it below k",
        ),
        (["new", "../a.py"], "would not collect it (write it below "),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_users_mistake_is_one_sentence_and_status_2(report, here, capsys, arguments, said):
    (here / "broken.json").write_text("{")
    report(A, folder="one")
    report(B, folder="two")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("harness: ") and said in error and error.count("\n") == 1


@pytest.mark.usefixtures("quick")
def test_allow_and_disallow_edit_the_file(here, capsys):
    assert main(["allow", A, B]) == 0
    assert main(["disallow", A, "--reason", "broken by #7"]) == 0
    assert main(["disallow", B, "--reason", "#8", "--bucket", "race", "--stage", "simulate"]) == 0
    assert (here / "allowlist.txt").read_text() == f"# off: {A}: broken by #7\n{B}  fails race at simulate: #8\n"
    assert "taken off" in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_the_line_of_a_pattern_is_split_by_the_cases_that_there_are(here, capsys):
    (here / "k/a.py").write_text((here / "k/a.py").read_text().replace("[1]", "[1, 2, 3]"))
    (here / "allowlist.txt").write_text("k/a.py::*[npu*\n")
    disallow = ["disallow", A, "--reason", "#8", "--bucket", "race"]
    assert main(disallow) == 2 and "give --split" in capsys.readouterr().err
    assert main([*disallow, "--split"]) == 0
    assert (here / "allowlist.txt").read_text().splitlines() == [
        f"{A}  fails race: #8",
        "k/a.py::a[npu-2]",
        "k/a.py::a[npu-3]",
    ]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "node_ids", [("k/sub/a.py::a[npu-1]", "k/sub/a.py::*", "k/sub/*[npu*"), ("k/sub/aa.py::a[npu-1]",)]
)
def test_only_the_files_that_an_id_can_be_of_are_collected(here, node_ids):
    (here / "k/sub").mkdir()
    (here / "k/a.py").rename(here / "k/sub/a.py")
    (here / "k/b.py").write_text(f"open({str(here / 'imported')!r}, 'w')")
    assert main(["allow", *node_ids]) == (2 if "k/sub/aa.py::a[npu-1]" in node_ids else 0)
    assert not (here / "imported").exists()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "arguments",
    [
        ["allow", A.replace("npu", "ttir"), "k/a.py::a[npu-2]"],
        ["allow", "k/c.py::*[npu-1]"],
        ["disallow", "k/a.py::b[npu-1]", "--reason", "x", "--bucket", "race"],
    ],
)
def test_a_node_id_of_no_case_is_refused_with_the_nearest(here, capsys, arguments):
    assert main(arguments) == 2
    assert re.search(r"\S+ matches no case \(did you mean k/[ab]\.py::[ab]\[npu-1\]", capsys.readouterr().err)
    assert not (here / "allowlist.txt").exists()


def test_what_is_on_no_line_cannot_be_taken_off_and_the_nearest_is_named(here, capsys):
    (here / "allowlist.txt").write_text(f"k/gone.py::*\n{A}\n")
    assert main(["disallow", A.replace("::a", "::aa"), "--reason", "x"]) == 2
    assert f"did you mean {A}" in capsys.readouterr().err
    assert main(["disallow", "k/gone.py::*", "--reason", "it is gone"]) == 0  # what matches nothing must go


def test_a_first_list_is_made_of_what_passed(report, here, capsys):
    passed = [f"k/a.py::a[npu-{i}]" for i in range(100, 500)]
    report(B, passed=passed)
    report(B)  # run again by itself
    assert main(["report", "--gate"]) == 2
    assert "`harness allow --all-passing` makes one" in capsys.readouterr().err
    assert main(["allow", "--all-passing"]) == 0
    assert (here / "allowlist.txt").read_text().splitlines() == passed
    assert capsys.readouterr().out.splitlines()[-1] == "... and 390 more"


def test_new_writes_a_case_file_that_loads_and_computes_what_it_says(here, capsys):
    assert main(["new", "k/reduce/mean.py"]) == 0
    (template,) = load_templates(here / "k/reduce/mean.py")
    assert [instance.build().grid for instance in template.instances()] == [(8,), (8,)]
    assert main(["new", "k/reduce/mean.py"]) == 2


def test_new_takes_the_default_folder_where_nothing_is_configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "coverage_kernels/mean.py"]) == 0
    assert main(["new", "kernels/mean.py"]) == 2
    assert not (tmp_path / "kernels").exists()


def test_from_a_folder_of_the_repository_its_report_and_allowlist_are_found(report, here, capsys, monkeypatch):
    report(B, passed=[A])
    monkeypatch.chdir(here / "k")
    assert main(["report"]) == 0 and "1 passed, 1 failed" in capsys.readouterr().out
    (here / "allowlist.txt").write_text(f"{B}  fails trap-out-of-bounds: known\n")
    assert main(["allow", "--all-passing"]) == 0
    assert main(["allow", B]) == 0  # which is collected to see that there is such a case
    assert main(["report", "--gate"]) == 1
    assert [one for one in (here / "allowlist.txt").read_text().splitlines() if one[0] != "#"] == [A, B]
    assert not (here / "k" / "allowlist.txt").exists()
    assert main(["new", "mean.py"]) == 0 and (here / "k/mean.py").exists()


@pytest.mark.parametrize("folders", [(), ("coverage_kernels",)])
def test_nightly_runs_the_cases_behind_the_gate(here, folders):
    for folder in folders:
        (here / folder).mkdir()
    options = parser().parse_args(["nightly", "--report-dir", "out", "--", "-k", "softmax"])
    assert nightly.pytest_command(options) == [
        *(sys.executable, "-m", "pytest", "-n", "auto", "--gate", *folders),
        *("--report-dir=out", "-k", "softmax"),
    ]


def test_nightly_runs_the_part_that_is_named(here):
    for folder in ("coverage_kernels/scan", "softmax"):
        (here / folder).mkdir(parents=True)
    part = parser().parse_args(["nightly", "--", "coverage_kernels/scan", "-x"])
    assert nightly.pytest_command(part).count("coverage_kernels/scan") == 1
    assert "coverage_kernels" not in nightly.pytest_command(part)
    word = parser().parse_args(["nightly", "--", "-k", "softmax"])
    assert "coverage_kernels" in nightly.pytest_command(word)


def test_a_command_that_is_unknown_is_no_traceback(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["nonsense"])
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def _helps(whole: argparse.ArgumentParser) -> dict[str, str]:
    """What each command's own parser says of it."""
    (commands,) = (action.choices for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    return {name: command.format_help() for name, command in commands.items()}


def test_the_parser_for_one_command_knows_it_as_that_of_all_does():
    known = _helps(parser())
    assert list(known) == list(MODULES)
    for command in MODULES:
        alone = _helps(parser(command))
        assert alone[command] == known[command] and set(alone) <= {"allow", "disallow", "disasm", "time", command}


@pytest.mark.parametrize(
    "command", ["bisect k/a.py", "matrix k/a.py", "time k/a.py", "disasm k/a.py", "opt a.mlir -canonicalize", "model a"]
)
def test_a_command_that_compiles_refuses_what_it_does_not_support(here, monkeypatch, capsys, command):
    monkeypatch.setattr("harness.cli.check_versions", partial(check_versions, version_of=lambda name: "2.12"))
    assert main(command.split()) == 2
    assert capsys.readouterr().err == "harness: triton 2.12 is not supported (supported: >=3.6, <3.10)\n"
