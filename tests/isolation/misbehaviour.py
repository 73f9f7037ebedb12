"""A runner whose cases do what a compiler or a kernel may do to its process; named in requests by import path."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from harness.cases.evidence import BufferEvidence, Evidence, LaunchEvidence, Mismatch
from harness.cases.kernel_case import CaseInstance
from harness.cases.location import SourceLocation
from harness.cases.options import RunOptions
from harness.errors import OutOfBounds, Refusal, UsageError

EnterStage = Callable[..., None]
WHERE = SourceLocation("deeds.mlir", 7)


def run(instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage) -> Evidence:
    """Does what the case's parameter `deed` says, in stage "frontend"; a case that survives it passes."""
    deed = instance.chosen.get("deed", "nothing")
    enter_stage("frontend", WHERE)
    output = DEEDS[deed](options) or ""
    enter_stage("compare")
    mismatch = Mismatch(1, 4, (3,), "0.0", "1.0", 1.0, 1.0, 1e9, "one element") if deed == "wrong" else None
    return Evidence(
        node_id,
        target,
        "compare",
        launches=[LaunchEvidence("kernel", (1, 1, 1), 1, simulated=True)],
        buffers=[BufferEvidence("out", "fp32", (4,), "out", compared=True, mismatch=mismatch)],
        output=output,
    )


def _nothing(options: RunOptions) -> None:
    pass


def _segfault(options: RunOptions) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _abort(options: RunOptions) -> None:
    os.write(2, b"Assertion `isa<To>(Val)' failed.\n")
    os.abort()


def _hang(options: RunOptions) -> None:
    while True:
        signal.pause()


def _exit_at_once(options: RunOptions) -> None:
    os._exit(3)


def _exit_at_once_as_if_well(options: RunOptions) -> None:
    os._exit(0)


def _sys_exit(options: RunOptions) -> None:
    sys.exit(4)


def _killed(options: RunOptions) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_zygote(options: RunOptions) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    _hang(options)


def _kill_pytest(options: RunOptions) -> None:
    os.kill(_pytest_process(), signal.SIGKILL)
    _hang(options)


def _press_control_c(options: RunOptions) -> None:
    os.kill(_pytest_process(), signal.SIGINT)
    _hang(options)


def _pytest_process() -> int:
    """The parent of the zygote, our parent."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="ascii")
    return int(stat.rpartition(")")[2].split()[1])


def _allocate(options: RunOptions) -> None:
    bytearray(2**31)


def _trap(options: RunOptions) -> None:
    raise OutOfBounds("x[5] is outside", hint="mask it", program=(1, 2, 3))


def _refuse(options: RunOptions) -> None:
    raise Refusal("the kernel needs more scratchpad than there is")


def _find_no_device(options: RunOptions) -> None:
    raise UsageError("this target needs a device")


def _fail_untyped(options: RunOptions) -> None:
    raise ValueError("unforeseen")


def _close_every_descriptor(options: RunOptions) -> None:
    os.closerange(3, 256)


def _write_to_every_descriptor(options: RunOptions) -> None:
    """Native code that writes to the wrong descriptor: what it writes is no message."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue


def _leave_a_process_behind(options: RunOptions) -> None:
    """It holds the named pipe `artifacts` open for as long as it lives."""
    with open(options.artifacts, "wb") as pipe:
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=(pipe.fileno(),))


def _leave_a_daemon_behind(options: RunOptions) -> None:
    """As `leave-process`, but neither it nor its own child is in our process group."""
    daemon = "import os, signal; os.setsid(); os.fork(); os.write(1, b'x'); signal.pause()"
    with open(options.artifacts, "wb") as pipe:
        started = subprocess.Popen([sys.executable, "-c", daemon], pass_fds=(pipe.fileno(),), stdout=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.read(2)  # one for each of the two


def _tell_environment(options: RunOptions) -> str:
    names = ("TRITON_CACHE_DIR", "TRITON_HOME", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR", "OMP_NUM_THREADS", "FLAVOUR")
    return "\n".join(f"{name}={os.environ.get(name)}" for name in names)


def _tell_process(options: RunOptions) -> str:
    return str(os.getpid())


def _print(options: RunOptions) -> None:
    print("said", flush=True)


def _change_folder(options: RunOptions) -> str:
    os.chdir("/")
    return _tell_process(options)


def _draw(options: RunOptions) -> str:
    random.random()
    return _tell_process(options)


def _start_thread(options: RunOptions) -> str:
    threading.Thread(target=signal.pause, daemon=True).start()
    return _tell_process(options)


def _leave_a_trap(options: RunOptions) -> None:
    """What nobody can see and the next case falls over."""
    DEEDS["trapped"] = _fail_untyped


def _touch_toolchain(options: RunOptions) -> None:
    """A compiler that is rebuilt while the suite runs."""
    with (Path(os.environ["FAKE_TOOLCHAIN"]) / "passes.py").open("a", encoding="ascii") as file:
        file.write("# rebuilt\n")


DEEDS: dict[str, Callable[[RunOptions], str | None]] = {
    "nothing": _nothing,
    "wrong": _nothing,
    "segfault": _segfault,
    "abort": _abort,
    "hang": _hang,
    "os._exit": _exit_at_once,
    "os._exit(0)": _exit_at_once_as_if_well,
    "sys.exit": _sys_exit,
    "sigkill": _killed,
    "kill-zygote": _kill_zygote,
    "kill-pytest": _kill_pytest,
    "control-c": _press_control_c,
    "allocate": _allocate,
    "trap": _trap,
    "refuse": _refuse,
    "untyped": _fail_untyped,
    "no-device": _find_no_device,
    "close-descriptors": _close_every_descriptor,
    "write-to-descriptors": _write_to_every_descriptor,
    "leave-process": _leave_a_process_behind,
    "leave-daemon": _leave_a_daemon_behind,
    "environment": _tell_environment,
    "print": _print,
    "process": _tell_process,
    "change-folder": _change_folder,
    "draw": _draw,
    "start-thread": _start_thread,
    "leave-trap": _leave_a_trap,
    "trapped": _tell_process,
    "touch-toolchain": _touch_toolchain,
}
