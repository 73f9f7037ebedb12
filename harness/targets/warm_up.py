"""What the first launch of a process would otherwise import and hash, done once before cases are forked."""

from __future__ import annotations

import contextlib
import importlib

# Imported by Triton or by us when the first kernel is launched. Not every Triton has all of them.
_LATE_IMPORTS = (
    "harness.executor",
    "harness.goldens",
    "harness.ir",
    "harness.npu.loader",
    "ml_dtypes",
    "triton.backends",
    "triton.compiler.code_generator",
    "triton.experimental.gluon",
    "triton.experimental.gluon.nvidia.blackwell",
    "triton.experimental.gluon.nvidia.hopper",
    "triton.language.extra.libdevice",
    "triton.runtime.interpreter",
    "triton.tools.tensor_descriptor",
)


def warm_up() -> None:
    """Imports, and hashes the compiler's own files. Launches nothing and starts no thread: forks follow."""
    for name in _LATE_IMPORTS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _hash_compilers()


def _hash_compilers() -> None:
    from triton.runtime.cache import triton_key

    from harness.npu.fingerprint import lowering_fingerprint

    # Both remember their answer; they read some hundred megabytes for it.
    triton_key()
    lowering_fingerprint()
