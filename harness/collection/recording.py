"""Keeps the record of a run. Lives in the one process that sees every result: not in xdist's workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.cases.evidence import Verdict
from harness.collection.cases import VERDICT, KernelItem, failed_file, lost_case
from harness.collection.execution import LIT_TARGET, RUNNING, TRACES
from harness.collection.scope import is_whole, stray_case_files
from harness.collection.settings import Settings
from harness.collection.traces import merge_traces
from harness.errors import HarnessError
from harness.gate import Gate, Scope
from harness.reports import Record, Recorder, RunInfo, terminal_table
from harness.reports.record import decode_verdict

WORKER_COLLECTED, WORKER_SELECTED = "harness_collected", "harness_selected"


@dataclass(eq=False)  # pytest keeps plugins in sets
class Recording:
    """A plugin: hears of every result, and at the end writes the report, applies the gate, prints the table.

    lost  a sentence for each of xdist's workers that died over a case
    """

    config: pytest.Config
    settings: Settings
    gate: Gate | None
    collected: set[str] = field(default_factory=set)
    selected: set[str] = field(default_factory=set)
    broken: list[Verdict] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    recorder: Recorder | None = None
    record: Record | None = None
    trouble: str = ""
    ordinary_failures: int = 0

    def expect(self, collected: Iterable[str], selected: Iterable[str]) -> None:
        """The cases there are, and those of them that are to run."""
        self.collected.update(collected)
        self.selected.update(selected)
        if self.selected:
            self._start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.selected.update(item.nodeid for item in session.items if isinstance(item, KernelItem))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Not once things are collected, for that is over too where -m or -k is no expression: there is no run then."""
        if (self.selected or self.broken) and not self.config.getoption("collectonly"):
            self._start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        files = {node_id.partition("::")[0] for node_id in ids}
        held = {file for file in files if self._is_case_file(file)}
        kernels = [one for one in ids if one.partition("::")[0] in held and self._is_case(one)]
        self.expect(kernels, kernels)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output: Mapping[str, Any] = getattr(node, "workeroutput", {})
        self.collected.update(output.get(WORKER_COLLECTED, ()))
        self.selected.update(output.get(WORKER_SELECTED, ()))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.failed:
            return
        if not self._is_case_file(report.nodeid):
            self.ordinary_failures += 1
            return
        # Each of xdist's workers tells of the same file.
        if all(verdict.case != report.nodeid for verdict in self.broken):
            self.broken.append(failed_file(report, self.settings.targets))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, VERDICT, None)
        if encoded is not None:
            self._add(decode_verdict(encoded))
        elif report.failed and self._is_case(report.nodeid):
            self._lose(report)
        elif report.failed:
            self.ordinary_failures += 1

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.recorder is None and not self._owes_a_gate(exitstatus):
            return
        try:
            self._finish(exitstatus)
        except HarnessError as error:
            self.trouble = str(error)
        session.exitstatus = self._exit_status(exitstatus)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if self.trouble:
            terminalreporter.section("kernel cases")
            terminalreporter.write_line(f"ERROR: {self.trouble}", red=True)
        found_nothing = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        for file in stray_case_files(self.config, self.settings) if found_nothing else ():
            note = (
                f"NOTE: {file} declares cases, but lies in no folder of kernel_paths: move it into one, or add its own"
            )
            terminalreporter.write_line(self.settings.relative(note))
        if self.record is None:
            return
        terminalreporter.section("kernel cases")
        # pytest has told of each failure above, and names them once more below.
        table = terminal_table(self.record, folder=str(self.settings.report_folder), failures=False)
        terminalreporter.write_line(self.settings.relative(table))

    def _start(self) -> None:
        if self.recorder is not None:
            return
        run = RunInfo(
            command=("pytest", *self.config.invocation_params.args),
            targets=self.settings.targets,
            rerun=self.settings.rerun,
            shard=str(self.settings.shard or ""),
        )
        for leftover in (RUNNING, TRACES):
            shutil.rmtree(self.settings.report_folder / leftover, ignore_errors=True)
        try:
            if self.settings.trace is not None:
                (self.settings.report_folder / TRACES).mkdir(parents=True)
            self.recorder = Recorder.start(self.settings.report_folder, run, root=self.settings.root)
        except HarnessError as error:
            raise pytest.UsageError(str(error)) from error

    def _add(self, verdict: Verdict) -> None:
        self._start()
        assert self.recorder is not None
        self.recorder.add(verdict)

    def _lose(self, report: pytest.TestReport) -> None:
        """The worker died over the case; one that had given its result already keeps it."""
        worker = getattr(getattr(report, "node", None), "gateway", None)
        name = getattr(worker, "id", "?")
        known = self.recorder.verdicts if self.recorder else []
        if any(verdict.case == report.nodeid for verdict in known):
            self.lost.append(f"worker {name} died after {report.nodeid} had its result, which pytest counts as failed")
            return
        self.lost.append(f"1 lost with worker {name}: {report.nodeid}")
        self._add(lost_case(report.nodeid, self._target_of(report.nodeid), name))

    def _notes(self, recorded: set[str]) -> list[str]:
        """Why the table and pytest's own counts differ, where they do."""
        notes = list(self.lost)
        if self.broken:
            count = len(self.broken)
            files = "is a file" if count == 1 else "are files"
            notes.append(f"{count} of the failures {files} whose cases cannot be listed: an error in pytest's counts")
        unheard = len(self.selected - recorded)
        if unheard:
            notes.append(f"{unheard} of {len(self.selected)} cases have no result")
        return notes

    def _owes_a_gate(self, exitstatus: int) -> bool:
        """A gate with nothing to judge is red for every line, unless pytest did not come so far."""
        reached = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        return self.gate is not None and exitstatus in reached and not self.config.getoption("collectonly")

    def _finish(self, exitstatus: int) -> None:
        self._start()
        assert self.recorder is not None
        for verdict in self.broken:
            self.recorder.add(verdict)
        recorded = {verdict.case for verdict in self.recorder.verdicts}
        interrupted = exitstatus == pytest.ExitCode.INTERRUPTED or not self.selected <= recorded
        self.record = self.recorder.finish(
            self.gate,
            self._scope(),
            strict=self.settings.strict,
            interrupted=interrupted,
            notes=self._notes(recorded),
        )
        shutil.rmtree(self.settings.report_folder / RUNNING, ignore_errors=True)
        if self.settings.trace is not None:
            merge_traces(self.settings.report_folder / TRACES, self.settings.trace)

    def _scope(self) -> Scope:
        hidden = self._listed_in_broken_files() | {verdict.case for verdict in self.broken}
        return Scope(
            frozenset(self.collected | self.selected | hidden),
            frozenset(self.selected | hidden),
            is_whole(self.config, self.settings),
            frozenset(self.settings.targets),
            left_out=self._left_out(),
        )

    def _left_out(self) -> tuple[str, ...]:
        """How the node ids of models begin, where the run was not asked for them."""
        others = self.settings.other_model_paths
        inside = [folder for folder in others if folder.is_relative_to(self.settings.root)]
        return tuple(f"{folder.relative_to(self.settings.root).as_posix()}/" for folder in inside)

    def _listed_in_broken_files(self) -> set[str]:
        """Listed cases that could not be collected: the gate must hold them against the run."""
        if self.gate is None:
            return set()
        files = tuple(f"{verdict.case}::" for verdict in self.broken)
        return {entry.pattern for entry in self.gate.entries if entry.pattern.startswith(files) and entry.is_exact}

    def _exit_status(self, exitstatus: int) -> int:
        """With a gate, cases fail the run by what is listed, and everything else as ever."""
        if self.trouble:
            return pytest.ExitCode.USAGE_ERROR
        judged = self._judged_status(exitstatus)
        unproven = self.record is not None and (self.record.void or self.record.troubles)
        # Green is what there is a report of, and nothing else.
        return pytest.ExitCode.TESTS_FAILED if unproven and judged == pytest.ExitCode.OK else judged

    def _judged_status(self, exitstatus: int) -> int:
        gate = self.record.gate if self.record else None
        if gate is None or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return exitstatus
        if gate.is_green and not self.ordinary_failures:
            return pytest.ExitCode.OK
        return pytest.ExitCode.TESTS_FAILED

    def _is_case(self, node_id: str) -> bool:
        file, separator, _ = node_id.partition("::")
        return self._is_case_file(file) and (bool(separator) or self._is_lit(node_id))

    def _is_case_file(self, node_id: str) -> bool:
        return self.settings.folder_of((self.settings.root / node_id).resolve()) is not None

    def _is_lit(self, node_id: str) -> bool:
        return self.settings.holds_lit_cases((self.settings.root / node_id).resolve())

    def _target_of(self, node_id: str) -> str:
        if self._is_lit(node_id):
            return LIT_TARGET
        inside = node_id.rpartition("::")[2].partition("[")[2]
        matching = [name for name in self.settings.targets if inside.startswith((f"{name}-", f"{name}]"))]
        return max(matching, key=len, default=self.settings.targets[0])
