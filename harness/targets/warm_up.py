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

_SMALLEST_KERNEL = """
module {
  tt.func public @warm_up(%out: !tt.ptr<f32>) attributes {noinline = false} {
    %one = arith.constant dense<1.0> : tensor<8xf32>
    %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %pointers = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %at = tt.addptr %pointers, %range : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %at, %one : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


def warm_up() -> None:
    """Imports what a run needs and fills the caches that depend only on what is installed.

    Launches nothing and starts no thread. Triton's key alone reads all of libtriton, half a second of work.
    """
    for name in LAZY_IMPORTS:
        importlib.import_module(name)
    from triton.runtime.cache import triton_key

    from harness.npu.fingerprint import lowering_fingerprint
    from harness.npu.loader import load_text
    from harness.npu.machine import load_machine

    triton_key()
    lowering_fingerprint()
    for machine in (None, load_machine(_ANY_MACHINE)):
        load_text("warm_up", _SMALLEST_KERNEL, machine)
