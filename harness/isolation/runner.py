"""Runs each case in a process apart, so that whatever happens in it costs that case alone.

A fork costs about what a small case does, so that cases of one file, run one after another, share a process while
they pass and leave nothing behind. Whatever does not pass in such a process is run again in one of its own, and that
run is what counts: no failure depends on which cases ran before. Cases of two files share none, though that would save
a sixth of what the cases take: what a file can leave behind (a registration of torch's, a helper's module, a flag of
the processor) is more than can be looked for, and a case would pass by it that fails alone.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.cases.evidence import Evidence, Failure
from harness.cases.loading import CaseSummary
from harness.cases.location import SourceLocation
from harness.errors import CaseError, EnvironmentFailed, HarnessError
from harness.isolation import wire
from harness.isolation.messages import CaseRequest, Ended, Finished, Stage
from harness.isolation.process import PRELOAD, Child, Zygote, ZygoteDied, tail

# How long a process that has given its result may take to end.
_LAST_BREATH_SECONDS = 10.0


class IsolatedRunner:
    """Runs cases one at a time in children of a zygote, which is started when first needed.

    environment  variables that must be set before Triton is imported: a zygote serves one set of them
    """

    def __init__(self, environment: Mapping[str, str] | None = None, preload: tuple[str, ...] = PRELOAD) -> None:
        self._environment = dict(environment or {})
        self._preload = preload
        self._zygote: Zygote | None = None
        self._collector: Child | None = None
        self._idle: _Idle | None = None
        self._unready: EnvironmentFailed | None = None

    def run(self, request: CaseRequest, timeout: float) -> Evidence:
        """Runs one case, for at most `timeout` seconds. Whatever it does, there is Evidence of it.

        Raises EnvironmentFailed when no process for it can be started.
        """
        return self._run_in_used_process(request, timeout) or self._run_in_new_process(request, timeout)

    def _run_in_used_process(self, request: CaseRequest, timeout: float) -> Evidence | None:
        """The evidence of a pass; None where no process waits for such a case, or the case does not pass in it."""
        idle = self._take_idle(request)
        if idle is None:
            return None
        try:
            idle.begin(request)
        except OSError:  # something ended it while it waited
            idle.child.close()
            return None
        evidence = self._finish(idle.zygote, idle.child, request, timeout)
        if evidence.is_clean:
            return evidence
        shutil.rmtree(request.options.artifacts, ignore_errors=True)
        return None

    def _run_in_new_process(self, request: CaseRequest, timeout: float) -> Evidence:
        zygote, child = self._spawn(request)
        return self._finish(zygote, child, request, timeout)

    def _finish(self, zygote: Zygote, child: Child, request: CaseRequest, timeout: float) -> Evidence:
        """Watches the case to its end, and keeps the process if that can run another one."""
        keep = False
        try:
            evidence, keep = self._watch(zygote, child, request, timeout)
        except BaseException:
            # Ctrl-C among them: the child is in an unknown state, and so is what we know of the zygote.
            self.close()
            raise
        finally:
            if not keep:
                child.close()
        if keep:
            self._idle = _Idle(zygote, child, request)
        return evidence

    def _take_idle(self, request: CaseRequest) -> _Idle | None:
        """The process that waits for a case, if it is for one like this; any other is let go."""
        idle, self._idle = self._idle, None
        if idle is None or idle.suits(request):
            return idle
        idle.child.close()
        return None

    def collect(self, path: Path, timeout: float) -> list[CaseSummary]:
        """The cases of a file, imported in a child: a file whose import crashes or hangs costs that file alone.

        Raises CaseError at a line of the file, or EnvironmentFailed when no process can be started.
        """
        if self._collector is None:
            _, self._collector = self._spawn(None)
        connection = self._collector.job
        connection.settimeout(timeout)
        try:
            wire.send(connection, str(path))
            answer = wire.receive(connection)
        except (OSError, EOFError) as error:
            raise CaseError(self._collector_end(error, timeout), SourceLocation(str(path), 1)) from None
        if isinstance(answer, HarnessError):
            raise answer
        return answer

    def end_collection(self) -> None:
        """Lets go of the process that imports case files; the next `collect` starts another."""
        if self._collector is not None:
            self._collector.close()
            self._collector = None

    def let_go(self) -> None:
        """Lets go of the processes that wait for more work, but not of the zygote."""
        self.end_collection()
        if self._idle is not None:
            self._idle.child.close()
            self._idle = None

    def close(self) -> None:
        """Ends every process and removes their files."""
        self.let_go()
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def _spawn(self, request: CaseRequest | None) -> tuple[Zygote, Child]:
        """A child of the zygote there is, or of a new one if that is dead."""
        try:
            return self._spawn_once(request)
        except ZygoteDied:
            self.close()
        try:
            return self._spawn_once(request)
        except ZygoteDied as error:
            self.close()
            last = str(error).strip().splitlines()[-1:] or ["it said nothing"]
            raise EnvironmentFailed(f"the process that runs cases died at its start: {last[0]}") from error

    def _spawn_once(self, request: CaseRequest | None) -> tuple[Zygote, Child]:
        if self._unready is not None:
            raise self._unready
        if self._zygote is None:
            self._zygote = Zygote(self._environment, self._preload)
        try:
            return self._zygote, self._zygote.spawn(request)
        except EnvironmentFailed as error:
            # What cannot be imported now cannot be for the next case either, and takes seconds to say so.
            self._unready = error
            raise

    def _collector_end(self, error: Exception, timeout: float) -> str:
        """Why the collecting process gave no answer; it is gone afterwards."""
        assert self._collector is not None and self._zygote is not None
        reason = f"did not end within {timeout:g} s (--case-timeout)"
        if not isinstance(error, TimeoutError):
            with contextlib.suppress(ZygoteDied):
                ended = self._zygote.wait(self._collector, time.monotonic() + _LAST_BREATH_SECONDS)
                reason = f"ended the process: {_how(ended.status)}" if ended else "broke the connection"
        self._zygote.kill(self._collector)
        self.end_collection()
        return f"importing the case file {reason}"

    def _watch(self, zygote: Zygote, child: Child, request: CaseRequest, timeout: float) -> tuple[Evidence, bool]:
        """What the case came to, and whether its process can run another."""
        journey = _Journey(request, time.monotonic())
        deadline = journey.started + timeout
        try:
            timed_out = not _follow(zygote, child, journey, deadline)
            if timed_out:
                zygote.kill(child)  # what it may still say is too late to count
            if journey.evidence is not None and journey.reusable:
                return _with_log(journey.evidence, "", tail(child.stdout)), True
            ended = zygote.wait(child, time.monotonic() + _LAST_BREATH_SECONDS)
        except ZygoteDied:
            self.close()
            failure = Failure(journey.stage, "EnvironmentFailed", "the process that runs cases died")
            return journey.died(failure, ""), False
        if ended is None:  # not even a kill helped, or it gave its result and does not end
            self.close()
        if not timed_out:
            _drain(child, journey)
        log, output = tail(child.stderr), tail(child.stdout)
        if timed_out:
            message = f"still running after {timeout:g} s (--case-timeout), in stage {journey.stage}"
            return journey.died(Failure(journey.stage, "Timeout", message, journey.where), log, output), False
        if journey.evidence is not None:
            return _with_log(journey.evidence, log, output), False
        return journey.died(replace(death(journey.stage, ended), where=journey.where), log, output), False


@dataclass(frozen=True)
class _Idle:
    """A child that waits for another case like the one it ran."""

    zygote: Zygote
    child: Child
    last: CaseRequest

    def suits(self, request: CaseRequest) -> bool:
        return _kind_of_case(request) == _kind_of_case(self.last)

    def begin(self, request: CaseRequest) -> None:
        """Raises OSError when the child is gone."""
        self.child.forget_output()
        wire.send(self.child.job, request)


def _kind_of_case(request: CaseRequest) -> tuple[str, str, str, int]:
    return request.file, request.runner, request.target, request.memory


class _Journey:
    """What the child has told so far."""

    def __init__(self, request: CaseRequest, started: float) -> None:
        self.request = request
        self.started = started
        self.stage = "collect"
        self.where: SourceLocation | None = None
        self.evidence: Evidence | None = None
        self.reusable = False
        self._entered = started
        self._seconds: dict[str, float] = {}

    def hear(self, message: Any) -> None:
        if isinstance(message, Stage):
            self._leave_stage()
            self.stage, self.where = message.name, message.where
        elif isinstance(message, Finished):
            self.evidence, self.reusable = message.evidence, message.reusable

    def died(self, failure: Failure, log: str, output: str = "") -> Evidence:
        """The evidence of a run that could give none itself."""
        self._leave_stage()
        return Evidence(
            self.request.node_id,
            self.request.target,
            self.stage,
            failure=replace(failure, log=log),
            seconds=self._seconds,
            output=output,
            artifacts=self.request.options.artifacts,
        )

    def _leave_stage(self) -> None:
        now = time.monotonic()
        self._seconds[self.stage] = self._seconds.get(self.stage, 0.0) + now - self._entered
        self._entered = now


def _follow(zygote: Zygote, child: Child, journey: _Journey, deadline: float) -> bool:
    """Listens until the child gives its result, hangs up or ends; False if the deadline came first."""
    while journey.evidence is None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        readable, _, _ = select.select([child.job, zygote], [], [], remaining)
        if child.job in readable and not _hear_one(child, journey, remaining):
            return _wait_for_end(zygote, child, deadline)
        if zygote in readable and zygote.wait(child, time.monotonic() + 0.001) is not None:
            return True
    return True


def _wait_for_end(zygote: Zygote, child: Child, deadline: float) -> bool:
    with contextlib.suppress(OSError):  # its end may be closed
        child.job.shutdown(socket.SHUT_WR)  # there is no other case to wait for
    return zygote.wait(child, deadline) is not None


def _hear_one(child: Child, journey: _Journey, timeout: float) -> bool:
    """Takes in one message; False if there will be no more that can be read."""
    child.job.settimeout(max(0.001, timeout))
    try:
        journey.hear(wire.receive(child.job))
    except Exception:  # cut short, or not a message at all: the case's code can write to the socket too
        return False
    return True


def _drain(child: Child, journey: _Journey) -> None:
    """Takes in what an ended child left in its socket."""
    while journey.evidence is None and select.select([child.job], [], [], 0)[0]:
        if not _hear_one(child, journey, 1.0):
            return


def _with_log(evidence: Evidence, log: str, output: str) -> Evidence:
    failure = evidence.failure
    if failure is not None and log and not failure.log:
        failure = replace(failure, log=log)
    return replace(evidence, failure=failure, output=evidence.output or output)


def death(stage: str, ended: Ended | None) -> Failure:
    """The failure of a process that did not live to give its evidence."""
    if ended is None:
        return Failure(stage, "Timeout", f"the process could not be ended, in stage {stage}")
    if os.WIFSIGNALED(ended.status) and os.WTERMSIG(ended.status) == signal.SIGKILL and ended.oom_kills:
        peak = f"{ended.peak_memory / 2**20:.0f} MiB"
        return Failure(stage, "OutOfMemory", f"killed by the system for its use of memory ({peak}) in stage {stage}")
    return Failure(stage, _kind(ended.status), f"the process ended in stage {stage}: {_how(ended.status)}")


def _kind(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"Signal:{_signal_name(os.WTERMSIG(status))}"
    return f"Exit:{os.waitstatus_to_exitcode(status)}"


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {_signal_name(os.WTERMSIG(status))}"
    return f"exit status {os.waitstatus_to_exitcode(status)} without a result"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return str(number)
