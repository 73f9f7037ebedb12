"""Cases on several releases of Triton: each release in a process of its own, what is known is not run again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.version import Version

from harness.bisect.cells import COLLECT, CaseName, Cell, Request
from harness.bisect.environments import OLDEST, Environments
from harness.errors import EnvironmentFailed
from harness.npu.fingerprint import fingerprint_of

# The rooms that a verdict depends on.
_ROOMS = ("bisect", "cases", "executor", "goldens", "ir", "npu", "semantics", "targets")
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Place:
    """One place of the grid: a case on a target with a release."""

    case: CaseName
    target: str
    release: str


Cells = Mapping[Place, Cell]


@dataclass(frozen=True)
class Store:
    """Cells that are known, by the content of everything they depend on: the case's file, the harness's own code,
    the target, the release, and the versions of what computes the goldens."""

    folder: Path
    harness: str

    @classmethod
    def in_cache(cls, cache: Path) -> Store:
        return cls(cache / "matrix", fingerprint_of(_PACKAGE, _ROOMS))

    def read(self, place: Place) -> Cell | None:
        try:
            return Cell(**json.loads(self._path(place).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # not there, or not whole
            return None

    def write(self, place: Place, cell: Cell) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(place)
        partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        partial.write_text(json.dumps(asdict(cell)), encoding="utf-8")
        partial.replace(path)

    def _path(self, place: Place) -> Path:
        content = hashlib.sha256(Path(place.case.file).read_bytes()).hexdigest()
        versions = [platform.python_version(), *(metadata.version(name) for name in ("torch", "numpy"))]
        depends = [self.harness, content, asdict(place), versions]
        return self.folder / f"{hashlib.sha256(json.dumps(depends).encode()).hexdigest()}.json"


# (search path, request, seconds a case may take, what hears a case's number and its cell): runs one child process.
# Returns why the release is unsupported, "" where it is not.
Runner = Callable[[Sequence[str], Request, float, Callable[[int, Cell], None]], str]


@dataclass
class Matrix:
    """Fills a grid. `tell` hears one line about each thing that takes time."""

    environments: Environments
    store: Store
    tell: Callable[[str], None] = lambda line: None
    timeout: float = 120.0
    fresh: bool = False
    offline: bool = False
    children: Children = field(default_factory=lambda: Children())
    runner: Runner | None = None

    def fill(self, cases: Sequence[CaseName], targets: Sequence[str], releases: Sequence[str], jobs: int) -> Cells:
        """Every cell, in the order of the arguments. A release that cannot be used is "unsupported" throughout."""
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            filled = pool.map(lambda release: self._release(cases, targets, release), releases)
            try:
                return {place: cell for cells in filled for place, cell in cells.items()}
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                self.children.end()
                raise

    def _release(self, cases: Sequence[CaseName], targets: Sequence[str], release: str) -> dict[Place, Cell]:
        cells: dict[Place, Cell] = {}
        for target in targets:
            cells |= self._column([Place(case, target, release) for case in cases])
        return cells

    def _column(self, places: Sequence[Place]) -> dict[Place, Cell]:
        known = {} if self.fresh else {place: cell for place in places if (cell := self.store.read(place)) is not None}
        missing = [place for place in places if place not in known]
        if missing:
            known |= self._run(missing, len(known))
        return known

    def _run(self, places: Sequence[Place], known: int) -> dict[Place, Cell]:
        release, target = places[0].release, places[0].target
        found: dict[Place, Cell] = {}

        def keep(number: int, cell: Cell) -> None:
            found[places[number]] = cell
            # Not kept where the machine may have had a part in it.
            if cell.verdict not in ("died", "timeout"):
                self.store.write(places[number], cell)

        try:
            path = self._search_path(release)
            self.tell(f"triton {release}, {target}: {len(places)} to run, {known} known")
            runner = self.runner or self.children.run
            reason = runner(path, Request(target, [place.case for place in places]), self.timeout, keep)
        except EnvironmentFailed as error:
            reason = str(error)
        if reason:
            self.tell(f"triton {release}, {target}: unsupported: {reason}")
        # Not kept: what stands in the way may be gone the next time.
        return {place: found.get(place, Cell("unsupported", "", reason)) for place in places}

    def _search_path(self, release: str) -> list[str]:
        if Version(release) < OLDEST:
            raise EnvironmentFailed(f"triton {release} is too old", hint=f"{OLDEST} and newer can be bisected")
        if self.environments.ready(release):
            return self.environments.search_path(release)
        if self.offline:
            raise EnvironmentFailed(f"there is no environment of triton {release}", hint="run without --offline")
        self.tell(f"triton {release}: installing")
        return self.environments.search_path(release)


class Children:
    """The processes that run cases now, so that one Ctrl-C ends them all."""

    def __init__(self) -> None:
        self._running: set[_Child] = set()
        self.ended = False

    def run(self, path: Sequence[str], request: Request, timeout: float, on_cell: Callable[[int, Cell], None]) -> str:
        return run_child(path, request, timeout, on_cell, children=self)

    def add(self, child: _Child) -> None:
        self._running.add(child)
        if self.ended:
            child.end()

    def end(self) -> None:
        """Ends those that run, and whatever is started from now on."""
        self.ended = True
        for child in list(self._running):
            child.end()


def run_child(
    path: Sequence[str],
    request: Request,
    timeout: float,
    on_cell: Callable[[int, Cell], None],
    command: str = "",
    children: Children | None = None,
) -> str:
    """Runs the request in child processes: where one dies, the next goes on behind the case that it died of.

    Raises EnvironmentFailed for a child that ends before its first case.
    """
    done = 0
    while done < len(request.cases) and not (children is not None and children.ended):
        child = _Child(path, Request(request.target, request.cases[done:]), timeout, command)
        (children or Children()).add(child)
        for answer in child.answers():
            if "unsupported" in answer:
                return answer["unsupported"]
            if "end" in answer:
                on_cell(done + answer.pop("end"), Cell(**answer))
        if child.running is not None:
            verdict = "timeout" if child.timed_out else "died"
            detail = f"{child.how_it_ended()}, in stage {child.stage}"
            on_cell(done + child.running, Cell(verdict, "", detail, child.stage))
        elif child.ended < len(request.cases) - done:
            raise EnvironmentFailed(child.how_it_ended(), hint="python -m harness.bisect.cells")
        done += child.ended + (child.running is not None)
    return ""


class _Child:
    """One process. `running` is the number of the case that has begun and not ended, `stage` the last one it entered,
    `ended` how many cases have ended."""

    def __init__(self, path: Sequence[str], request: Request, timeout: float, command: str) -> None:
        self.request, self.timeout = request, timeout
        self.running: int | None = None
        self.stage = COLLECT
        self.ended = 0
        self.timed_out = False
        self.last_words = ""
        arguments = ["-c", command] if command else ["-m", "harness.bisect.cells"]
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env=_environment(path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def answers(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdin and self.process.stdout
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        try:
            self.process.stdin.write(self.request.encode())
            self.process.stdin.close()
            for line in self.process.stdout:
                answer = self._noted(json.loads(line))
                if answer is not None:
                    yield answer
        except BrokenPipeError:  # it ended before it had read everything
            pass
        finally:
            self._stop_clock()
            self.end()
            listener.join()

    _clock: threading.Timer | None = None

    def _noted(self, answer: dict[str, Any]) -> dict[str, Any] | None:
        if "stage" in answer and "end" not in answer:
            self.stage = answer["stage"]
            return None
        self._stop_clock()
        if "begin" in answer:
            self.running, self.stage = answer["begin"], COLLECT
            self._clock = threading.Timer(self.timeout, self._out_of_time)
            self._clock.start()
            return None
        if "end" in answer:
            self.running = None
            self.ended += 1
        return answer

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _out_of_time(self) -> None:
        self.timed_out = True
        self.end()

    def end(self) -> None:
        """The process and what it forked: they are a group of their own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _listen(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.last_words = line.strip() or self.last_words

    def how_it_ended(self) -> str:
        if self.timed_out:
            return f"took more than {self.timeout:g} s"
        status = self.process.returncode
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return f"the process ended {how}{': ' if self.last_words else ''}{self.last_words}"


def _environment(path: Sequence[str]) -> dict[str, str]:
    """This process's, with the release and this very harness in front."""
    inherited = os.environ.get("PYTHONPATH", "")
    paths = [*path, str(_PACKAGE.parent), *([inherited] if inherited else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment.pop("TRITON_DEFAULT_BACKEND", None)
    return environment
