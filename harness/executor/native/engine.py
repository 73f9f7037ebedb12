"""LLVM IR to machine code of this process, through llvmlite."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir


class Function:
    """A compiled function. Calls release the GIL; arguments are addresses and numbers (int64).

    `code` is kept alive as long as the function is.
    """

    def __init__(self, code: Any, address: int, arguments: int) -> None:
        self._code = code
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(address)

    def __call__(self, *arguments: int) -> int:
        return self._call(*arguments)


@functools.cache
def _target() -> llvm.TargetMachine:
    """The processor this runs on, with all the vector instructions it has."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )


def module(name: str) -> ir.Module:
    """An empty module. Its context is its own, so that threads may build side by side."""
    return ir.Module(name=name, context=ir.Context())


def compiled(source: ir.Module, name: str, arguments: Sequence[Any]) -> Function:
    """The function `name` of the module, `arguments` being its parameters: pointers and i64, i64 returned.

    Raises RuntimeError where LLVM does not accept the module.
    """
    machine = _target()
    source.triple = machine.triple
    source.data_layout = str(machine.target_data)
    parsed = llvm.parse_assembly(str(source))
    parsed.verify()
    options = llvm.PipelineTuningOptions(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    code = llvm.create_mcjit_compiler(parsed, _fresh_target())
    code.finalize_object()
    return Function(code, code.get_function_address(name), len(arguments))


def _fresh_target() -> llvm.TargetMachine:
    """An execution engine owns its target machine."""
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
