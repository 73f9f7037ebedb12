"""Pipelines given as text, where the wheel exports MLIR's own parser for them (3.7.0 on).

No binding leads there, so it is called as C++ calls it, through ctypes. That leans on how objects are laid out
and passed; a self-test, in a process of its own, must therefore succeed before anything trusts it.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from harness.lit.exported import exported_symbols, pass_factories

_PARSE = "_ZN4mlir17parsePassPipelineEN4llvm9StringRefERNS_13OpPassManagerERNS0_11raw_ostreamE"
_REGISTER = "_ZN4mlir12registerPassERKSt8functionIFSt10unique_ptrINS_4PassESt14default_deleteIS2_EEvEE"
_ERRORS = "_ZN4llvm4errsEv"
_MAKE = "_ZN4mlir13OpPassManagerC1EN4llvm9StringRefENS0_7NestingE"
_ASSIGN = "_ZN4mlir13OpPassManageraSERKS0_"
_ALLOW_UNREGISTERED = "_ZN4mlir11MLIRContext25allowUnregisteredDialectsEb"
_ADD_PASS = "_ZN4mlir13OpPassManager7addPassESt10unique_ptrINS_4PassESt14default_deleteIS2_EE"
_NEEDED = (_PARSE, _REGISTER, _ERRORS, _MAKE, _ASSIGN, _ALLOW_UNREGISTERED, _ADD_PASS)
_ANCHOR = b"builtin.module"
_EXPLICIT = 1  # OpPassManager::Nesting
_MANAGER_BYTES = 256  # an OpPassManager is less than half of that

_KEPT_BYTES = 4096
_RESTRICTED = re.compile(r"restricted to '([\w.]+)' on a PassManager intended to run on 'builtin.module'")

_MANAGER = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)

# What the self-test runs, and what must become of it.
_TEST_PIPELINE = "canonicalize{max-iterations=7},cse"
_TEST_MODULE = "tt.func @f(%a: i32) -> i32 {\n %0 = arith.addi %a, %a : i32\n tt.return %a : i32\n}\n"


class _StringRef(ctypes.Structure):
    """llvm::StringRef: passed in two registers."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Function(ctypes.Structure):
    """libstdc++'s std::function. A factory takes no argument, so it is its own invoker: both get the place for
    the result first."""

    _fields_ = (
        ("functor", ctypes.c_uint64 * 2),
        ("manager", ctypes.c_void_p),
        ("invoker", ctypes.c_void_p),
    )


@dataclass
class TextualPipelines:
    """The route of one process. `refusal` says why there is none; then nothing may be called."""

    libtriton: ModuleType
    refusal: str = ""
    factories: tuple[str, ...] = ()
    _library: Any = None
    _registered: bool = False
    _kept: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, libtriton: ModuleType) -> TextualPipelines:
        """Looks for the symbols and tests the route; a few tenths of a second."""
        try:
            symbols = exported_symbols(Path(str(libtriton.__file__)))
        except (OSError, ValueError) as error:
            return cls(libtriton, f"the wheel's library cannot be read: {error}")
        if missing := sorted(set(_NEEDED) - set(symbols)):
            return cls(libtriton, f"the wheel does not export {missing[0]}")
        found = cls(libtriton, "", tuple(pass_factories(symbols)), ctypes.CDLL(str(libtriton.__file__)))
        found.refusal = found._self_test()
        return found

    def anchor(self, manager: Any) -> None:
        """Makes an empty pass manager one of modules, as triton-opt's is: the wheel's are of any op, and would run a
        pass of functions on the module. Raises RuntimeError where the route was refused."""
        if self.refusal:
            raise RuntimeError(self.refusal)
        anchored = ctypes.create_string_buffer(_MANAGER_BYTES)
        name = _StringRef(_ANCHOR, len(_ANCHOR))
        self._function(_MAKE, None, ctypes.c_void_p, _StringRef, ctypes.c_int)(anchored, name, _EXPLICIT)
        self._function(_ASSIGN, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(_address(manager), anchored)

    def add(self, manager: Any, pipeline: str) -> str:
        """Adds the passes of `pipeline` to a pass manager that was anchored; gives what MLIR has against it, or "".

        A pass of functions, say, is put into the functions, as triton-opt does by itself. Raises RuntimeError where
        the route was refused.
        """
        if self.refusal:
            raise RuntimeError(self.refusal)
        self._register()
        complaint = self._parse(manager, pipeline)
        restricted = _RESTRICTED.search(complaint)
        return self._parse(manager, f"{restricted[1]}({pipeline})") if restricted else complaint

    def _parse(self, manager: Any, pipeline: str) -> str:
        parse = self._function(_PARSE, ctypes.c_bool, _StringRef, ctypes.c_void_p, ctypes.c_void_p)
        errors = self._function(_ERRORS, ctypes.c_void_p)()
        text = pipeline.encode()
        with _captured_stderr() as log:
            is_good = parse(_StringRef(text, len(text)), _address(manager), errors)
            complaint = log()
        return "" if is_good else complaint or "MLIR does not say why"

    def printed_passes(self, context: Any) -> list[str]:
        """Every pass that can be given as text, as a pass manager prints it with its defaults.

        Raises RuntimeError where the route was refused.
        """
        if self.refusal:
            raise RuntimeError(self.refusal)
        return [self._printed(name, context) for name in self.factories]

    def _printed(self, factory: str, context: Any) -> str:
        manager = self.libtriton.ir.pass_manager(context)
        address = _address(manager)
        made = ctypes.c_void_p()  # a std::unique_ptr, which its caller holds; the pass manager then empties it
        self._function(factory, ctypes.c_void_p, ctypes.c_void_p)(ctypes.byref(made))
        self._function(_ADD_PASS, None, ctypes.c_void_p, ctypes.c_void_p)(address, ctypes.byref(made))
        return manager.get_pipeline_str()

    def allow_unregistered_dialects(self, context: Any) -> None:
        """Raises RuntimeError where the route was refused."""
        if self.refusal:
            raise RuntimeError(self.refusal)
        self._function(_ALLOW_UNREGISTERED, None, ctypes.c_void_p, ctypes.c_bool)(_address(context), True)

    def _function(self, symbol: str, result: Any, *arguments: Any) -> Any:
        function = self._library[symbol]
        function.restype, function.argtypes = result, arguments
        return function

    def _register(self) -> None:
        """Enters every pass into MLIR's registry, once for a process: the parser knows no other."""
        if self._registered:
            return
        self._registered = True
        manager = _MANAGER(_no_state)
        self._kept.append(manager)
        register = self._function(_REGISTER, None, ctypes.c_void_p)
        for name in self.factories:
            invoker = ctypes.cast(self._library[name], ctypes.c_void_p)
            function = _Function((ctypes.c_uint64 * 2)(), ctypes.cast(manager, ctypes.c_void_p), invoker)
            register(ctypes.byref(function))

    def _self_test(self) -> str:
        """Why the route cannot be trusted; "" when it can. A crash is a finding too: it happens to a child."""
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _test_and_exit(self, writer)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8", errors="replace") as answer:
            reason = answer.read()
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            return f"its self-test ended by signal {os.WTERMSIG(status)}"
        return "" if reason == _GOOD else f"its self-test failed: {reason or 'it said nothing'}"


_GOOD = "good"


def _test_and_exit(route: TextualPipelines, writer: int) -> NoReturn:
    """The child of a self-test: it answers through the pipe, and what the library prints is nobody's news."""
    try:
        faulthandler.disable()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            reason = _first_fault(route) or _GOOD
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        os.write(writer, reason.encode())
    finally:
        os._exit(0)


def _first_fault(route: TextualPipelines) -> str:
    """What is wrong with the route, or ""."""
    ir = route.libtriton.ir
    context = ir.context()
    ir.load_dialects(context)
    manager = ir.pass_manager(context)
    route.anchor(manager)
    if complaint := route.add(manager, _TEST_PIPELINE):
        return f"{_TEST_PIPELINE} is not read: {complaint}"
    printed = manager.get_pipeline_str()
    shape = re.sub(r"\{[^{}]*max-iterations=7[^{}]*\}", "{7}", printed)
    if shape != "builtin.module(canonicalize{7},cse)":
        return f"{_TEST_PIPELINE} is read as {printed}"
    if not all(route.add(ir.pass_manager(context), text) for text in ("no-such-pass", "cse{")):
        return "a pipeline that is none is read"
    if not any("cse" in printed for printed in route.printed_passes(context)):
        return "its passes cannot be listed"
    module = _parsed(ir, context, _TEST_MODULE)
    manager.run(module, "self-test")
    if "arith.addi" in module.str_nodebug() or "tt.return" not in module.str_nodebug():
        return "the passes it adds do not run"
    route.allow_unregistered_dialects(context)
    if "nobody.knows" not in _parsed(ir, context, '"nobody.knows"() : () -> ()\n').str_nodebug():
        return "a dialect that is not registered is refused"
    return ""


def _parsed(ir: Any, context: Any, text: str) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        return ir.parse_mlir_module(file.name, context)


@contextlib.contextmanager
def _captured_stderr() -> Iterator[Callable[[], str]]:
    """What native code writes to descriptor 2 inside the block goes into a file; the function reads it."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        original = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: os.pread(file.fileno(), _KEPT_BYTES, 0).decode(errors="replace").strip()
        finally:
            os.dup2(original, 2)
            os.close(original)


def _no_state(destination: int, source: int, operation: int) -> bool:
    """std::function's manager for a functor without state: there is nothing to copy or destroy."""
    return False


def _address(wrapper: Any) -> int:
    """Where the C++ object of a pybind11 or nanobind wrapper lies."""
    head = id(wrapper) + object.__basicsize__
    if type(type(wrapper)).__name__ == "pybind11_type":
        address = ctypes.c_void_p.from_address(head).value
    else:  # nanobind: an offset, then flags, of which the third says that the object lies right there
        place = id(wrapper) + ctypes.c_int32.from_address(head).value
        is_direct = ctypes.c_uint32.from_address(head + 4).value & 0b100
        address = place if is_direct else ctypes.c_void_p.from_address(place).value
    if not address:
        raise RuntimeError("the wrapper holds no object")
    return address
