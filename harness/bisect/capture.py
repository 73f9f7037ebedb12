"""Compiles the launches of a case with a real backend's own pipeline and keeps the module before every pass.

Triton's JIT runs as it would on that device: decorators, specialisation and options are its own. Our driver only
says which target is the current one, and receives the launches. The backend's stages come through Triton's
`add_stages_inspection_hook`; those up to TTGIR run in a process of their own, because passes abort, and the rest
do not run at all. The modules are what Triton's own `MLIR_ENABLE_DUMP` writes.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from harness.bisect import pipelines
from harness.bisect.stages import FINAL, Capture, CompilerFailure, Stage, modules_of
from harness.errors import UsageError

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget

LAST_STAGE = "ttgir"
_LEAST_CAPABILITY = 70  # Triton compiles for none below it
# Files of one compilation. MLIR reads the dump's path once per process: all stages write to one file.
_DUMP, _MARK, _STATUS, _LOG = "dump.mlir", "mark.mlir", "status.json", "log"
# The dump is buffered and never flushed. After each stage a module that is longer than any buffer is dumped too: it
# pushes out what came before, and says where the stage ended.
_MARK_NAME, _MARK_LENGTH, _MARK_TAG = "harness_end_of_stage", 1 << 16, "mark"

Grid = tuple[int, int, int]
# (capture, grid, the JIT's signature by parameter name, every argument of the Python function)
OnLaunch = Callable[[Capture, Grid, Mapping[str, Any], Sequence[Any]], None]


def gpu_target(name: str) -> GPUTarget:
    """`cuda:90`, `hip:gfx942`, ... as Triton's GPUTarget. Raises UsageError for what no installed backend takes."""
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget

    backend, _, arch = name.partition(":")
    if not backend or not arch:
        raise UsageError(f"{name!r} is no target", hint="BACKEND:ARCH, such as cuda:90 or hip:gfx942")
    if backend == "cuda" and not (arch.isdecimal() and int(arch) >= _LEAST_CAPABILITY):
        raise UsageError(f"{name!r} is no target", hint="cuda:NN with the compute capability, such as cuda:90")
    target = GPUTarget(backend, int(arch) if arch.isdecimal() else arch, _warp_size(backend, arch))
    if not any(one.compiler.supports_target(target) for one in backends.values()):
        raise UsageError(
            f"no installed backend of Triton compiles for {name!r}", hint=f"backends: {', '.join(backends)}"
        )
    return target


def _warp_size(backend: str, arch: str) -> int:
    """Lanes of a warp: 64 on AMD's data-centre line (gfx9), 32 on everything else."""
    return 64 if backend == "hip" and arch.startswith("gfx9") else 32


@contextmanager
def capturing(target: GPUTarget, on_launch: OnLaunch) -> Iterator[None]:
    """Launches inside the block are compiled for `target` and handed to `on_launch` instead of to a device."""
    from triton import knobs
    from triton.runtime import driver as config

    from harness.npu.activation import active_driver

    captures: list[Capture] = []
    before = active_driver()
    with knobs.runtime.scope(), knobs.compilation.scope():
        knobs.compilation.always_compile = True
        knobs.runtime.add_stages_inspection_hook = cast("Any", _Hook(captures))
        config.set_active(_driver(target, captures, on_launch))
        try:
            yield
        finally:
            config.set_active(before)


@dataclass
class _Hook:
    """Triton calls it with nothing for the cache's key, and with a backend's stages to change them in place.

    No cache may hold what is compiled here: each block has a key of its own.
    """

    captures: list[Capture]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __call__(self, *arguments: Any) -> tuple[str, str]:
        if arguments:
            backend, stages, *_ = arguments
            self._replace(stages, backend.binary_ext)
        return self.key, self.key

    def _replace(self, stages: dict[str, Any], binary: str) -> None:
        if LAST_STAGE not in stages:
            raise UsageError(f"the backend has no stage {LAST_STAGE!r}", hint=f"its stages: {', '.join(stages)}")
        kept = {}
        for name, run in list(stages.items()):
            kept[name] = run
            if name == LAST_STAGE:
                break
        stages.clear()

        def capture(module: Any, metadata: dict[str, Any]) -> str:
            metadata["name"] = module.get_entry_func_name()
            metadata["shared"] = 0
            metadata["tmem_size"] = None
            self.captures.append(run_apart(metadata["name"], module, kept, metadata))
            return str(len(self.captures) - 1)

        # The source's own stage comes first; what it returns is passed on and stored as the binary.
        stages[next(iter(kept))] = capture
        stages[binary] = lambda number, _: number.encode()


def run_apart(kernel: str, module: Any, stages: Mapping[str, Any], metadata: dict[str, Any]) -> Capture:
    """Runs the stages on the module in a child process, which may abort.

    One that dies takes the buffered end of its dump with it, so it is run once more without the buffer, which is slow.
    """
    capture, died = _attempt(kernel, module, stages, metadata, buffered=True)
    return _attempt(kernel, module, stages, metadata, buffered=False)[0] if died else capture


def _attempt(
    kernel: str, module: Any, stages: Mapping[str, Any], metadata: dict[str, Any], buffered: bool
) -> tuple[Capture, bool]:
    with tempfile.TemporaryDirectory(prefix="harness-capture-") as name:
        folder = Path(name)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(folder, module, stages, metadata, buffered)
        _, status = os.waitpid(child, 0)
        return _collect(kernel, folder, list(stages), status), os.WIFSIGNALED(status)


def _child(folder: Path, module: Any, stages: Mapping[str, Any], metadata: dict[str, Any], buffered: bool) -> None:
    """Never returns. Whatever happens, the parent finds the modules that were written so far."""
    code = 1
    try:
        faulthandler.disable()  # whoever enabled it wants to hear of the parent
        log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["MLIR_ENABLE_DUMP"] = "1"
        os.environ[pipelines.VARIABLE] = pipelines.path_in(folder)
        if buffered:
            os.environ["MLIR_DUMP_PATH"] = str(folder / _DUMP)
        else:
            os.environ.pop("MLIR_DUMP_PATH", None)
        for run in stages.values():
            module = run(module, metadata)
            _mark(folder)
        (folder / FINAL).write_text(str(module))
        code = 0
    except BaseException as error:
        text = str(error).strip().splitlines() or [""]
        (folder / _STATUS).write_text(json.dumps(f"{type(error).__name__}: {text[0]}"))
        _mark(folder)
    finally:
        os._exit(code)


def _mark(folder: Path) -> None:
    """Dumps the mark, as a pass manager dumps any module."""
    from triton._C.libtriton import ir, passes

    (folder / _MARK).write_text(f"module {{ tt.func private @{_MARK_NAME}{'_' * _MARK_LENGTH}() }}\n")
    context = ir.context()
    ir.load_dialects(context)
    manager = ir.pass_manager(context)
    manager.enable_debug()
    passes.common.add_cse(manager)
    manager.run(ir.parse_mlir_module(str(folder / _MARK), context), _MARK_TAG)


def _collect(kernel: str, folder: Path, names: Sequence[str], status: int) -> Capture:
    log = (folder / _LOG).read_text(errors="replace") if (folder / _LOG).exists() else ""
    log = log.replace(f"{folder}{os.sep}", "")  # it is gone when somebody reads this
    dump = folder / _DUMP
    stages = _stages(dump.read_text(errors="replace") if dump.exists() else log, names)
    stages = pipelines.with_options(stages, pipelines.passes_in(folder, _MARK_TAG))
    final = folder / FINAL
    if status == 0 and final.exists():
        return Capture(kernel, (*stages, Stage(FINAL, final.read_text(), names[-1])))
    last = stages[-1] if stages else None
    failure = CompilerFailure(
        last.pass_name if last else "",
        last.pipeline if last else names[0],
        _how_it_ended(folder, status),
        log,
        signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "",
    )
    return Capture(kernel, tuple(stages), failure)


def _stages(dump: str, names: Sequence[str]) -> list[Stage]:
    """The modules of all stages; the mark goes to the next one."""
    found: list[Stage] = []
    remaining = iter(names)
    name = next(remaining)
    for pass_name, text in modules_of(dump):
        if _MARK_NAME in text:
            name = next(remaining, name)
        else:
            found.append(Stage(pass_name, text, name))
    return found


def _how_it_ended(folder: Path, status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the compiler died of {signal.Signals(os.WTERMSIG(status)).name}"
    told = folder / _STATUS
    return json.loads(told.read_text()) if told.exists() else f"the compiler ended with status {status}"


def _driver(target: GPUTarget, captures: Sequence[Capture], on_launch: OnLaunch) -> Any:
    """A driver whose current target is `target`: the simulated NPU's, less its simulator."""
    from harness.npu.backend.driver import MAX_THREADS, NpuDriver, NpuUtils

    class Utils(NpuUtils):
        def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, Any, int, int, int]:
            # No module: the JIT would ask whichever driver is active at its end to unload it.
            return None, captures[int(kernel)], 0, 0, MAX_THREADS

    class Launcher:
        def __init__(self, src: Any, metadata: Any) -> None:
            self.signature = dict(src.signature)

        def __call__(self, x: int, y: int, z: int, stream: int, function: Capture, *rest: Any) -> None:
            _, launch_metadata, enter, leave, *arguments = rest
            if enter is not None:
                enter(launch_metadata)
            on_launch(function, (x, y, z), self.signature, arguments)
            if leave is not None:
                leave(launch_metadata)

    class Driver(NpuDriver):
        def __init__(self) -> None:
            super().__init__()
            self.utils = Utils()
            self.launcher_cls = Launcher
            # The JIT keeps kernels by device: a number no other driver has.
            self.device = -2 - (uuid.uuid4().int >> 70)

        def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
            return target

        def get_current_device(self) -> int:
            return self.device

    return Driver()
