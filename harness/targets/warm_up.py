"""What every case would otherwise pay for anew: done once, in the process that cases are forked from."""

from __future__ import annotations

import faulthandler
import importlib
import os
import select
import signal
from collections.abc import Callable

# Imported by Triton, NumPy or us only when first needed, which for a forked case is every time.
LAZY_IMPORTS = (
    "harness.npu.conversions",
    "harness.npu.loader",
    "harness.targets.run_case",
    "numpy.ma",  # by np.median
    "triton.compiler.code_generator",
    "triton.language.extra.cuda.libdevice",
    "triton.tools.tensor_descriptor",
)

_ANY_MACHINE = "default"


# A compiler that takes longer for one small kernel hangs.
_MOST_SECONDS = 60.0


def warm_up() -> None:
    """Imports what a run needs and fills the caches that depend only on what is installed, by compiling a kernel.

    Launches nothing and starts no thread. Triton's key alone reads all of libtriton, half a second of work. A compiler
    that crashes or hangs does so in a process of its own first: it is for each case to find out, and not for the
    process that all of them come from.
    """
    for name in LAZY_IMPORTS:
        importlib.import_module(name)
    from triton.runtime.cache import triton_key

    from harness.npu.fingerprint import lowering_fingerprint

    triton_key()
    lowering_fingerprint()
    if _is_survived(_compile):
        _compile()


def _compile() -> None:
    from harness.npu.loader import load_kernel, load_text
    from harness.npu.machine import load_machine
    from harness.targets.warm_up_kernel import compiled_for, warm_up_kernel

    compiled = compiled_for(_ANY_MACHINE)
    name = warm_up_kernel.__name__
    load_kernel(name, compiled.asm["npu"], load_machine(_ANY_MACHINE))
    load_text(name, compiled.asm["ttir"], None)


def _is_survived(work: Callable[[], None]) -> bool:
    """Whether a copy of this process gets through `work`. What it prints is nobody's."""
    pid = os.fork()
    if pid == 0:
        _work_and_end(work)
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(_MOST_SECONDS * 1000):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(handle)
    return status == 0


def _work_and_end(work: Callable[[], None]) -> None:
    faulthandler.disable()
    status = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        work()
        status = 0
    finally:
        os._exit(status)
