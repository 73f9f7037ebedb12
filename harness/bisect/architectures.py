"""Which architectures a backend of the installed wheel can compile for, asked of the LLVM inside it.

LLVM lists its processors, on stderr and once in a process, when one asks for the processor "help".
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn

from harness.errors import UsageError

_OLDEST_CUDA, _OLDEST_GFX = 70, 9  # Triton compiles for none below
_PROCESSOR = re.compile(r"^ *(?P<name>[\w-]+) +- Select the ", re.MULTILINE)
_MODULE = "module { llvm.func @f() { llvm.return } }\n"


class _Naming(NamedTuple):
    """How LLVM calls what the backend compiles for: the triple, and `pattern`, whose group is Triton's name."""

    triple: str
    pattern: re.Pattern[str]


_NAMING: Mapping[str, _Naming] = {
    "cuda": _Naming("nvptx64-nvidia-cuda", re.compile(r"sm_(\d+)")),
    "hip": _Naming("amdgcn-amd-amdhsa", re.compile(r"(gfx\d+[0-9a-f]{2}(?:-strict)?)")),
}


def check_architecture(target: str) -> None:
    """Raises UsageError for a BACKEND:ARCH whose architecture the backend does not know, naming those it does.

    A backend that nothing is known of may take any.
    """
    backend, _, arch = target.partition(":")
    known = known_architectures(backend)
    if known and arch not in known:
        what = f"Triton's backend {backend!r} knows no architecture {arch!r}"
        raise UsageError(what, hint=f"it knows {', '.join(known)}")


@cache
def known_architectures(backend: str) -> tuple[str, ...]:
    """Those that LLVM has and the backend's own source names, oldest first; none where the wheel does not say."""
    naming = _NAMING.get(backend)
    if naming is None:
        return ()
    listed = _PROCESSOR.findall(_processors(naming.triple))
    found = {match[1] for match in map(naming.pattern.fullmatch, listed) if match}
    if found:
        found |= set(re.findall(rf'"{naming.pattern.pattern}"', _source(backend)))
    return tuple(sorted((arch for arch in found if _is_compiled_for(arch)), key=_age))


def _is_compiled_for(arch: str) -> bool:
    return int(arch) >= _OLDEST_CUDA if arch.isdecimal() else _age(arch)[0] >= _OLDEST_GFX


def _age(arch: str) -> tuple[int, str]:
    """Its generation, and what orders those of one: gfx90a is of the ninth, and has a number in base 16."""
    if arch.isdecimal():
        return int(arch), ""
    digits = arch.removeprefix("gfx").partition("-")[0]
    return int(digits[:-2]), arch


def _source(backend: str) -> str:
    from triton.backends import backends

    try:
        return inspect.getsource(sys.modules[backends[backend].compiler.__module__])
    except (KeyError, OSError, TypeError):
        return ""


def _processors(triple: str) -> str:
    """LLVM's list, of a process of its own; "" where this wheel's bindings are others."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile("w+b") as told:
        pid = os.fork()
        if pid == 0:
            _tell_processors(triple, told.fileno())
        os.waitpid(pid, 0)
        told.seek(0)
        return told.read().decode(errors="replace")


def _tell_processors(triple: str, descriptor: int) -> NoReturn:
    with contextlib.suppress(BaseException):
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(descriptor, 2)
        _ask(triple)
    os._exit(0)


def _ask(triple: str) -> None:
    from triton._C.libtriton import ir, llvm

    llvm.init_targets()
    context: Any = ir.context()
    ir.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(_MODULE)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    llvm.attach_datalayout(llvm.to_module(module, llvm.context()), triple, "help", "")
