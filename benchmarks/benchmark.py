"""What one benchmark is, and finding those that there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cases import KernelCase
from harness.errors import UsageError

PACKAGE = "benchmarks.kernels"


@dataclass(frozen=True)
class Benchmark:
    """One kernel at one size, next to what torch does for it.

    name   as `--kernel` takes it, and the attribute of its module in lower case
    size   of the problem, for people: "4096x1000 fp32"
    case   `case(n)` is the problem with n times the programs; its reference (in float64) checks every side
    eager  called with the buffers it names as tensors; allocates what else it needs and returns the call to
           time. The call writes into the buffers where torch has an `out=`, else it returns
           {buffer name: tensor}
    why    a sentence on why the npu target is slow here, printed where it is more than 10 times slower
           than torch
    """

    name: str
    size: str
    case: Callable[[int], KernelCase]
    eager: Callable[..., Callable[[], Any]]
    why: str = ""


def blocks(count: int, size: int) -> int:
    """Blocks of `size` that hold `count` elements: `triton.cdiv`, which promises its callers no int."""
    return -(-count // size)


def benchmarks_of(module: str) -> list[Benchmark]:
    """The benchmarks that the module of this name defines, in its order."""
    found = vars(importlib.import_module(module)).values()
    return [value for value in found if isinstance(value, Benchmark)]


def kernel_modules() -> list[str]:
    """The names of the modules of `benchmarks.kernels`, sorted."""
    package = importlib.import_module(PACKAGE)
    return sorted(f"{PACKAGE}.{module.name}" for module in pkgutil.iter_modules(package.__path__))


def find_benchmark(module: str, name: str) -> Benchmark:
    """The benchmark `name` of a module. Raises UsageError where there is none."""
    for benchmark in benchmarks_of(module):
        if benchmark.name == name:
            return benchmark
    raise UsageError(f"the module {module} has no benchmark {name!r}")


@dataclass(frozen=True)
class Located:
    """A benchmark and the module that a process of its own finds it in."""

    module: str
    benchmark: Benchmark


def choose(names: Sequence[str], modules: Sequence[str]) -> list[Located]:
    """The benchmarks of these names, or all of them where no name is given. Raises UsageError for an unknown name."""
    known = {one.name: Located(module, one) for module in modules for one in benchmarks_of(module)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"there is no benchmark {unknown[0]!r}", hint=f"one of: {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())
