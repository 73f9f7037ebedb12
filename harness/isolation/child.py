"""What a forked child does: run cases of one file, or import case files for the collection. It never returns."""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import gc
import hashlib
import importlib
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from harness.cases.evidence import Evidence, Failure
from harness.cases.loading import find_case, summarise
from harness.cases.location import SourceLocation
from harness.cases.source_lines import innermost_line
from harness.errors import CaseError, EnvironmentFailed, HarnessError, UsageError, is_out_of_memory
from harness.isolation import wire
from harness.isolation.leftovers import Snapshot
from harness.isolation.messages import CaseRequest, Finished, Spawn, Stage
from harness.process_end import end_with_parent

# Of a process that is to run another case. A new one has about 0.5 GiB, nearly all of it shared with the zygote.
_MUCH_MEMORY = 2**30

_DUMP_SIGNAL = signal.SIGUSR1


def serve(message: Spawn, job: int) -> NoReturn:
    """Serves the socket `job` and ends the process; nothing of the zygote runs any further in it."""
    status = 1
    try:
        _detach(message)
        # Few cases are over before garbage matters, and a collection touches (so copies) pages of the zygote.
        gc.disable()
        os.set_inheritable(job, False)
        connection = socket.socket(fileno=job)
        if message.request is None:
            _serve_collection(connection)
        else:
            _serve_cases(connection, message.request)
        status = 0
    except (EOFError, ConnectionError):
        status = 0  # nobody has anything more for it to do
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # Not sys.exit: exit handlers belong to the zygote, and libraries' teardown is slow and may crash.
        os._exit(status)


def request_dump(pid: int) -> None:
    """Makes a child that hangs write its Python stack to its stderr."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, _DUMP_SIGNAL)


def _detach(message: Spawn) -> None:
    os.setpgid(0, 0)
    end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for source, descriptor in ((os.devnull, 0), (message.stdout, 1), (message.stderr, 2)):
        opened = os.open(source, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    faulthandler.enable(file=2)
    faulthandler.register(_DUMP_SIGNAL, file=2, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # If memory runs out, the system shall choose the case, not pytest.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _serve_collection(connection: socket.socket) -> None:
    """Answers each path with its list of CaseSummary, or with the CaseError that says what is wrong."""
    while True:
        path = wire.receive(connection)
        try:
            answer: Any = summarise(Path(path))
        except CaseError as error:
            answer = CaseError(error.what, error.where, error.hint)  # without its cause, which may not travel
        except Exception as error:
            answer = CaseError(f"listing its cases raised {type(error).__name__}: {error}", SourceLocation(path, 1))
        try:
            wire.send(connection, answer)
        except (pickle.PicklingError, TypeError, AttributeError):
            what = "a mark has arguments that cannot be sent to another process"
            wire.send(connection, CaseError(what, SourceLocation(path, 1), "use plain values"))


def _serve_cases(connection: socket.socket, request: CaseRequest) -> None:
    """Runs a case, and after it others of its file for as long as they pass and leave nothing behind."""
    _use_cache_of(request.file)
    reusable = True
    while reusable:
        before = Snapshot.taken_now()
        evidence = _run_case(connection, request)
        reusable = evidence.is_clean and before is not None and before.still_holds() and _has_room()
        wire.send(connection, Finished(evidence, reusable))
        if reusable:
            request = wire.receive(connection)


def _run_case(connection: socket.socket, request: CaseRequest) -> Evidence:
    stages = ["collect"]

    def enter_stage(name: str, where: SourceLocation | None = None, /) -> None:
        stages.append(name)
        wire.send(connection, Stage(name, where))

    if request.memory:
        limit_memory(request.memory)
    try:
        evidence = _evidence(request, enter_stage)
    except BaseException as error:
        failure = failure_of(error, stages[-1], request.file)
        evidence = Evidence(request.node_id, request.target, stages[-1], failure=failure)
    evidence.failure = evidence.failure and printable(evidence.failure)
    return evidence


def _use_cache_of(file: str) -> None:
    """Triton's cache knows a kernel by its text and line, not by its file: of two copies, the second would be
    served the first one's program, whose messages name the first one's file."""
    folder = os.environ.get("TRITON_CACHE_DIR")
    if not folder:
        return
    own = Path(folder, hashlib.sha256(os.fsencode(file)).hexdigest()[:16])
    own.mkdir(parents=True, exist_ok=True)
    os.environ["TRITON_CACHE_DIR"] = str(own)


def printable(failure: Failure) -> Failure:
    """The failure with every text fit for a file: a lone surrogate cannot be encoded, and would end the run."""
    texts = {
        field.name: value.encode("utf-8", "backslashreplace").decode()
        for field in dataclasses.fields(failure)
        if isinstance(value := getattr(failure, field.name), str)
    }
    return dataclasses.replace(failure, **texts)


def _evidence(request: CaseRequest, enter_stage: Callable[[str], None]) -> Evidence:
    module, _, function = request.runner.partition(":")
    run = getattr(importlib.import_module(module), function)
    instance = find_case(Path(request.file), request.name, request.parameter_id)
    return run(instance, request.node_id, request.target, request.options, enter_stage)


def failure_of(error: BaseException, stage: str, file: str) -> Failure:
    """The failure that an exception nobody caught stands for; `sys.exit(3)` is "Exit:3". `file` is the case's."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        file = str(Path(file).resolve())  # as it was imported
        line = innermost_line(file, error)
        where = SourceLocation(file, line) if line else None
        return Failure(stage, f"Exit:{code}", f"the case called sys.exit({error.code!r})", where, traceback=trace)
    if is_out_of_memory(error):
        return Failure(stage, "OutOfMemory", f"{type(error).__name__}: {error}", traceback=trace)
    if isinstance(error, UsageError):
        # The target cannot run here, or there is none of that name: no finding about the case.
        return Failure(stage, EnvironmentFailed.__name__, error.what, error.where, error.hint, trace)
    if isinstance(error, HarnessError):
        return Failure(stage, type(error).__name__, error.what, error.where, error.hint, trace)
    return Failure(stage, type(error).__name__, f"{type(error).__name__}: {error}", traceback=trace)


def limit_memory(extra: int) -> None:
    """Lets this process allocate at most `extra` bytes more than it has; past it, allocations fail."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    data = int(fields[5]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = data + extra if hard == resource.RLIM_INFINITY else min(data + extra, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _has_room() -> bool:
    """Garbage is not looked for: that costs as much as a small case, and a new process has none."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * resource.getpagesize() < _MUCH_MEMORY
