"""Captures with Triton 3.3 to 3.5, which have no hook on a backend's stages.

The JIT still binds and specialises the arguments; its hook in front of a compilation hands over what it found, and
the source's own stages up to TTGIR run here, in a process of their own. The dump goes to stderr, which is not
buffered, so that a line of ours tells where a stage ends.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.bisect import pipelines
from harness.bisect.capture import LAST_STAGE, OnLaunch, capturing
from harness.bisect.stages import FINAL, Capture, CompilerFailure, Stage, modules_of

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget

_END_OF_STAGE = "// harness: end of stage\n"
_LOG, _STATUS = "log", "status.json"


# launch(kernel, grid, arguments by name, options)
LaunchOn = Callable[[Any, Sequence[int], Mapping[str, Any], Mapping[str, Any]], None]


@contextmanager
def recording(target: GPUTarget, on_launch: OnLaunch) -> Iterator[LaunchOn]:
    """Yields what launches a kernel for `target`: `on_launch` gets its capture, whichever release is installed."""
    if not _has_stage_hook():
        with _recording_older(target, on_launch) as launch:
            yield launch
        return
    with capturing(target, on_launch):
        yield lambda kernel, grid, arguments, options: kernel[tuple(grid)](**arguments, **options)


def _has_stage_hook() -> bool:
    try:
        from triton import knobs
    except ImportError:
        return False
    return hasattr(knobs.runtime, "add_stages_inspection_hook")


@contextmanager
def _recording_older(target: GPUTarget, on_launch: OnLaunch) -> Iterator[LaunchOn]:
    """No driver receives launches: the JIT stops in front of the compilation."""
    from triton.runtime import driver as config

    from harness.npu.activation import active_driver

    found: list[_Found] = []
    before = active_driver()
    with _compile_hook(found):
        config.set_active(_driver(target))
        try:
            yield lambda *launched: _launch(target, found, on_launch, *launched)
        finally:
            config.set_active(before)


@dataclass
class _Found:
    """What the JIT was about to compile."""

    kernel: Any
    signature: Mapping[str, Any]
    constants: Mapping[Any, Any]
    attributes: Mapping[Any, Any]


@contextmanager
def _compile_hook(found: list[_Found]) -> Iterator[None]:
    """The JIT's hook in front of a compilation: a knob from 3.4 on, before that an attribute of its class."""

    def hook(*, fn: Any, compile: Mapping[str, Any], **_: Any) -> bool:
        found.append(_Found(fn.jit_function, compile["signature"], compile["constants"], compile["configs"][0]))
        return True  # do not compile

    place, name = _hook_place()
    before = getattr(place, name)
    setattr(place, name, hook)
    try:
        yield
    finally:
        setattr(place, name, before)


def _hook_place() -> tuple[Any, str]:
    try:
        from triton import knobs
    except ImportError:
        from triton.runtime.jit import JITFunction

        return JITFunction, "cache_hook"
    return knobs.runtime, "jit_cache_hook"


def _launch(
    target: GPUTarget,
    found: list[_Found],
    on_launch: OnLaunch,
    kernel: Any,
    grid: Sequence[int],
    arguments: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    found.clear()
    kernel[tuple(grid)](**arguments, **options)
    one = found[0]
    capture = _compile(target, one, options)
    bound = inspect.signature(one.kernel.fn).bind(**arguments)
    bound.apply_defaults()
    x, y, z = (*grid, 1, 1)[:3]
    on_launch(capture, (x, y, z), one.signature, list(bound.arguments.values()))


def _compile(target: GPUTarget, found: _Found, options: Mapping[str, Any]) -> Capture:
    from triton._C.libtriton import ir
    from triton.compiler.compiler import ASTSource, make_backend

    source = ASTSource(found.kernel, dict(found.signature), dict(found.constants), dict(found.attributes))
    backend: Any = make_backend(target)
    parsed = backend.parse_options({**options, "debug": False, **source.parse_options()})
    stages: dict[str, Any] = {}
    _called(backend.add_stages, stages=stages, options=parsed, language=getattr(source, "language", None))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = _called(
        source.make_ir,
        target=target,
        options=parsed,
        codegen_fns=backend.get_codegen_implementation(parsed),
        module_map=backend.get_module_map(),
        context=context,
    )
    # The process that runs the stages is a fork of this one, and a pool's threads would not be in it.
    context.disable_multithreading()
    wanted = list(stages)[: list(stages).index(LAST_STAGE) + 1]
    metadata = {"target": target, **parsed.__dict__}
    return _run_apart(found.kernel.fn.__name__, module, {name: stages[name] for name in wanted}, metadata)


def _called(function: Callable[..., Any], **arguments: Any) -> Any:
    """Calls it with those of the arguments that this release's version of it takes."""
    taken = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in taken})


def _run_apart(kernel: str, module: Any, stages: Mapping[str, Any], metadata: dict[str, Any]) -> Capture:
    with tempfile.TemporaryDirectory(prefix="harness-capture-") as name:
        folder = Path(name)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(folder, module, stages, metadata)
        _, status = os.waitpid(child, 0)
        return _collect(kernel, folder, list(stages), status)


def _child(folder: Path, module: Any, stages: Mapping[str, Any], metadata: dict[str, Any]) -> None:
    """Never returns."""
    code = 1
    try:
        log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["MLIR_ENABLE_DUMP"] = "1"
        os.environ[pipelines.VARIABLE] = pipelines.path_in(folder)
        for run in stages.values():
            module = run(module, metadata)
            os.write(log, _END_OF_STAGE.encode())
        (folder / FINAL).write_text(str(module))
        code = 0
    except BaseException as error:
        text = str(error).strip().splitlines() or [""]
        (folder / _STATUS).write_text(json.dumps(f"{type(error).__name__}: {text[0]}"))
    finally:
        os._exit(code)


def _collect(kernel: str, folder: Path, names: Sequence[str], status: int) -> Capture:
    log = (folder / _LOG).read_text(errors="replace") if (folder / _LOG).exists() else ""
    log = log.replace(f"{folder}{os.sep}", "")
    stages = pipelines.with_options(_stages(log, names), pipelines.passes_in(folder))
    final = folder / FINAL
    if status == 0 and final.exists():
        return Capture(kernel, (*stages, Stage(FINAL, final.read_text(), names[-1])))
    last = stages[-1] if stages else Stage("", "", names[0])
    return Capture(
        kernel, tuple(stages), CompilerFailure(last.pass_name, last.pipeline, _how_it_ended(folder, status), log)
    )


def _stages(log: str, names: Sequence[str]) -> list[Stage]:
    """The modules of all stages: each part of the log belongs to the stage that wrote it."""
    parts = zip(names, log.split(_END_OF_STAGE), strict=False)
    return [Stage(pass_name, text, name) for name, part in parts for pass_name, text in modules_of(part)]


def _how_it_ended(folder: Path, status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the compiler died of {signal.Signals(os.WTERMSIG(status)).name}"
    told = folder / _STATUS
    return json.loads(told.read_text()) if told.exists() else f"the compiler ended with status {status}"


def _driver(target: GPUTarget) -> Any:
    """A driver whose current target is `target`; nothing is ever launched on it."""
    from triton.backends.driver import DriverBase

    class Driver(DriverBase):
        def __init__(self) -> None:
            pass

        @classmethod
        def is_active(cls) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
            return False

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_benchmarker(self) -> Any:
            raise NotImplementedError("nothing runs on this driver")

        def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
            return target

        # The JIT keeps kernels by device: one object a target, so that none is taken for another's.
        def get_current_device(self) -> Any:
            return (target.backend, target.arch)

        def get_current_stream(self, device: Any) -> int:
            return 0

    return Driver()
