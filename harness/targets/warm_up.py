"""What every case would otherwise pay for anew: done once, in the process that cases are forked from."""

from __future__ import annotations

import importlib

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


def warm_up() -> None:
    """Imports what a run needs and fills the caches that depend only on what is installed, by compiling a kernel.

    Launches nothing and starts no thread. Triton's key alone reads all of libtriton, half a second of work.
    """
    for name in LAZY_IMPORTS:
        importlib.import_module(name)
    from harness.npu.loader import load_kernel, load_text
    from harness.npu.machine import load_machine
    from harness.targets.warm_up_kernel import compiled_for, warm_up_kernel

    compiled = compiled_for(_ANY_MACHINE)
    name = warm_up_kernel.__name__
    load_kernel(name, compiled.asm["npu"], load_machine(_ANY_MACHINE))
    load_text(name, compiled.asm["ttir"], None)
