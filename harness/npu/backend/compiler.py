"""Compiles a kernel for the simulated NPU: Triton's front end, Triton's own TTIR passes, then our program."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget, Language

from harness.cases.checks import check_warps
from harness.errors import Refusal, UnsupportedVersion
from harness.npu.fingerprint import lowering_fingerprint
from harness.npu.machine import Machine, load_machine

BACKEND_NAME = "npu"
WARP_SIZE = 32

# Quoted: on Python 3.10 the alias itself is an instance of `type`, and Triton, which looks here for subclasses of
# BaseBackend, could not be imported.
PassAdder: TypeAlias = "Callable[[Any], None]"

# Triton's TTIR passes in the order the wheel's own backends run them (NVIDIA's `make_ttir`, with the loop
# invariant code motion of AMD's). Tensor descriptors stay: the executor knows them. Block pointers are
# rewritten by the wheels that still have the pass and were never produced by the others.
TTIR_PASSES: tuple[tuple[str, str], ...] = (
    ("common", "add_inliner"),
    ("ttir", "add_rewrite_tensor_pointer"),
    ("common", "add_canonicalizer"),
    ("ttir", "add_combine"),
    ("ttir", "add_reorder_broadcast"),
    ("common", "add_cse"),
    ("ttir", "add_triton_licm"),
    ("common", "add_symbol_dce"),
    ("ttir", "add_loop_unroll"),
)
OPTIONAL_PASSES = frozenset({"add_rewrite_tensor_pointer"})

# By `GPUTarget.arch`. "frontend" runs no pass, so a difference between the two rows is a pass's doing. Any other
# arch is a machine (see `harness.npu.machine`), which what these passes leave is lowered to.
PIPELINES: dict[str, tuple[tuple[str, str], ...]] = {"simulated": TTIR_PASSES, "frontend": ()}


@dataclasses.dataclass(frozen=True)
class NpuOptions:
    """Launch options, by the names kernels and Triton's JIT give them.

    Those that tune a GPU (warps, stages, registers, clusters) are accepted and change no value; Triton's own backends
    refuse some numbers of warps, and so does this one. Raises CaseError.
    """

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = WARP_SIZE
    maxnreg: int | None = None
    cluster_dims: tuple[int, int, int] = (1, 1, 1)
    ir_override: str | None = None
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    debug: bool = False
    sanitize_overflow: bool = True
    backend_name: str = BACKEND_NAME
    arch: str = "simulated"
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False

    def __post_init__(self) -> None:
        check_warps(self.num_warps)

    def hash(self) -> str:
        fields = sorted(dataclasses.asdict(self).items())
        return hashlib.sha256(repr(fields).encode()).hexdigest()


class NpuBackend(BaseBackend):
    """Stages: `ttir`, then `npu`, the text of the module with its locations, which the driver loads."""

    binary_ext = "npu"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == BACKEND_NAME

    def hash(self) -> str:
        """Everything of ours that the compiled program and its results depend on, by content."""
        arch = str(self.target.arch)
        described = arch if arch in PIPELINES else load_machine(arch).fingerprint()
        return f"{BACKEND_NAME}-{described}-{lowering_fingerprint()}"

    def parse_options(self, options: dict[str, Any]) -> NpuOptions:
        known = {field.name for field in dataclasses.fields(NpuOptions)}
        chosen = {name: value for name, value in options.items() if name in known and value is not None}
        chosen["arch"] = str(self.target.arch)
        chosen["extern_libs"] = tuple(dict(chosen.get("extern_libs") or {}).items())
        return NpuOptions(**chosen)

    def add_stages(self, stages: dict[str, Any], options: Any, language: Language = Language.TRITON) -> None:
        if language != Language.TRITON:
            raise Refusal("the simulated NPU compiles Triton, not Gluon")
        stages["ttir"] = lambda module, metadata: make_ttir(module, PIPELINES.get(options.arch, TTIR_PASSES))
        has_machine = options.arch not in PIPELINES
        stages[self.binary_ext] = _lowering_to(load_machine(options.arch)) if has_machine else make_program

    def load_dialects(self, context: Any) -> None:
        """The front end's dialects are loaded already, and we add none."""

    def get_module_map(self) -> dict[str, ModuleType]:
        # The CUDA names (`__nv_expf`) are what Inductor and most kernels use; the executor implements them.
        from triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def get_codegen_implementation(self, options: NpuOptions) -> dict[str, Callable[..., Any]]:
        from harness.npu.conversions import convert_fp8e4b15

        return {"min_dot_size": _smallest_dot, "convert_custom_types": convert_fp8e4b15}

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        return metadata.num_warps, metadata.num_ctas, metadata.shared


def make_ttir(module: Any, pipeline: tuple[tuple[str, str], ...]) -> Any:
    """The module after Triton's TTIR passes. Raises RuntimeError, as libtriton does, when a pass fails."""
    from harness.npu.session import current_session

    session = current_session()
    session.enter_stage("ttir")
    if session.keep_ir is not None:
        text = str(module)
        session.keep_ir("ttir", lambda: text)
    if not pipeline:
        return module
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    for group, name in pipeline:
        _add_pass(manager, group, name)
    manager.run(module, "make_ttir")
    return module


def make_program(module: Any, metadata: dict[str, Any]) -> bytes:
    """What the launcher loads where there is no machine to lower to: the module's text, locations included."""
    metadata["name"] = module.get_entry_func_name()
    metadata["shared"] = 0
    return str(module).encode()


def _lowering_to(machine: Machine) -> Callable[[Any, dict[str, Any]], bytes]:
    """The stage that makes the machine's program. Raises Refusal for a kernel that the machine cannot run."""

    def make_machine_program(module: Any, metadata: dict[str, Any]) -> bytes:
        from harness.npu.compilation import compile_program
        from harness.npu.session import current_session

        text = make_program(module, metadata).decode()
        return compile_program(text, metadata["name"], machine, current_session())

    return make_machine_program


def _add_pass(manager: Any, group: str, name: str) -> None:
    add = getattr(getattr(passes, group), name, None)
    if add is not None:
        add(manager)
    elif name not in OPTIONAL_PASSES:
        import triton

        raise UnsupportedVersion(f"triton {triton.__version__} has no pass binding passes.{group}.{name}")


def _smallest_dot(lhs: Any, rhs: Any) -> tuple[int, int, int]:
    """The executor multiplies matrices of any size."""
    return 1, 1, 1
