"""The grid of releases: what is run, what is known already, how children that die are lived with, what is printed."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.bisect.cells import CaseName, Cell, Request, cell_of, find
from harness.bisect.environments import Environments
from harness.bisect.grid import markdown, rows, text
from harness.bisect.matrix import Cells, Matrix, Place, Store, run_child
from harness.bisect.results import Bisection, LaunchBisection, StageResult
from harness.bisect.stages import FINAL, Capture, CompilerFailure, Stage
from harness.commands.matrix import chosen_releases, named, register
from harness.errors import EnvironmentFailed, UsageError

WRONG = Cell("wrong", "tritongpu-pipeline", "y: 1 of 1 wrong")
MATCH = Cell("match")
DIED = Cell("died", "", "the process ended by SIGKILL, in stage frontend", "frontend")
TIMEOUT = Cell("timeout", "", "took more than 9 s, in stage frontend", "frontend")
OWN = Cell("died", "", "the process ended by SIGKILL, in stage reference", "reference")


class FakeRunner:
    """Gives each release the same cell for all of its cases, and keeps what it was asked."""

    def __init__(self, by_folder: dict[str, Cell], unsupported: str = "") -> None:
        self.by_folder, self.unsupported = by_folder, unsupported
        self.asked: list[tuple[str, str, int]] = []

    def __call__(
        self, path: Sequence[str], request: Request, timeout: float, on_cell: Callable[[int, Cell], None]
    ) -> str:
        release = Path(path[0]).name.removeprefix("triton-") if path else "running"
        self.asked.append((release, request.target, len(request.cases)))
        if release == self.unsupported:
            return "ImportError: no knobs"
        for number in range(len(request.cases)):
            on_cell(number, self.by_folder[release])
        return ""


def install(release: str, folder: Path) -> None:
    if release == "3.4.0":
        raise EnvironmentFailed("No matching distribution found for triton==3.4.0")
    (folder / "triton").mkdir()
    (folder / "triton" / "__init__.py").touch()
    (folder / f"triton-{release}.dist-info").mkdir()


@pytest.fixture
def cases(tmp_path: Path) -> list[CaseName]:
    file = tmp_path / "a_case.py"
    file.write_text("# a case")
    return [CaseName(str(file), "a_case", one) for one in ("1", "2")]


def matrix(tmp_path: Path, runner: FakeRunner, fresh: bool = False, offline: bool = False) -> Matrix:
    environments = Environments(tmp_path / "environments", install, running="3.7.1")
    return Matrix(environments, Store(tmp_path / "store", "harness"), fresh=fresh, offline=offline, runner=runner)


# --- what runs --------------------------------------------------------------------------------------------------


def test_every_case_runs_with_every_release_in_one_child_a_target(tmp_path: Path, cases: list[CaseName]) -> None:
    runner = FakeRunner({"3.6.0": WRONG, "running": MATCH})
    cells = matrix(tmp_path, runner).fill(cases, ["cuda:80", "cuda:90"], ["3.6.0", "3.7.1"], jobs=1)
    assert runner.asked == [(one, target, 2) for one in ("3.6.0", "running") for target in ("cuda:80", "cuda:90")]
    assert cells[Place(cases[1], "cuda:90", "3.6.0")] == WRONG
    assert cells[Place(cases[1], "cuda:90", "3.7.1")] == MATCH


def test_what_is_known_is_not_run_again_until_its_file_changes(tmp_path: Path, cases: list[CaseName]) -> None:
    runner = FakeRunner({"3.6.0": WRONG})
    arguments = (["cuda:80"], ["3.6.0"], 1)
    matrix(tmp_path, runner).fill(cases[:1], *arguments)
    matrix(tmp_path, runner).fill(cases, *arguments)
    assert [count for _, _, count in runner.asked] == [1, 1]
    Path(cases[0].file).write_text("# another case")
    matrix(tmp_path, runner).fill(cases, *arguments)
    assert runner.asked[-1] == ("3.6.0", "cuda:80", 2)


def test_another_harness_or_fresh_runs_everything_again(tmp_path: Path, cases: list[CaseName]) -> None:
    runner = FakeRunner({"3.6.0": WRONG})
    arguments = (cases, ["cuda:80"], ["3.6.0"], 1)
    matrix(tmp_path, runner).fill(*arguments)
    matrix(tmp_path, runner, fresh=True).fill(*arguments)
    another = matrix(tmp_path, runner)
    another.store = Store(tmp_path / "store", "changed")
    another.fill(*arguments)
    assert len(runner.asked) == 3


@pytest.mark.parametrize("cell", [DIED, Cell("timeout", "", "took more than 1 s")])
def test_a_case_that_died_or_ran_out_of_time_is_run_again(tmp_path: Path, cases: list[CaseName], cell: Cell) -> None:
    runner = FakeRunner({"3.6.0": cell})
    for _ in range(2):
        matrix(tmp_path, runner).fill(cases, ["cuda:80"], ["3.6.0"], 1)
    assert [count for _, _, count in runner.asked] == [2, 2]


def test_a_result_cut_off_in_the_middle_is_not_taken_for_one(tmp_path: Path, cases: list[CaseName]) -> None:
    store, place = Store(tmp_path, "harness"), Place(cases[0], "cuda:80", "3.6.0")
    store.write(place, WRONG)
    assert store.read(place) == WRONG
    (written,) = tmp_path.glob("*.json")
    written.write_text(written.read_text()[:20])
    assert store.read(place) is None


@pytest.mark.parametrize(
    ("release", "reason"),
    [("3.2.0", "too old"), ("3.4.0", "No matching distribution"), ("3.5.1", "no knobs"), ("3.9.0", "--offline")],
)
def test_a_release_that_cannot_be_used_is_unsupported_and_said_once(
    tmp_path: Path, cases: list[CaseName], release: str, reason: str
) -> None:
    said: list[str] = []
    one = matrix(tmp_path, FakeRunner({"running": MATCH}, unsupported="3.5.1"), offline=release == "3.9.0")
    one.tell = said.append
    cells = one.fill(cases, ["cuda:80"], [release, "3.7.1"], jobs=1)
    assert {cells[Place(case, "cuda:80", release)].verdict for case in cases} == {"unsupported"}
    assert {cells[Place(case, "cuda:80", "3.7.1")].verdict for case in cases} == {"match"}
    assert sum(reason in line for line in said) == 1
    printed = text(rows(cells, [release, "3.7.1"]), [release, "3.7.1"])
    assert printed.count(reason) == 1


# --- children ---------------------------------------------------------------------------------------------------

CHILD = textwrap.dedent("""
    import json, os, sys
    request = json.loads(sys.stdin.read())
    for number, case in enumerate(request["cases"]):
        print(json.dumps({"begin": number}), flush=True)
        if case["name"] == "dies":
            print(json.dumps({"stage": "reference"}), flush=True)
            sys.stderr.write("an assertion\\n")
            os._exit(3)
        if case["name"] == "hangs":
            sys.stdin = os.read(os.pipe()[0], 1)
        print(json.dumps({"end": number, "verdict": "match", "guilty": "", "detail": ""}), flush=True)
""")


def ran(names: Sequence[str], command: str = CHILD, timeout: float = 60.0) -> tuple[str, dict[int, Cell]]:
    cells: dict[int, Cell] = {}
    request = Request("cuda:80", [CaseName("a_case.py", name, "") for name in names])
    return run_child([], request, timeout, cells.__setitem__, command), cells


def test_a_child_that_dies_costs_one_case() -> None:
    reason, cells = ran(["good", "dies", "dies", "good"])
    assert reason == ""
    assert [cells[number].verdict for number in range(4)] == ["match", "died", "died", "match"]
    assert cells[1].detail == "the process ended with status 3: an assertion, in stage reference"
    assert cells[1].stage == "reference"


def test_a_case_that_takes_too_long_is_ended() -> None:
    _, cells = ran(["good", "hangs", "good"], timeout=1.5)
    assert [cells[number].verdict for number in range(3)] == ["match", "timeout", "match"]
    assert cells[1].detail == "took more than 1.5 s, in stage collect"


def test_what_does_not_compile_is_refused_in_a_sentence_with_its_line() -> None:
    file = Path(__file__).with_name("bisect_cases.py")
    cell = find(CaseName(str(file), "type_of_another_gpu", ""), "cuda:80", lambda stage: None)
    line = 1 + next(number for number, text in enumerate(file.read_text().splitlines()) if "tl.float8e4b8" in text)
    assert cell.verdict == "refused"
    assert cell.detail.startswith(f"{file}:{line}:") and "fp8e4b8 not supported" in cell.detail


def test_a_child_that_cannot_begin_fails_with_its_last_words() -> None:
    with pytest.raises(EnvironmentFailed, match="ModuleNotFoundError: No module named 'nothing_here'"):
        ran(["good"], "import nothing_here")


def test_a_child_may_say_that_nothing_can_be_run() -> None:
    assert ran(["good"], 'print(\'{"unsupported": "too old"}\')') == ("too old", {})


@pytest.mark.usefixtures("quick_start")
def test_the_child_bisects_a_case_with_the_release_in_front(tmp_path: Path) -> None:
    file = Path(__file__).with_name("bisect_cases.py")
    cells: dict[int, Cell] = {}
    request = Request("no:target", [CaseName(str(file), "anything", "")])
    assert "no installed backend" in run_child([str(tmp_path)], request, 60.0, cells.__setitem__)
    request = Request("cuda:80", [CaseName(str(file), "no_such_case", "")])
    assert run_child([str(tmp_path)], request, 60.0, cells.__setitem__) == ""
    assert cells[0].verdict == "refused"
    assert "no case no_such_case" in cells[0].detail


# --- verdicts ---------------------------------------------------------------------------------------------------


def bisection(*verdicts: str, failure: CompilerFailure | None = None) -> Bisection:
    """Of one launch, whose stages are passes a, b, c, ... and came to these verdicts."""
    names = [*"abcdefg"[: len(verdicts) - 1], FINAL if failure is None else "f"]
    stages = [Stage(name, "", "ttgir") for name in names[: len(verdicts)]]
    one = LaunchBisection(Capture("kernel", tuple(stages), failure), (1, 1, 1))
    for number, (stage, verdict) in enumerate(zip(stages, verdicts, strict=True)):
        one.results.append(StageResult(number, stage, verdict, f"reason {number}"))  # type: ignore[arg-type]
    return Bisection("cuda:80", [one])


FAILURE = CompilerFailure("f", "ttgir", "PassManager::run failed", "k.py:3:5: error: does not dominate\nmore")


@pytest.mark.parametrize(
    ("found", "cell"),
    [
        (bisection("match", "match"), MATCH),
        (bisection("match", "match", "differs"), Cell("wrong", "b", "reason 2")),
        (bisection("match", "not executed", "differs"), Cell("wrong", "a or b", "reason 2")),
        (bisection("differs", "differs"), Cell("wrong", "", "before any pass: reason 0")),
        (bisection("match", "not executed"), Cell("not executed", "", f"from before {FINAL} on: reason 1")),
        (bisection("match", failure=FAILURE), Cell("crash", "f", "does not dominate")),
        (bisection("match", "differs", failure=FAILURE), Cell("wrong", "a", "reason 1")),
    ],
)
def test_a_cell_says_what_a_bisection_came_to(found: Bisection, cell: Cell) -> None:
    assert cell_of(found) == cell


# --- the grid ---------------------------------------------------------------------------------------------------

RELEASES = ["3.6.0", "3.7.1", "3.8.0", "3.9.0"]


def grid(**verdicts: Sequence[Cell]) -> Cells:
    cases = {one: CaseName("a_case.py", "a_case", one) for one in verdicts}
    return {
        Place(cases[one], "cuda:80", release): cell
        for one, row in verdicts.items()
        for release, cell in zip(RELEASES, row, strict=True)
    }


@pytest.mark.parametrize(
    ("row", "bad", "good"),
    [
        ([WRONG, WRONG, MATCH, MATCH], "3.6.0", "3.8.0"),
        ([MATCH, WRONG, MATCH, WRONG], "3.7.1", ""),
        ([MATCH, MATCH, MATCH, MATCH], "", ""),
        ([WRONG, Cell("unsupported"), Cell("not executed"), MATCH], "3.6.0", "3.9.0"),
        ([WRONG, WRONG, WRONG, Cell("unsupported")], "3.6.0", ""),
        ([MATCH, DIED, MATCH, MATCH], "3.7.1", "3.8.0"),
        ([DIED, DIED, TIMEOUT, DIED], "", ""),
        ([DIED, Cell("unsupported"), Cell("refused"), Cell("unsupported")], "", ""),
        ([MATCH, OWN, MATCH, WRONG], "3.9.0", ""),
    ],
)
def test_the_first_bad_and_the_first_good_release(row: list[Cell], bad: str, good: str) -> None:
    (found,) = rows(grid(p=row), RELEASES)
    assert (found.first_bad, found.first_good) == (bad, good)


@pytest.mark.parametrize(
    ("row", "bad", "undecided", "said"),
    [
        ([DIED] * 4, False, True, "died: the process ended by SIGKILL, in stage frontend; no release is to blame: the"),
        ([TIMEOUT] * 4, False, True, "timeout: took more than 9 s, in stage frontend; no release is to blame: the"),
        (
            [OWN, MATCH, MATCH, MATCH],
            False,
            True,
            "in stage reference; no release is to blame: the case's own code",
        ),
        ([DIED, MATCH, MATCH, MATCH], True, False, "a_case (cuda:80): the process ended by SIGKILL, in stage frontend"),
    ],
)
def test_a_release_is_blamed_for_a_death_only_where_others_live(
    row: list[Cell], bad: bool, undecided: bool, said: str
) -> None:
    (found,) = rows(grid(p=row), RELEASES)
    assert (found.is_bad, found.is_undecided) == (bad, undecided)
    printed, page = text([found], RELEASES), markdown([found], RELEASES)
    assert said in printed and printed.count(said) == 1
    assert page.count(f"**{row[0].verdict}**") == int(bad) and row[0].verdict in page


def test_cases_that_came_to_the_same_share_a_row() -> None:
    bad, fine = [WRONG, WRONG, WRONG, MATCH], [MATCH] * 4
    found = rows(grid(a=bad, b=fine, c=bad), RELEASES)
    assert [row.label for row in found] == ["a_case[a], [c]", "a_case[b]"]
    assert [row.label for row in rows(grid(a=fine, b=fine), RELEASES)] == ["a_case"]


def test_passes_are_told_by_release_where_they_differ() -> None:
    (found,) = rows(grid(p=[Cell("crash", "one"), Cell("crash", "one"), Cell("wrong", "two"), MATCH]), RELEASES)
    assert found.guilty == "one (3.6.0, 3.7.1); two (3.8.0)"


def test_the_grid_as_text_and_as_a_page() -> None:
    found = rows(grid(p=[WRONG, WRONG, Cell("not executed", "", "unsupported op tt.new"), MATCH]), RELEASES)
    lines = text(found, RELEASES).splitlines()
    assert lines[0].split("  ")[0] == "cuda:80"
    assert " ".join(lines[1].split()) == "a_case wrong wrong not executed match 3.6.0 3.9.0 tritongpu-pipeline"
    assert "a_case (cuda:80): y: 1 of 1 wrong" in lines
    assert "a_case, cuda:80, triton 3.8.0: not executed: unsupported op tt.new" in lines
    page = markdown(found, RELEASES)
    assert "| a_case | **wrong** | **wrong** | not executed | match | 3.6.0 | 3.9.0 | tritongpu-pipeline |" in page


# --- the command ------------------------------------------------------------------------------------------------


def test_releases_are_those_named_or_those_that_are_kept(tmp_path: Path) -> None:
    environments = Environments(tmp_path, install, running="3.7.1")
    environments.search_path("3.10.0")
    environments.search_path("3.9.0")
    assert chosen_releases("3.9.0, 3.10.0,3.6.0", environments, offline=False) == ["3.6.0", "3.9.0", "3.10.0"]
    assert chosen_releases("kept", environments, offline=False) == ["3.7.1", "3.9.0", "3.10.0"]
    assert chosen_releases("all", environments, offline=True) == ["3.7.1", "3.9.0", "3.10.0"]
    with pytest.raises(UsageError, match="newest"):
        chosen_releases("3.9.0,newest", environments, offline=False)


def test_cases_are_named_by_folder_file_and_node(tmp_path: Path) -> None:
    (tmp_path / "a_case.py").write_text(
        "from harness.cases import case\n\n\n@case(n=[1, 2])\ndef a_case(n):\n    raise NotImplementedError\n"
    )
    assert [case.parameter_id for case in named(str(tmp_path))] == ["1", "2"]
    assert [case.parameter_id for case in named(f"{tmp_path}/a_case.py::a_case")] == ["1", "2"]
    assert [str(case) for case in named(f"{tmp_path}/a_case.py::a_case[2]")] == [f"{tmp_path}/a_case.py::a_case[2]"]
    assert [str(case) for case in named(f"{tmp_path}/a_case.py::a_case[npu-2]")] == [f"{tmp_path}/a_case.py::a_case[2]"]
    with pytest.raises(UsageError, match="no case 'other'"):
        list(named(f"{tmp_path}/a_case.py::other"))
    with pytest.raises(UsageError, match="no case file"):
        list(named(f"{tmp_path}/nothing.py"))


def test_the_command_line_has_the_matrix() -> None:
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    options = parser.parse_args(["matrix", "a.py", "--triton", "kept"])
    assert (options.cases, options.triton, options.target, options.fresh) == (["a.py"], "kept", "cuda:80", False)
