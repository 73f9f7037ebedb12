"""Loads and launches compiled kernels: what Triton calls a driver, with the simulator behind it."""

from __future__ import annotations

import functools
import os
from operator import index
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from harness.errors import HarnessError
from harness.npu.backend.compiler import BACKEND_NAME, PIPELINES, WARP_SIZE
from harness.npu.machine import Machine, load_machine
from harness.npu.relocation import relocate

if TYPE_CHECKING:
    import torch

    from harness.npu.loader import LoadedKernel

MACHINE_VARIABLE = "TRITON_NPU_MACHINE"
NO_MACHINE = ("", "none")  # none: as with --machine, the IR is executed

# The simulator has no limit on either; Triton refuses a kernel that asks for more.
MAX_SHARED_MEMORY = 1 << 40
MAX_THREADS = 1 << 30


def _machine_asked_for() -> str:
    named = os.environ.get(MACHINE_VARIABLE, "")
    return "" if named in NO_MACHINE else named


class NpuDriver(DriverBase):
    """The driver of the simulated NPU. `arch` picks a row of `compiler.PIPELINES`, or names a machine; without it
    the variable TRITON_NPU_MACHINE does, and where that says none the IR is executed.

    Triton's base class has no annotations, and a checker reads its empty methods as returning None.
    """

    def __init__(self, arch: str = "") -> None:
        super().__init__()
        self.arch = arch or _machine_asked_for() or "simulated"
        machine = None if self.arch in PIPELINES else load_machine(self.arch)
        self.number = _device_number(self.arch, machine)
        self.utils = NpuUtils(machine)
        self.launcher_cls = NpuLauncher

    @classmethod
    def is_active(cls) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Only when asked for: a machine with a GPU keeps its own driver, and Triton refuses two."""
        return os.environ.get("TRITON_DEFAULT_BACKEND") == BACKEND_NAME

    def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
        return GPUTarget(BACKEND_NAME, self.arch, WARP_SIZE)

    def get_current_device(self) -> int:
        """A number that no GPU has: the JIT keeps its compiled kernels by device, whoever the driver is."""
        return self.number

    def set_current_device(self, device: int) -> None:
        """There is one device."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:  # pyright: ignore[reportIncompatibleMethodOverride]
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        from harness.npu import device_interface

        return device_interface

    def get_benchmarker(self) -> Any:
        from harness.npu.device_interface import benchmark

        return benchmark

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        import torch

        return torch.empty(0, dtype=torch.int32)

    def clear_cache(self, cache: torch.Tensor) -> None:
        """A functional simulator has no cache to flush."""

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "void*" if ty.startswith("*") else CPP_TYPES[ty]


CPP_TYPES = {
    "i1": "int8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u1": "uint8_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "fp16": "float",
    "bf16": "float",
    "fp32": "float",
    "f32": "float",
    "fp64": "double",
}


class NpuUtils:
    """`driver.utils`, as Triton's CompiledKernel uses it."""

    def __init__(self, machine: Machine | None = None) -> None:
        from harness.npu.loader import load_kernel

        # One plan per program and kernel: the whole input of the plan is the key.
        self._load = functools.lru_cache(maxsize=512)(functools.partial(load_kernel, machine=machine))

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[LoadedKernel, LoadedKernel, int, int, int]:
        """(module, function, registers, spills, most threads). Raises UnsupportedOp or ParseError."""
        loaded = self._load(name, kernel)
        return loaded, loaded, 0, 0, MAX_THREADS

    def unload_module(self, module: LoadedKernel) -> None:
        """Plans are plain Python objects."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """The properties that Triton and kernels' host code ask for."""
        return {
            "max_shared_mem": MAX_SHARED_MEMORY,
            "max_num_regs": 1 << 16,
            "multiprocessor_count": 1,
            "warpSize": WARP_SIZE,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 1024,
        }

    def set_printf_fifo_size(self, size: int) -> None:
        """What a kernel prints is never dropped."""


def _device_number(arch: str, machine: Machine | None) -> int:
    if machine is None:
        return -1 - list(PIPELINES).index(arch)
    return -1 - len(PIPELINES) - int(machine.fingerprint()[:7], 16)


class NpuLauncher:
    """Runs one compiled kernel; Triton makes one for each."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.signature = dict(src.signature)
        # A kernel given as IR text has no Python function, and its locations are its own.
        function = getattr(src, "fn", None)
        self.file: str | None = function and function.fn.__code__.co_filename

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: LoadedKernel,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Any,
        exit_hook: Any,
        *arguments: Any,
    ) -> None:
        """Raises a Trap when the simulator stops a program, UsageError for an argument it cannot see."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        try:
            # As the C launchers read them: whatever is an index, such as one of NumPy's integers.
            x, y, z = (int(index(extent)) for extent in (grid_x, grid_y, grid_z))
            function.launch((x, y, z), self.signature, arguments, self.file)
        except HarnessError as error:
            relocate(error, function.file, self.file)
            raise
        if exit_hook is not None:
            exit_hook(launch_metadata)
