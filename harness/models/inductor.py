"""Everything about torch and Triton that has to be changed while Inductor compiles for the simulated NPU.

No other module touches torch's or Triton's insides: whatever is patched is patched here, says why, and is undone when
the block of `npu_inductor` ends. Read and tested with torch 2.13 and 2.14; other releases are refused in one sentence,
since Inductor's classes change from one to the next.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from packaging.specifiers import SpecifierSet

from harness.errors import UnsupportedVersion
from harness.models.convolution_bias import peel_convolution_bias
from harness.models.kernel_compilers import fill_cache, kernel_compilers, name_and_source

SUPPORTED_TORCH = SpecifierSet(">=2.13,<2.15")

# The key under which Inductor looks for a Triton backend for CPU tensors, and what it names in GPUTarget.
CPU = "cpu"

_CACHE_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")

# Inductor's own switches, by the name in torch._inductor.config.
_SETTINGS: Mapping[str, Any] = {
    "cpu_backend": "triton",
    # Compiled here: a pool of compiling processes would not see the backend below.
    "compile_threads": 1,
    # Nothing is cached by Inductor: a cached graph would run without the checks that are compiled into it.
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    "autotune_local_cache": False,
    "autotune_remote_cache": False,
    "bundled_autotune_remote_cache": False,
    # mm, addmm, bmm and convolutions, backward too, as Triton templates. Where no template will do, torch's own op is
    # the only candidate, and the run says that it stayed on the host.
    "max_autotune_gemm": True,
    "max_autotune_gemm_backends": "TRITON,ATEN",
    "max_autotune_conv_backends": "TRITON,ATEN",
    "max_autotune_conv_bwd_weight_backends": "TRITON,ATEN",
    "max_autotune_conv_bwd_input_backends": "TRITON,ATEN",
    "benchmark_fusion": False,
    "benchmark_epilogue_fusion": False,
    # One wrapper function a graph, and layouts as the model has them.
    "graph_partition": False,
    "layout_optimization": False,
    "triton.decompose_sort_ops": True,
    # Of a product much deeper than its sides Inductor would write no template at all, but a graph of its own to time.
    "triton.num_decompose_k_splits": 0,
}


class Hooks(Protocol):
    """Whom code generation tells about every kernel: see `harness.models.capture`."""

    def before_allocation(self, scheduler: Any, node: Any) -> None:
        """The outputs of a scheduler node are about to be allocated, and so its kernel to be launched."""
        ...

    def after_allocation(self, scheduler: Any, node: Any) -> None:
        """They are."""
        ...

    def before_free(self, scheduler: Any) -> None:
        """The kernel's launch has been written; what it used last is freed next."""
        ...

    def on_extern(self, node: Any) -> None:
        """A scheduler node stays with torch on the host."""
        ...


@contextmanager
def npu_inductor(arch: str, hooks: Hooks, processes: int = 0) -> Iterator[None]:
    """Inside the block torch's Inductor compiles CPU tensors to Triton kernels for the simulated NPU; outside it,
    and for everything that was compiled outside, nothing has changed.

    arch       a row of `harness.npu.backend.compiler.PIPELINES` or the name of a machine
    processes  so many compile kernels beside this one
    Raises UnsupportedVersion for a torch whose Inductor this module does not know.
    """
    check_torch()
    with ExitStack() as stack:
        for change in _CHANGES:
            stack.enter_context(change())
        stack.enter_context(_cpu_backend(arch))
        stack.enter_context(_kernel_hooks(hooks))
        stack.enter_context(_compiled_beside(processes))
        yield


def import_inductor() -> None:
    """Imports what compiling for the simulated NPU needs: seconds, once in a process."""
    import torch._dynamo
    import torch._inductor.codegen.triton
    import torch._inductor.compile_fx
    import torch._inductor.runtime.triton_heuristics
    import torch._inductor.select_algorithm  # noqa: F401
    from triton.runtime.cache import triton_key

    triton_key()  # reads all of libtriton, once


def check_torch(version: str | None = None) -> None:
    """Raises UnsupportedVersion, in one sentence, for a torch that this module was not written for."""
    import torch

    found = (version or torch.__version__).partition("+")[0]
    if not SUPPORTED_TORCH.contains(found, prereleases=True):
        what = f"models run with torch {SUPPORTED_TORCH}, whose Inductor the harness knows; this is torch {found}"
        raise UnsupportedVersion(what)


@contextmanager
def _own_caches() -> Iterator[None]:
    """Folders of this process alone: of several at once none may meet another's files. A cache of Triton's that was
    chosen already (a case's process has its own) stays."""
    before = {name: os.environ.get(name) for name in _CACHE_VARIABLES}
    # Inside that one, whose owner removes it also where this process is killed.
    parent = before["TRITON_CACHE_DIR"] or None
    if parent is not None:
        os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="harness-models-", dir=parent)
    for name in _CACHE_VARIABLES:
        if not before[name] or name != "TRITON_CACHE_DIR":
            os.environ[name] = os.path.join(folder, name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _cpu_backend(arch: str) -> Iterator[None]:
    """Inductor compiles for GPUTarget("cpu") and wants Triton to have a backend of that name. It is there inside the
    block only, not as an entry point: installing this package must not make anybody's CPU tensors go to Triton."""
    from torch.utils._triton import has_triton
    from triton.backends import Backend, backends

    from harness.npu.activation import npu_driver_active
    from harness.npu.backend.driver import NpuDriver

    known = backends.get(CPU)
    backends[CPU] = Backend(compiler=_compiler_for(arch), driver=NpuDriver)  # pyright: ignore[reportArgumentType]
    has_triton.cache_clear()  # torch asks once in a process
    try:
        with npu_driver_active(arch):
            yield
    finally:
        if known is None:
            del backends[CPU]
        else:
            backends[CPU] = known
        has_triton.cache_clear()


def _compiler_for(arch: str) -> type:
    from triton.backends.compiler import GPUTarget

    from harness.npu.backend.compiler import BACKEND_NAME, WARP_SIZE, NpuBackend

    class CpuNamedBackend(NpuBackend):
        """The npu backend under the name that Inductor asks for; which machine is not in what Inductor asks."""

        def __init__(self, target: GPUTarget) -> None:
            super().__init__(target)
            self.target = GPUTarget(BACKEND_NAME, arch, WARP_SIZE)

        @staticmethod
        def supports_target(target: GPUTarget) -> bool:
            return target.backend == CPU

    return CpuNamedBackend


@contextmanager
def _settings() -> Iterator[None]:
    import torch
    import torch._dynamo.config
    import torch._functorch.config
    import torch._inductor.config as config

    with (
        config.patch({**_SETTINGS, "post_grad_custom_post_pass": peel_convolution_bias}),
        torch._functorch.config.patch({"enable_autograd_cache": False}),
        # A model that is compiled often (tests do) must not quietly fall back to eager torch.
        torch._dynamo.config.patch({"recompile_limit": 64, "fail_on_recompile_limit_hit": True}),
        # After a graph, dynamo would look for cycles in all that compiling it has made: a second.
        torch._dynamo.config.patch({"run_gc_after_compile": False}),
        # By default the templates of convolutions multiply float32 in tf32, as torch does on a GPU.
        torch.backends.cudnn.flags(
            enabled=torch.backends.cudnn.enabled,
            benchmark=torch.backends.cudnn.benchmark,
            deterministic=torch.backends.cudnn.deterministic,
            allow_tf32=False,
        ),
    ):
        yield


@contextmanager
def _one_candidate() -> Iterator[None]:
    """One configuration of each kernel, the first, and of each product the Triton template that takes the fewest steps
    of the largest tiles, which simulates fastest: timing a simulator on the host's clock would choose by chance, and
    cost a launch each."""
    import torch._inductor.runtime.triton_heuristics as heuristics
    from torch._inductor.select_algorithm import get_algorithm_selector_cache

    def one_template(choices: list[Any]) -> list[Any]:
        templates = [one for one in choices if type(one).__name__ == "TritonTemplateCaller"]
        return [max(templates, key=_tile)] if templates else choices

    selector = get_algorithm_selector_cache()
    functions, unique = list(selector.preprocessing_fns), heuristics.unique_configs
    selector.preprocessing_fns[:] = [one_template]
    heuristics.unique_configs = lambda configs: configs[:1]
    try:
        yield
    finally:
        selector.preprocessing_fns[:] = functions
        heuristics.unique_configs = unique


def _tile(template: Any) -> tuple[int, int]:
    """Depth and area of the tiles that a template multiplies; torch tells them in its description only."""
    return _depth_and_area(dict(re.findall(r"\b(BLOCK_[MNK])=(\d+)", template.description)))


def _depth_and_area(sizes: Mapping[str, Any]) -> tuple[int, int]:
    k, m, n = (int(sizes.get(f"BLOCK_{axis}", 0)) for axis in "KMN")
    return k, m * n


@contextmanager
def _largest_tiles() -> Iterator[None]:
    """Templates are written out before one is chosen, 20 ms each and a dozen for a product: here only those that may
    be. Inductor's own extension point; that of convolutions does not hear what became of a configuration, of which the
    first that is taken will do."""
    from torch._inductor.choices import InductorChoices
    from torch._inductor.kernel_template_choice import KernelTemplateChoice
    from torch._inductor.select_algorithm import TritonTemplate
    from torch._inductor.virtualized import V

    append = TritonTemplate.maybe_append_choice
    taken: list[bool] = []

    def noted(self: Any, choices: list[Any], **more: Any) -> Any:
        before = len(choices)
        refused = append(self, choices, **more)
        taken.append(len(choices) > before)
        return refused

    def until_taken(configurations: Iterable[Any]) -> Iterator[Any]:
        """Who asks for the next one has tried the last."""
        for one in _largest_first(configurations, lambda one: one.kwargs):
            taken.clear()
            yield one
            if any(taken):
                return

    class Spare(KernelTemplateChoice):
        """A configuration that is written where the one before it is refused; by then their layout is known."""

        before: KernelTemplateChoice

        @property
        def choice(self) -> Any:
            return super().choice if self.before.choice is None else None

    class LargestTiles(InductorChoices):
        def get_conv_configs(self, device_type: str | None = "cuda") -> Any:
            configurations = super().get_conv_configs(device_type)
            return lambda *sizes, **more: until_taken(configurations(*sizes, **more))

        def _finalize_template_configs(self, template_choices: Mapping[str, Iterable[Any]], *_: Any, **__: Any) -> Any:
            of_each = (_largest_first(each, lambda one: one.params.to_kwargs()) for each in template_choices.values())
            # Two of one template: it does not take every size. torch's own ops, which have none, are one each.
            pairs = [choices[:2] for choices in of_each]
            for first, second in (pair for pair in pairs if len(pair) == 2):
                second.__class__, second.before = Spare, first
            return [one for pair in pairs for one in pair]

    TritonTemplate.maybe_append_choice = noted
    try:
        with V.set_choices_handler(LargestTiles()):
            yield
    finally:
        TritonTemplate.maybe_append_choice = append


def _largest_first(choices: Iterable[Any], sizes_of: Callable[[Any], Mapping[str, Any]]) -> list[Any]:
    return sorted(choices, key=lambda one: _depth_and_area(sizes_of(one)), reverse=True)


@contextmanager
def _pairs_of_products() -> Iterator[None]:
    """Inductor makes one kernel of two products that are added; of its templates none takes shallow matrices, and its
    way out is torch's own op. Two products and an addition have templates whatever the size."""
    import torch
    import torch._inductor.config as config
    from torch._inductor.kernel import mm_plus_mm
    from torch._inductor.lowering import lowerings
    from torch._inductor.select_algorithm import NoValidChoicesError

    original = mm_plus_mm.tuned_mm_plus_mm

    def pair(first: Any, second: Any, third: Any, fourth: Any, *, layout: Any = None) -> Any:
        aten = torch.ops.aten
        try:
            with config.patch({"max_autotune_gemm_backends": "TRITON"}):
                return original(first, second, third, fourth, layout=layout)
        except NoValidChoicesError:
            return lowerings[aten.add](lowerings[aten.mm](first, second), lowerings[aten.mm](third, fourth))

    mm_plus_mm.tuned_mm_plus_mm = pair
    try:
        yield
    finally:
        mm_plus_mm.tuned_mm_plus_mm = original


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Attention stays matmul, softmax and matmul: the fused ops have no Triton lowering on CPU tensors. torch makes
    them of scaled_dot_product_attention, unless told which kernel to take; Inductor's patterns make them of plain
    code, and hold the function that decides, so that its code is exchanged."""
    from torch._inductor.fx_passes import fuse_attention
    from torch.nn.attention import SDPBackend, sdpa_kernel

    check = fuse_attention._sfdp_params_check
    code = check.__code__

    def never(match: Any) -> bool:
        return False

    check.__code__ = never.__code__
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        check.__code__ = code


@contextmanager
def _no_attention_patterns() -> Iterator[None]:
    """Inductor traces dozens of patterns of attention before its first graph, a second of work: none of them may match
    here (`_plain_attention`). Whoever compiles outside the block has them traced then: what prepares all patterns, once
    for each device, is made to ask again, and what it has prepared stays prepared."""
    from torch._inductor.fx_passes import fuse_attention, joint_graph

    prepare = fuse_attention._sfdp_init
    fuse_attention._sfdp_init = lambda *_, **__: None
    try:
        yield
    finally:
        fuse_attention._sfdp_init = prepare
        joint_graph.lazy_init.cache_clear()  # pyright: ignore[reportFunctionMemberAccess]


@contextmanager
def _kernel_hooks(hooks: Hooks) -> Iterator[None]:
    """`config.generate_intermediate_hooks` emits nothing for Triton kernels in torch 2.13 and 2.14 (it compares names
    of operations with names of buffers), and knows neither when memory is allocated nor when it is freed."""
    from torch._inductor import scheduler

    replaced = {
        (scheduler.BaseSchedulerNode, "mark_run"): _marking(hooks),
        (scheduler.Scheduler, "free_buffers"): _freeing(hooks),
        (scheduler.Scheduler, "codegen_extern_call"): _calling(hooks),
    }
    originals = {key: getattr(*key) for key in replaced}
    token = _listening.set(hooks)
    for (owner, name), make in replaced.items():
        setattr(owner, name, make(originals[owner, name]))
    try:
        yield
    finally:
        _listening.reset(token)
        for (owner, name), original in originals.items():
            setattr(owner, name, original)


@contextmanager
def _compiled_beside(processes: int) -> Iterator[None]:
    """A kernel is compiled, by a copy of this process, as soon as its text is known: Inductor asks for the first when
    the last is written. torch's own pool of processes would pickle what it makes, and every error on its way."""
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen

    define, triton = PythonWrapperCodegen.define_kernel, AsyncCompile.triton
    with kernel_compilers(processes, fill_cache) as compilers:
        if compilers is None:
            yield
            return

        def define_kernel(self: Any, kernel_name: str, kernel_body: str, *rest: Any, **more: Any) -> Any:
            compilers.submit(*name_and_source(kernel_body))
            return define(self, kernel_name, kernel_body, *rest, **more)

        def compiled(self: Any, kernel_name: str, source_code: str, *rest: Any, **more: Any) -> Any:
            compilers.wait_for(kernel_name, source_code)
            return triton(self, kernel_name, source_code, *rest, **more)

        PythonWrapperCodegen.define_kernel, AsyncCompile.triton = define_kernel, compiled
        try:
            yield
        finally:
            PythonWrapperCodegen.define_kernel, AsyncCompile.triton = define, triton


@contextmanager
def _text_as_key() -> Iterator[None]:
    """What is being compiled Inductor knows by a hash of the text and of all of its own files, which it reads for that.
    In a dict of one process the text itself will do."""
    from torch._inductor.async_compile import CompiledTritonKernels

    key = CompiledTritonKernels.__dict__["key"]
    CompiledTritonKernels.key = staticmethod(lambda kernel_src: kernel_src)
    try:
        yield
    finally:
        CompiledTritonKernels.key = key


# What `npu_inductor` changes, whatever it compiles for.
_CHANGES: tuple[Callable[[], AbstractContextManager[None]], ...] = (
    _text_as_key,
    _own_caches,
    _settings,
    _one_candidate,
    _largest_tiles,
    _pairs_of_products,
    _plain_attention,
    _no_attention_patterns,
)


# Of blocks inside one another only the innermost hears of what is compiled in it.
_listening: ContextVar[Hooks | None] = ContextVar("harness_models_hooks", default=None)

_Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def _marking(hooks: Hooks) -> _Wrapper:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def mark_run(self: Any) -> None:
            if _listening.get() is not hooks:
                original(self)
                return
            hooks.before_allocation(self.scheduler, self)
            original(self)
            hooks.after_allocation(self.scheduler, self)

        return mark_run

    return wrap


def _freeing(hooks: Hooks) -> _Wrapper:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def free_buffers(self: Any) -> None:
            if _listening.get() is hooks:
                hooks.before_free(self)
            original(self)

        return free_buffers

    return wrap


def _calling(hooks: Hooks) -> _Wrapper:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def codegen_extern_call(self: Any, scheduler_node: Any) -> None:
            if _listening.get() is hooks:
                hooks.on_extern(scheduler_node)
            original(self, scheduler_node)

        return codegen_extern_call

    return wrap
