"""Faults in the harness: its references, its comparison, its memory, its executor, its compiler, its caches."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import triton  # noqa: F401  it imports the backend, which cannot be imported first

from harness.cases import KernelCase
from harness.cases.allocate import Allocated
from harness.cases.evidence import Evidence
from harness.cases.fills import Poison
from harness.cases.loading import find_instance
from harness.executor.memory import Allocation, Memory
from harness.goldens import Comparison
from harness.npu.backend import compiler, driver
from harness.npu.loader import load_kernel
from harness.npu.machine import Machine
from harness.targets import npu

from .edits import rewritten
from .fault import CaseRun, Fault, Injection, edited, patched, rebuilt, replaced

ADD = "coverage_kernels/elementwise/add.py::add[fp32-1000]"
LARGE_ADD = "coverage_kernels/elementwise/add.py::add_on_a_large_grid[4096]"
DIVISION = "coverage_kernels/elementwise/integer_division.py::truncated_division[int32]"
GRID_3D = "coverage_kernels/control_flow/grid_3d.py::grid_3d[2x3x4]"
CANARIES = "tests/mutation/cases/canaries.py"

# By name: each package has a function of its module's name, which hides the module.
RUN_CASE, EXECUTOR = "harness.targets.run_case", "harness.executor.launch"


def harness_faults() -> list[Fault]:
    return [*_references(), *_comparison(), *_memory(), *_executor(), *_compiler(), *_caches()]


def _references() -> list[Fault]:
    return [
        Fault("reference-missing", "the case has no reference", "reference", ADD, _with_reference(None)),
        Fault("reference-stubbed", "the reference returns nothing", "reference", ADD, _with_reference(lambda: None)),
        Fault("reference-empty", "the reference returns no buffer", "reference", ADD, _with_reference(_no_goldens)),
        Fault("reference-raises", "the reference fails", "reference", ADD, _with_reference(lambda x, y: x @ y[:3])),
        Fault(
            "reference-of-nothing",
            "the reference returns the output as it found it",
            "wrong-values",
            ADD,
            _with_reference(lambda out: out),
        ),
        Fault(
            "reference-misspelt",
            "the reference returns a buffer that the case does not have",
            "reference",
            ADD,
            _with_reference(lambda x, y: {"output": x + y}),
        ),
        Fault(
            "golden-forgotten",
            "the reference leaves out one of two outputs",
            "reference",
            DIVISION,
            _with_reference(lambda x, y: {"quotient": x.div(y, rounding_mode="trunc")}),
        ),
        Fault(
            "everything-waived",
            "the reference says of its only output that it cannot be compared",
            "reference",
            ADD,
            _with_reference(lambda: {"out": None}),
        ),
    ]


def _comparison() -> list[Fault]:
    return [
        Fault(
            "golden-not-compared",
            "the comparison passes over one of two outputs",
            "reference",
            DIVISION,
            patched(lambda: _replaced_in(RUN_CASE, "compare", _passes_over_remainder)),
        ),
        Fault(
            "comparison-stubbed",
            "the comparison says nothing about any buffer",
            "reference",
            ADD,
            patched(lambda: _replaced_in(RUN_CASE, "compare", lambda *given, **named: Comparison())),
        ),
        Fault(
            "comparison-crashes",
            "the comparison fails on a buffer",
            "harness-crash",
            ADD,
            patched(lambda: _replaced_in(RUN_CASE, "compare", _raises(IndexError("index 1000 is out of bounds")))),
        ),
    ]


def _memory() -> list[Fault]:
    return [
        Fault(
            "outputs-zero-filled",
            "outputs start as zeros and not as poison",
            "wrong-values",
            f"{CANARIES}::every_other_element[50]",
            patched(lambda: replaced(Poison, "make", _zeros)),
        ),
        Fault(
            "guards-within-bounds",
            "the simulator takes guard zones for part of the buffer, and a store has lost its mask",
            "wrote-outside",
            ADD,
            patched(
                lambda: replaced(npu, "memory_of", _memory_with_guards),
                edited(rewritten(r"tt\.store SSA, SSA, SSA", r"tt.store \1, \2")),
            ),
        ),
    ]


def _executor() -> list[Fault]:
    return [
        Fault(
            "batch-tail-unwritten",
            "the last program of each batch is left out",
            "wrong-values",
            LARGE_ADD,
            patched(lambda: _replaced_in(EXECUTOR, "batches", _batches_cut_short)),
            checks="full",  # in which batches are small enough for there to be several
        ),
        Fault(
            "program-ids-z-first",
            "program ids come as (z, y, x)",
            "wrong-values",
            GRID_3D,
            patched(_ids_z_first),
        ),
        Fault(
            "executor-crashes",
            "an untyped error in the executor",
            "harness-crash",
            ADD,
            patched(lambda: _replaced_in(EXECUTOR, "_run_batches", _raises(KeyError("arith.addf")))),
        ),
    ]


def _compiler() -> list[Fault]:
    return [
        _compiler_fault("pass-aborts", "a pass of the compiler fails an assertion and aborts", make_ttir=_aborts),
        _compiler_fault(
            "pass-fails",
            "a pass of the compiler gives up",
            make_ttir=_raises(RuntimeError("PassManager::run failed")),
        ),
        _compiler_fault(
            "lowering-crashes",
            "an untyped error in the lowering",
            make_program=_raises(AttributeError("'module' has no attribute 'get_name'")),
        ),
        _compiler_fault(
            "pass-missing",
            "this Triton has no pass of that name",
            "environment",
            PIPELINES={"simulated": (("ttir", "add_pass_of_a_later_release"),)},
        ),
    ]


def _compiler_fault(name: str, breaks: str, bucket: str = "compiler-crash", **replacements: Any) -> Fault:
    @contextmanager
    def patch() -> Iterator[None]:
        with ExitStack() as stack:
            # Another compiler has another fingerprint, or the cache would answer for it.
            stack.enter_context(replaced(compiler, "lowering_fingerprint", lambda: name))
            for attribute, value in replacements.items():
                stack.enter_context(replaced(compiler, attribute, value))
            yield

    return Fault(name, breaks, bucket, ADD, patched(patch))


def _caches() -> list[Fault]:
    return [
        Fault(
            "stale-program",
            "the key of the compile cache ignores the lowering, which was mended since",
            "wrong-values",
            ADD,
            patched(lambda: replaced(compiler.NpuBackend, "hash", lambda backend: "npu"), _after_a_mended_lowering),
            control=_after_a_mended_lowering,
        ),
        Fault(
            "plan-by-name",
            "loaded programs are kept by the kernel's name",
            "wrong-values",
            f"{CANARIES}::two_programs_of_one_name[64]",
            patched(lambda: replaced(driver, "NpuUtils", _UtilsByName)),
        ),
    ]


# --- helpers -------------------------------------------------------------------------------------------------------


def _replaced_in(module: str, name: str, value: Any) -> AbstractContextManager[None]:
    return replaced(importlib.import_module(module), name, value)


def _raises(error: Exception) -> Callable[..., Any]:
    def function(*given: Any, **named: Any) -> Any:
        raise error

    return function


def _with_reference(reference: Callable[..., Any] | None) -> Injection:
    def change(case: KernelCase) -> KernelCase:
        return replace(case, reference=reference)

    return rebuilt(change)


def _no_goldens() -> dict[str, Any]:
    return {}


def _passes_over_remainder(*given: Any, **named: Any) -> Comparison:
    from harness.goldens import compare

    found = compare(*given, **named)
    buffers = [replace(one, compared=False) if one.name == "remainder" else one for one in found.buffers]
    return Comparison(buffers, found.findings)


def _zeros(fill: Poison, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    import torch

    return torch.zeros(shape, dtype=dtype.torch)


def _memory_with_guards(allocated: Allocated) -> Memory:
    memory = Memory()
    for storage in allocated.storages.values():
        everything = storage.guarded.numpy()
        memory.add(Allocation(storage.name, everything, storage.guarded.data_ptr(), storage.root.dtype.itemsize))
    return memory


def _batches_cut_short(total: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, total, size):
        yield first, min(total, first + size) - 1


@contextmanager
def _ids_z_first() -> Iterator[None]:
    module = importlib.import_module(EXECUTOR)
    right = module.ids_of

    def z_first(grid: tuple[int, int, int], first: int, last: int) -> Any:
        return right(grid[::-1], first, last)

    with replaced(module, "ids_of", z_first):
        yield


def _aborts(*given: Any) -> Any:
    os.write(2, b'Assertion `isa<To>(Val) && "cast<Ty>() argument of incompatible type!"\' failed.\n')
    os.abort()


class _UtilsByName(driver.NpuUtils):
    def __init__(self, machine: Machine | None) -> None:
        super().__init__(machine)
        loaded: dict[str, Any] = {}

        def load(name: str, program: bytes) -> Any:
            if name not in loaded:
                loaded[name] = load_kernel(name, program, machine)
            return loaded[name]

        self._load = load  # pyright: ignore[reportAttributeAccessIssue]


def _after_a_mended_lowering(run: CaseRun) -> Evidence:
    """Runs the case with a lowering that swaps two operands, mends it, and runs the case again: that run counts."""
    with ExitStack() as stack:
        stack.enter_context(replaced(compiler, "lowering_fingerprint", lambda: "before the mend"))
        stack.enter_context(replaced(compiler, "make_program", _wrong(compiler.make_program)))
        run.go()
    template = run.instance.template
    # The case file is imported anew, as in another process: the JIT's own cache goes with the kernel.
    again = find_instance(Path(template.where.file), template.name, run.instance.parameter_id)
    return replace(run, instance=again).go()


def _wrong(make_program: Callable[..., bytes]) -> Callable[..., bytes]:
    def make(module: Any, metadata: dict[str, Any]) -> bytes:
        text = make_program(module, metadata).decode()
        return rewritten(r"arith\.addf", "arith.subf")(text).encode()

    return make
