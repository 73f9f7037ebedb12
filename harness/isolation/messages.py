"""What is said between the processes of a run. Plain data, all of it picklable."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cases.evidence import Evidence
from harness.cases.location import SourceLocation
from harness.cases.options import RunOptions

RUNNER = "harness.targets:run_case"


@dataclass(frozen=True)
class CaseRequest:
    """One case to run in a process apart.

    file, name, parameter_id  find the case: the file is imported in that process
    runner  "module:function", called with (instance, node id, target, options, enter_stage); gives Evidence.
            The module may have a `warm_up()`, called once before cases are forked: it must start no thread
    memory  bytes the process may add to what it has at its start; 0 is no limit
    """

    node_id: str
    file: str
    name: str
    parameter_id: str
    target: str
    options: RunOptions
    runner: str = RUNNER
    memory: int = 0


@dataclass(frozen=True)
class Setup:
    """The first message to a zygote: where to find modules, which to import, which folders to remove at its end."""

    search_path: tuple[str, ...]
    preload: tuple[str, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Ready:
    """The zygote has imported everything."""


@dataclass(frozen=True)
class NotReady:
    """The zygote cannot start: one sentence that says why."""

    reason: str


@dataclass(frozen=True)
class Spawn:
    """Fork a child that serves the socket sent along: a case, or the collection when `request` is None.

    stdout, stderr   files that the child's output goes to
    """

    request: CaseRequest | None
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Spawned:
    pid: int


@dataclass(frozen=True)
class Dump:
    """Make the child write its Python stack to its stderr."""

    pid: int


@dataclass(frozen=True)
class Kill:
    """Kill the child and all it has started."""

    pid: int


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    status      as os.waitpid gives it
    peak_memory bytes resident at most
    oom_kills   how often the system's out-of-memory killer struck while the child lived, whomever it hit
    """

    pid: int
    status: int
    peak_memory: int
    oom_kills: int


@dataclass(frozen=True)
class Finished:
    """A case ran to its end. `reusable`: the process waits for another case of the file, and is as good as new."""

    evidence: Evidence
    reusable: bool


@dataclass(frozen=True)
class Stage:
    """The case entered a stage; `where` is the line that it runs, where there is one."""

    name: str
    where: SourceLocation | None = None
