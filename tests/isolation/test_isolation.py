"""Whatever a case does to its process costs that case alone, and the evidence says what it was."""

from __future__ import annotations

import os
import select
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from misbehaviour import WHERE

from harness.cases.evidence import Evidence, Failure
from harness.cases.location import SourceLocation
from harness.cases.options import RunOptions
from harness.cases.targets import DEFAULT_TARGET
from harness.collection.cases import EXECUTION
from harness.collection.settings import DEFAULT_MACHINE
from harness.errors import CaseError, EnvironmentFailed
from harness.isolation import CaseRequest, IsolatedRunner, process
from harness.isolation.child import failure_of, printable
from harness.isolation.messages import Ended
from harness.isolation.runner import death

CASE_FILE = """
from harness.cases import case
from misbehaviour import DEEDS

@case(deed=list(DEEDS))
def deeds(deed):
    raise AssertionError("the runner of these tests builds nothing")
"""


@pytest.fixture(scope="module")
def case_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cases") / "deeds.py"
    path.write_text(CASE_FILE, encoding="ascii")
    return path


@pytest.fixture(scope="module")
def runner() -> Iterator[IsolatedRunner]:
    runner = IsolatedRunner(preload=())
    yield runner
    runner.close()


def request_of(case_file: Path, deed: str, artifacts: str = "", memory: int = 0) -> CaseRequest:
    options = RunOptions(artifacts=artifacts)
    node_id = f"deeds.py::deeds[npu-{deed}]"
    return CaseRequest(node_id, str(case_file), "deeds", deed, "npu", options, "misbehaviour:run", memory)


def run(runner: IsolatedRunner, case_file: Path, deed: str, timeout: float = 60.0, **more: object) -> Evidence:
    return runner.run(request_of(case_file, deed, **more), timeout)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("deed", "kind"),
    [
        ("segfault", "Signal:SIGSEGV"),
        ("abort", "Signal:SIGABRT"),
        ("os._exit", "Exit:3"),
        ("os._exit(0)", "Exit:0"),
        ("sys.exit", "Exit:4"),
        ("sigkill", "Signal:SIGKILL"),
        ("close-descriptors", "Exit:1"),
        ("write-to-descriptors", "Exit:0"),
        ("kill-zygote", "EnvironmentFailed"),
        ("trap", "OutOfBounds"),
        ("untyped", "ValueError"),
        ("no-device", "EnvironmentFailed"),
    ],
)
def test_a_death_is_named_and_costs_one_case(runner: IsolatedRunner, case_file: Path, deed: str, kind: str) -> None:
    evidence = run(runner, case_file, deed)
    assert evidence.failure is not None
    assert (evidence.failure.kind, evidence.failure.stage) == (kind, "frontend")
    assert run(runner, case_file, "nothing").failure is None


def test_what_the_dying_process_said_is_kept(runner: IsolatedRunner, case_file: Path) -> None:
    failure = run(runner, case_file, "abort").failure
    assert failure is not None
    assert "Assertion `isa<To>(Val)' failed" in failure.log
    assert "in _abort" in failure.log  # and the Python stack of it


def test_a_hang_is_a_timeout_with_the_stack_it_hung_in(runner: IsolatedRunner, case_file: Path) -> None:
    failure = run(runner, case_file, "hang", timeout=0.3).failure
    assert failure is not None
    assert (failure.kind, failure.stage) == ("Timeout", "frontend")
    assert "in _hang" in failure.log
    assert failure.where == WHERE


def test_an_exit_has_the_line_of_the_case_that_asked_for_it(tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text("import sys\n\ndef golden():\n    sys.exit('no licence')\n", encoding="ascii")
    scope: dict[str, object] = {}
    exec(compile(path.read_text(encoding="ascii"), str(path), "exec"), scope)
    with pytest.raises(SystemExit) as caught:
        scope["golden"]()  # type: ignore[operator]
    failure = failure_of(caught.value, "reference", str(path))
    assert (failure.kind, failure.where) == ("Exit:1", SourceLocation(str(path), 4))


def test_too_much_memory_is_out_of_memory(runner: IsolatedRunner, case_file: Path) -> None:
    failure = run(runner, case_file, "allocate", memory=2**28).failure
    assert failure is not None
    assert failure.kind == "OutOfMemory"


def test_a_kill_is_out_of_memory_only_where_the_system_struck() -> None:
    killed = Ended(1, 9, peak_memory=2**30, oom_kills=0)
    assert death("simulate", killed).kind == "Signal:SIGKILL"
    assert death("simulate", Ended(1, 9, peak_memory=2**30, oom_kills=1)).kind == "OutOfMemory"
    # Somebody else was out of memory while this case crashed by itself.
    assert death("simulate", Ended(1, 11, peak_memory=0, oom_kills=1)).kind == "Signal:SIGSEGV"


@pytest.mark.parametrize("deed", ["leave-process", "leave-daemon"])
def test_processes_a_case_leaves_behind_are_killed(
    runner: IsolatedRunner, case_file: Path, tmp_path: Path, deed: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run(runner, case_file, deed, artifacts=str(pipe)).failure is None
    # The end of the file is the death of its last writer.
    readable, _, _ = select.select([reader], [], [], 30)
    assert readable and os.read(reader, 1) == b""
    os.close(reader)


@pytest.fixture
def other_file(tmp_path: Path) -> Path:
    path = tmp_path / "others.py"
    path.write_text(CASE_FILE, encoding="ascii")
    return path


def process_of(runner: IsolatedRunner, case_file: Path, deed: str) -> int:
    evidence = run(runner, case_file, deed)
    assert evidence.failure is None
    return int(evidence.output)


def test_cases_of_a_file_share_a_process_while_they_pass(
    runner: IsolatedRunner, case_file: Path, other_file: Path
) -> None:
    first = process_of(runner, case_file, "process")
    assert process_of(runner, case_file, "process") == first
    run(runner, case_file, "wrong")
    second = process_of(runner, case_file, "process")
    assert len({first, second, process_of(runner, other_file, "process")}) == 3


@pytest.mark.parametrize("deed", ["change-folder", "draw", "start-thread"])
def test_a_process_in_which_a_case_left_something_is_not_used_again(
    runner: IsolatedRunner, case_file: Path, deed: str
) -> None:
    left = process_of(runner, case_file, deed)
    assert process_of(runner, case_file, "process") != left


def test_what_fails_in_a_used_process_is_judged_by_a_run_in_a_new_one(runner: IsolatedRunner, case_file: Path) -> None:
    used = process_of(runner, case_file, "process")
    assert run(runner, case_file, "leave-trap").failure is None
    assert process_of(runner, case_file, "trapped") != used
    failure = run(runner, case_file, "untyped").failure
    assert failure is not None and failure.kind == "ValueError"


def test_what_an_earlier_case_of_the_process_wrote_is_not_the_next_ones(
    runner: IsolatedRunner, case_file: Path
) -> None:
    assert run(runner, case_file, "print").output == "said\n"
    assert run(runner, case_file, "nothing").output == ""


def test_a_waiting_process_that_is_killed_costs_nothing(runner: IsolatedRunner, case_file: Path) -> None:
    waiting = process_of(runner, case_file, "process")
    os.kill(waiting, signal.SIGKILL)
    assert process_of(runner, case_file, "process") != waiting


def test_each_runner_has_caches_of_its_own_and_removes_them(case_file: Path) -> None:
    folders = []
    for flavour in ("one", "two"):
        runner = IsolatedRunner({"FLAVOUR": flavour}, preload=())
        told = dict(line.split("=") for line in run(runner, case_file, "environment").output.splitlines())
        assert told["FLAVOUR"] == flavour
        assert told["OMP_NUM_THREADS"] == "1"
        caches = {Path(told[name]) for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR")}
        assert all(cache.is_dir() for cache in caches)
        runner.close()
        assert not any(cache.exists() for cache in caches)
        folders.append(caches)
    assert not folders[0] & folders[1]


def test_compiled_kernels_are_kept_where_the_user_keeps_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case_file: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert cache_of(case_file).is_relative_to(tmp_path)


def test_compiled_kernels_are_kept_in_memory_only_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case_file: Path
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(process, "_MEMORY_FOLDER", str(tmp_path))
    monkeypatch.setattr(process, "_MEMORY_NEEDED", 1)
    assert cache_of(case_file).is_relative_to(tmp_path)
    monkeypatch.setattr(process, "_MEMORY_NEEDED", 2**60)
    assert not cache_of(case_file).is_relative_to(tmp_path)


def cache_of(case_file: Path) -> Path:
    runner = IsolatedRunner(preload=())
    told = dict(line.split("=") for line in run(runner, case_file, "environment").output.splitlines())
    runner.close()
    return Path(told["TRITON_CACHE_DIR"])


def test_the_warm_zygote_has_one_thread(pytestconfig: pytest.Config) -> None:
    """That which runs this pytest's own cases: another would import torch once more."""
    runner = pytestconfig.stash[EXECUTION].processes_for(DEFAULT_TARGET)
    file = pytestconfig.rootpath / "coverage_kernels" / "elementwise" / "add.py"
    one = runner.collect(file, 60)[0]
    options = RunOptions(machine=DEFAULT_MACHINE)
    request = CaseRequest("add", str(file), one.name, one.parameter_id, DEFAULT_TARGET, options)
    assert runner.run(request, 60).is_clean
    assert runner._zygote is not None
    assert len(os.listdir(f"/proc/{runner._zygote._process.pid}/task")) == 1


def test_what_cannot_be_imported_is_said(case_file: Path) -> None:
    runner = IsolatedRunner(preload=("a_module_nobody_has",))
    with pytest.raises(EnvironmentFailed, match="a_module_nobody_has cannot be imported"):
        run(runner, case_file, "nothing")


def test_what_cannot_be_imported_is_tried_once_and_said_of_every_case(
    case_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = tmp_path / "tries"
    (tmp_path / "takes_long_to_fail.py").write_text(f"open({str(tries)!r}, 'a').write('x')\nraise ImportError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    runner = IsolatedRunner(preload=("takes_long_to_fail",))
    for _ in range(2):
        with pytest.raises(EnvironmentFailed, match="takes_long_to_fail cannot be imported: ImportError: no"):
            run(runner, case_file, "nothing")
    assert tries.read_text() == "x"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import os; os._exit(5)", "ended the process: exit status 5"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended the process: signal SIGSEGV"),
        ("import signal; signal.pause()", "did not end within"),
    ],
)
def test_a_file_that_kills_its_importer_costs_that_file(
    runner: IsolatedRunner, case_file: Path, tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(text, encoding="ascii")
    with pytest.raises(CaseError, match=what):
        runner.collect(path, 0.5)
    assert [case.name for case in runner.collect(case_file, 60)][:1] == ["deeds"]


def test_a_text_that_cannot_be_encoded_is_made_printable() -> None:
    failure = printable(Failure("reference", "Exception", "caf\u00e9 \ud800", traceback="\udfff"))
    assert (failure.message, failure.traceback) == ("caf\u00e9 \\ud800", "\\udfff")
