"""The plugin as a pytest user meets it: each test runs a small suite in an inner pytest."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from kept_zygote import MISBEHAVIOUR, KeptZygote

# Imported here, since inner runs forget what they import, and NumPy cannot be imported twice.
from harness.cases.targets import DEFAULT_TARGET, ENVIRONMENTS
from harness.gate import Gate, allow
from harness.reports import RunInfo, load_report
from harness.targets.registry import targets

# Cases that need neither torch nor a compiler: what is under test is what becomes of them.
CONFTEST = """
import pytest
from harness.collection.cases import EXECUTION

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    execution = config.stash[EXECUTION]
    execution.runner = "misbehaviour:run"
    execution.preload = ()
"""

BARE = """
from harness.cases import case

@case()
def bare():
    return None
"""
DEEDS = """
from harness.cases import case

@case(deed={deeds})
def deeds(deed):
    return None

@case()
def bare():
    return None
"""


class Suite:
    """A repository with a folder of case files."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, zygote: KeptZygote) -> None:
        self.pytester, self.zygote = pytester, zygote
        pytester.makeconftest(CONFTEST)
        # Only the plugins under test: others cost every process of every inner run its start.
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        plugins = "-p xdist -p harness.pytest_plugin"
        pytester.makeini(f"[pytest]\npythonpath = {MISBEHAVIOUR}\naddopts = --strict-markers {plugins}\n")

    def add(self, path: str, *deeds: str) -> None:
        self.write(path, DEEDS.format(deeds=list(deeds)) if deeds else BARE)

    def write(self, path: str, text: str) -> None:
        file = self.pytester.path / "coverage_kernels" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")

    def run(self, *options: str) -> pytest.RunResult:
        """Not with a zygote of its own, as `run_alone` does."""
        return self.pytester.runpytest_inprocess(*options, plugins=[self.zygote])

    def run_alone(self, *options: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(*options)

    def record(self) -> dict[str, Any]:
        return json.loads((self.pytester.path / ".harness/report/record.json").read_text(encoding="utf-8"))

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """(outcome, bucket) by the part of the node id in brackets."""
        verdicts = self.record()["verdicts"]
        return {one["case"].rpartition("::")[2].strip("]"): (one["outcome"], one["bucket"]) for one in verdicts}


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, one_toolchain: None, zygote: KeptZygote) -> Suite:
    return Suite(pytester, monkeypatch, zygote)


EVERY_VERDICT = {
    "deeds[npu-nothing": ("pass", ""),
    "deeds[npu-wrong": ("fail", "wrong-values"),
    "deeds[npu-refuse": ("refused", "refused"),
    "deeds[npu-segfault": ("fail", "compiler-crash"),
    "deeds[npu-os._exit": ("fail", "frontend"),
    "deeds[npu-sys.exit": ("fail", "frontend"),
    "deeds[npu-hang": ("fail", "timeout"),
    "deeds[npu-trap": ("fail", "trap-out-of-bounds"),
}


def test_every_case_has_its_verdict_whatever_the_others_do(suite: Suite) -> None:
    suite.add("reduce/bad.py", "nothing", "wrong", "refuse", "segfault", "os._exit", "sys.exit", "hang", "trap")
    suite.add("good.py")
    result = suite.run_alone("-n0", "--case-timeout=1", "--junitxml=junit.xml", "-p", "no:cacheprovider")
    assert suite.verdicts() == {**EVERY_VERDICT, "bare[npu": ("pass", "")}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(suite.record()["verdicts"]) == 10  # both files have a `bare[npu]`
    result.stdout.fnmatch_lines(["3 passed, 6 failed, 1 refused, 0 void of 10 cases *", "wrong-values *1 *"])
    result.stdout.fnmatch_lines(["FAILED coverage_kernels/reduce/bad.py::deeds[[]npu-wrong[]] - wrong-values at*"])
    rerun = "rerun: *python -m pytest 'coverage_kernels/reduce/bad.py::deeds[[]npu-hang[]]'"
    result.stdout.fnmatch_lines([rerun])
    lowering = re.findall("^lowering: +(.*)", result.stdout.str(), re.MULTILINE)
    wrong, trap = (f"'coverage_kernels/reduce/bad.py::deeds[npu-{deed}]'" for deed in ("wrong", "trap"))
    assert lowering == [f"python -m pytest --check-lowering {node}" for node in (wrong, trap)]
    result.stdout.fnmatch_lines(["*6 failed, 3 passed, *1 refused*"])
    assert "collection/cases.py" not in result.stdout.str()  # no traceback of ours
    properties = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in ElementTree.parse(suite.pytester.path / "junit.xml").iter("testcase")
    }
    assert properties["deeds[npu-trap]"]["bucket"] == "trap-out-of-bounds"
    assert properties["deeds[npu-trap]"]["stage"] == "frontend"


@pytest.mark.usefixtures("quick_start")
def test_under_xdist_a_killed_worker_costs_the_case_it_ran(suite: Suite) -> None:
    deeds = ("nothing", "kill-pytest", "wrong", "refuse", "segfault", "os._exit", "sys.exit", "hang", "trap")
    suite.add("cases.py", *deeds)
    suite.write("broken.py", "x = 1\n")
    file = "coverage_kernels/cases.py"
    lines = f"{file}::deeds[npu-nothing]\n{file}::bare[npu]\n"
    (suite.pytester.path / "allowlist.txt").write_text(lines, encoding="ascii")
    result = suite.run("-n2", "--case-timeout=1", "--gate", "-k", "not bare")
    verdicts = suite.verdicts()
    assert verdicts.pop("coverage_kernels/broken.py") == ("fail", "collect")
    assert verdicts == {**EVERY_VERDICT, "deeds[npu-kill-pytest": ("fail", "environment")}
    assert not suite.record()["interrupted"]
    lost, broken = suite.record()["notes"]
    assert re.fullmatch(rf"1 lost with worker gw\d: {re.escape(file)}::deeds\[npu-kill-pytest\]", lost)
    assert broken == "1 of the failures is a file whose cases cannot be listed: an error in pytest's counts"
    # What the workers left out on purpose is no line that matches nothing; what is not listed is not gated.
    gate = suite.record()["gate"]
    assert (gate["gated"], gate["out_of_scope"], gate["problems"]) == (1, 1, [])
    assert result.ret == pytest.ExitCode.OK


def test_selecting_is_pytests_own(suite: Suite) -> None:
    suite.add("reduce/softmax.py", "nothing", "wrong")
    suite.add("scan/cumsum.py", "nothing")
    suite.write("scan/_shared.py", "raise AssertionError('a helper is no case file')\n")
    softmax, cumsum = "coverage_kernels/reduce/softmax.py", "coverage_kernels/scan/cumsum.py"
    every = [f"{softmax}::{name}" for name in ("deeds[npu-nothing]", "deeds[npu-wrong]", "bare[npu]")]
    every += [f"{cumsum}::{name}" for name in ("deeds[npu-nothing]", "bare[npu]")]
    selections: dict[tuple[str, ...], list[str]] = {
        (): every,
        (f"{softmax}::deeds[npu-wrong]",): every[1:2],
        (f"{softmax}::deeds",): every[:2],
        (softmax,): every[:3],
        ("-k", "softmax and nothing"): every[:1],
        ("-m", "scan and npu"): every[3:],
        ("-m", "ttir", "--target=npu,ttir", "-k", "wrong"): [every[1].replace("npu", "ttir")],
        ("--deselect", f"{softmax}::deeds"): every[2:],
    }
    for options, expected in selections.items():
        result = suite.run("--collect-only", "-q", "-n0", *options)
        assert [line for line in result.outlines if "::" in line] == expected, options
    assert not (suite.pytester.path / ".harness").exists()


def test_last_failed_and_stop_at_the_first(suite: Suite) -> None:
    suite.add("bad.py", "wrong", "nothing")
    suite.add("good.py")
    suite.run("-n0", "-x").assert_outcomes(failed=1)
    assert suite.record()["interrupted"]
    assert list(suite.verdicts()) == ["deeds[npu-wrong"]
    suite.run("-n0", "--lf").assert_outcomes(failed=1)


def test_marks_of_a_case_are_pytests(suite: Suite) -> None:
    marks = '@case(marks=[pytest.mark.skip(reason="too slow here")], deed=["hang"])'
    suite.write("marked.py", "import pytest\n" + DEEDS.format(deeds=[]).replace("@case(deed=[])", marks))
    suite.run("-n0").assert_outcomes(passed=1, skipped=1)
    assert suite.verdicts() == {"deeds[npu-hang": ("skip", ""), "bare[npu": ("pass", "")}


def test_a_case_with_nothing_to_run_is_skipped_for_a_reason_the_gate_takes(suite: Suite) -> None:
    by_hand = '@case(marks=[pytest.mark.skip(reason="not today")])\ndef skipped():\n    return None\n'
    suite.write("cases.py", "import pytest\n" + DEEDS.format(deeds=[]) + by_hand)
    allowlist = suite.pytester.path / "allowlist.txt"
    allowlist.write_text("coverage_kernels/cases.py::*\n", encoding="ascii")
    result = suite.run("-n0", "--gate")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["1 skipped: parameter deed has no values", "gate RED: 1 problem, 2 cases held *"])
    assert suite.verdicts()["deeds[npu-no-deed"] == ("skip", "")
    assert [one["case"] for one in suite.record()["gate"]["problems"]] == ["coverage_kernels/cases.py::skipped[npu]"]


def test_broken_files_are_errors_at_their_line_and_stop_nothing(suite: Suite) -> None:
    suite.write("syntax.py", "def f(:\n")
    suite.write("imports.py", "\nimport a_module_nobody_has\n")
    suite.write("deadly.py", "import os\nos._exit(7)\n")
    suite.write("empty.py", "x = 1\n")
    suite.add("good.py")
    line = "coverage_kernels/imports.py::deeds[npu-nothing]\n"
    (suite.pytester.path / "allowlist.txt").write_text(line, encoding="ascii")
    result = suite.run("-n0", "--gate")
    result.assert_outcomes(passed=1, errors=4)
    result.stdout.fnmatch_lines_random(
        [
            "*syntax.py:1:7: the case file is not Python: *",
            "*imports.py:2: importing the case file raised ModuleNotFoundError: *",
            "*deadly.py:1: importing the case file ended the process: exit status 7*",
            "*empty.py:1: the file declares no case (decorate a function with @case(...))",
        ]
    )
    verdicts = suite.verdicts()
    assert verdicts.pop("bare[npu") == ("pass", "")
    assert set(verdicts.values()) == {("fail", "collect")} and len(verdicts) == 4
    # A listed case that could not be collected is held against the run.
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [one["kind"] for one in suite.record()["gate"]["problems"]] == ["not-run"]


def test_targets_are_known_by_name_and_environment_before_torch_is_imported() -> None:
    assert {name: target.environment for name, target in targets().items()} == ENVIRONMENTS
    assert not ENVIRONMENTS[DEFAULT_TARGET]


def test_pytests_own_process_imports_no_torch(suite: Suite) -> None:
    suite.add("good.py")
    check = (
        "def pytest_unconfigure():\n    import sys\n    assert not {'torch', 'triton', 'numpy'} & set(sys.modules)\n"
    )
    suite.pytester.makeconftest(CONFTEST + check)
    run = suite.pytester.runpytest_subprocess("-n0", "--target=npu,interpreter")
    assert run.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("options", [(), ("--gate",)])
def test_a_run_whose_report_cannot_be_written_is_not_green(suite: Suite, options: tuple[str, ...]) -> None:
    suite.add("good.py", "pass")
    (suite.pytester.path / "allowlist.txt").write_text("coverage_kernels/*\n", encoding="ascii")
    spoil = (
        "def pytest_runtest_teardown(item):\n"
        "    folder = item.config.rootpath / '.harness/report'\n"
        "    (folder / 'record.json').mkdir(exist_ok=True)\n"
    )
    suite.pytester.makeconftest(CONFTEST + spoil)
    result = suite.run("-n0", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*cannot write*record.json*"])


def test_a_case_file_where_nobody_looks_for_one_is_said(suite: Suite) -> None:
    suite.add("good.py")
    (suite.pytester.path / "stray.py").write_text(DEEDS.format(deeds=["pass"]), encoding="ascii")
    suite.run("-n0", "stray.py").stdout.fnmatch_lines(["NOTE: stray.py declares cases, but lies in no folder of kern*"])
    suite.pytester.makepyfile(test_stray=DEEDS.format(deeds=["pass"]) + "\ndef test_them():\n    deeds\n")
    for nothing_to_say_of in ("coverage_kernels/good.py", "test_stray.py"):
        suite.run("-n0", nothing_to_say_of).stdout.no_fnmatch_line("NOTE:*")


def test_ordinary_tests_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_plain="def test_one(): pass")
    assert "kernel cases" not in pytester.runpytest_inprocess("-n0").stdout.str()
    (pytester.path / "coverage_kernels").mkdir()
    result = pytester.runpytest_inprocess("-n0", "test_plain.py")
    result.assert_outcomes(passed=1)
    assert not (pytester.path / ".harness").exists()
    # A test module that does not import still stops pytest.
    pytester.makepyfile(test_broken="import a_module_nobody_has")
    assert pytester.runpytest_inprocess("-n0").ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target=nope",), "there is no target 'nope' (one of: *npu*"),
        (("--gate", "--allowlist=bad.txt"), "*bad.txt:2: *"),
        (("--gate", "--allowlist=gone.txt"), "*gone.txt*"),
        (("--report-dir=bad.txt",), "cannot write the report folder *bad.txt*"),
        (("--case-timeout=0",), "--case-timeout '0' is not a number of seconds above zero"),
        (("--case-memory=1K",), "--case-memory '1K' is less than the 16M that Triton may need *"),
        (("--case-memory=big",), "--case-memory 'big' is not a size such as 512M or 2G"),
        (("--shard=3/2",), "--shard '3/2' is not I/N with I from 1 to N, such as 2/4"),
    ],
)
def test_options_that_cannot_be_used_are_one_sentence(suite: Suite, options: tuple[str, ...], message: str) -> None:
    suite.add("good.py")
    (suite.pytester.path / "bad.txt").write_text("# fine\nx.py::y  fails nowhere\n", encoding="ascii")
    result = suite.run("-n0", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


@pytest.mark.parametrize("options", [("-m", "cuda_91"), ("-k", "(")])
def test_an_expression_that_is_none_is_told_and_is_no_run(suite: Suite, options: tuple[str, ...]) -> None:
    suite.add("good.py")
    suite.run("-n0")
    before = suite.record()
    result = suite.run("-n0", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.no_fnmatch_line("*ended early*")
    result.stderr.fnmatch_lines([f"ERROR: *{options[1]}*"])
    assert suite.record() == before
    assert load_report(suite.pytester.path / ".harness/report").verdicts  # the journal is the old one too


TEXTS = ("a\nb", "a b", "ab", " a", "a ", "a  b", "a\\nb", "a\tb", "a*b", "a?b", "a]b", "caf\u00e9", "")


def test_an_id_of_any_text_goes_to_the_allowlist_and_back(suite: Suite) -> None:
    suite.write("texts.py", f"from harness.cases import case\n\n@case(text={list(TEXTS)!a})\ndef texts(text): ...\n")
    assert suite.run("-n0").ret == pytest.ExitCode.OK
    ids = [one["case"] for one in suite.record()["verdicts"]]
    assert len(set(ids)) == len(TEXTS) and not any(character.isspace() for one in ids for character in one)
    assert "coverage_kernels/texts.py::texts[npu-a\\nb]" in ids
    allowlist = suite.pytester.path / "allowlist.txt"
    for one in ids:  # each listed alone holds itself, and no other
        allowlist.unlink(missing_ok=True)
        allow(allowlist, [one])
        assert [entry.matches(other) for entry in Gate.load(allowlist).entries for other in ids].count(True) == 1
    allow(allowlist, ids)
    assert suite.run("-n0", "--strict-gate").ret == pytest.ExitCode.OK
    for one in ids[:2]:
        _, _, _, *rerun = shlex.split(RunInfo().rerun_command(one))
        suite.run("-n0", *rerun).assert_outcomes(passed=1)
    suite.run("-n0", "-k", "npu-a\\x20b]").assert_outcomes(passed=1, deselected=len(TEXTS) - 1)


def test_the_gate_decides_over_cases_and_over_nothing_else(suite: Suite) -> None:
    suite.add("cases.py", "wrong", "nothing")
    allowlist = suite.pytester.path / "allowlist.txt"
    file = "coverage_kernels/cases.py"
    allowlist.write_text(f"{file}::deeds[npu-nothing]\n", encoding="ascii")
    assert suite.run("-n0").ret == pytest.ExitCode.TESTS_FAILED
    assert suite.run("-n0", "--gate").ret == pytest.ExitCode.OK
    assert suite.record()["gate"]["unlisted_failures"] == [f"{file}::deeds[npu-wrong]"]
    assert suite.run("-n0", "--strict-gate").ret == pytest.ExitCode.TESTS_FAILED
    suite.pytester.makepyfile(test_plain="def test_one(): assert False")
    assert suite.run("-n0", "--gate").ret == pytest.ExitCode.TESTS_FAILED
    assert suite.run("-n0", "--gate", "coverage_kernels").ret == pytest.ExitCode.OK
    allowlist.write_text(f"{file}::deeds[npu-gone]\n", encoding="ascii")
    assert suite.run("-n0", "--gate", "coverage_kernels").ret == pytest.ExitCode.TESTS_FAILED
    assert [one["kind"] for one in suite.record()["gate"]["problems"]] == ["stale"]
    # Only a run that looked everywhere can say that a line matches nothing.
    assert suite.run("-n0", "--gate", f"{file}::bare[npu]").ret == pytest.ExitCode.OK


def test_a_known_failure_is_an_expected_one_behind_the_gate(suite: Suite) -> None:
    suite.add("cases.py", "wrong", "trap")
    file = "coverage_kernels/cases.py"
    lines = (f"{file}::deeds[npu-wrong]  fails wrong-values: #1", f"{file}::deeds[npu-trap]  fails race: #2")
    (suite.pytester.path / "allowlist.txt").write_text("\n".join(lines), encoding="ascii")
    suite.run("-n0").assert_outcomes(failed=2, passed=1)
    for workers in ("-n0", "-n1"):
        result = suite.run(workers, "--gate", "-rx", "--junitxml=junit.xml")
        result.assert_outcomes(xfailed=1, failed=1, passed=1)
        result.stdout.fnmatch_lines([f"XFAIL {file}::deeds[[]npu-wrong[]] - *fails wrong-values: #1"])
        result.stdout.no_fnmatch_line("FAILED *npu-wrong*")
    # It is a failure all the same, and recorded as one.
    assert suite.verdicts()["deeds[npu-wrong"] == ("fail", "wrong-values")
    assert [one["kind"] for one in suite.record()["gate"]["problems"]] == ["moved"]


def test_the_gate_knows_what_was_left_out_on_purpose(suite: Suite) -> None:
    suite.add("cases.py", "nothing")
    lines = [f"coverage_kernels/cases.py::{name}\n" for name in ("deeds[npu-nothing]", "bare[npu]")]
    (suite.pytester.path / "allowlist.txt").write_text("".join(lines), encoding="ascii")
    assert suite.run("-n0", "--gate", "-k", "bare").ret == pytest.ExitCode.OK
    assert (suite.record()["gate"]["gated"], suite.record()["gate"]["out_of_scope"]) == (1, 1)


def test_shards_share_the_cases_out(suite: Suite) -> None:
    suite.add("cases.py", "nothing", "wrong", "trap", "refuse", "hang")
    seen: list[str] = []
    for shard in ("1/3", "2/3", "3/3"):
        result = suite.run("--collect-only", "-q", "-n0", f"--shard={shard}")
        seen += [line for line in result.outlines if "::" in line]
    assert len(seen) == len(set(seen)) == 6


@pytest.mark.usefixtures("quick_start")
def test_control_c_keeps_what_had_finished(suite: Suite) -> None:
    suite.add("cases.py", "nothing", "control-c", "wrong")
    result = suite.pytester.runpytest_subprocess("-n0")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert suite.record()["interrupted"]
    assert suite.verdicts() == {"deeds[npu-nothing": ("pass", "")}


def test_a_toolchain_that_changes_makes_the_run_void(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = suite.pytester.mkpydir("triton")
    monkeypatch.setenv("FAKE_TOOLCHAIN", str(toolchain))
    monkeypatch.setenv("PYTHONPATH", str(suite.pytester.path))
    suite.add("cases.py", "touch-toolchain", "nothing")
    result = suite.pytester.runpytest_subprocess("-n0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {outcome for outcome, _ in suite.verdicts().values()} == {"void"}
    result.stdout.fnmatch_lines(["The run is void: triton changed*"])
