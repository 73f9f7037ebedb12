"""Running a model changes nothing for the rest of the process."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest
import torch
from model_kit import assert_clean, perceptron, run

from harness.errors import UnsupportedVersion
from harness.models.inductor import check_torch


def _state() -> dict[str, Any]:
    """Whatever the context manager touches, and the settings of torch that a model could meet."""
    import torch._dynamo.config
    import torch._functorch.config
    import torch._inductor.config as config
    import torch._inductor.runtime.triton_heuristics as heuristics
    from torch._inductor import scheduler
    from torch._inductor.async_compile import AsyncCompile, CompiledTritonKernels
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.fx_passes import fuse_attention
    from torch._inductor.kernel import mm_plus_mm
    from torch._inductor.select_algorithm import TritonTemplate, get_algorithm_selector_cache
    from torch._inductor.virtualized import V
    from torch.utils._triton import has_triton
    from triton.backends import backends

    from harness.npu.activation import active_driver

    return {
        "backends": dict(backends),
        "driver": active_driver(),
        "triton": has_triton(),
        "inductor": config.get_config_copy(),
        "dynamo": torch._dynamo.config.get_config_copy(),
        "functorch": torch._functorch.config.get_config_copy(),
        "configs": heuristics.unique_configs,
        "choices": list(get_algorithm_selector_cache().preprocessing_fns),
        "tiles": V.choices,
        "templates": TritonTemplate.maybe_append_choice,
        "products": mm_plus_mm.tuned_mm_plus_mm,
        "attention": fuse_attention._sfdp_params_check.__code__,
        "patterns": fuse_attention._sfdp_init,
        "collector": gc.get_threshold(),
        "definition": PythonWrapperCodegen.define_kernel,
        "asking": AsyncCompile.triton,
        "keys": CompiledTritonKernels.__dict__["key"],
        "marking": scheduler.BaseSchedulerNode.mark_run,
        "freeing": scheduler.Scheduler.free_buffers,
        "calling": scheduler.Scheduler.codegen_extern_call,
        "tf32": torch.backends.cudnn.allow_tf32,
        "precision": torch.backends.cudnn.fp32_precision,
        "sdpa": torch.backends.cuda.flash_sdp_enabled(),
        "environment": dict(os.environ),
    }


@pytest.mark.parametrize("processes", [0, 1])
def test_torch_and_triton_are_as_before(processes: int):
    before = _state()
    assert_clean(run(perceptron(), torch.randn(4, 16), processes=processes))
    after = _state()
    assert {name for name in before if before[name] != after[name]} == set()


def test_torch_and_triton_are_as_before_a_run_that_fails():
    before = _state()

    def fails(x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.sum().item() > 0 else x  # the way through it depends on data

    with pytest.raises(Exception, match="one graph"):
        run(fails, torch.randn(4))
    after = _state()
    assert {name for name in before if before[name] != after[name]} == set()


def test_who_compiles_elsewhere_gets_the_patterns_of_attention():
    from torch._inductor.fx_passes import fuse_attention, joint_graph

    fuse_attention._sfdp_init.cache_clear()
    assert_clean(run(perceptron(), torch.randn(4, 16)))
    assert not fuse_attention._sfdp_init.cache_info().currsize
    joint_graph.lazy_init(torch.device("cpu"))
    assert fuse_attention._sfdp_init.cache_info().currsize


def test_a_module_compiled_here_is_compiled_anew_elsewhere():
    module = perceptron()
    first = run(module, torch.randn(4, 16))
    seen: list[str] = []

    def backend(graph: Any, inputs: Any) -> Any:
        seen.append("compiled")
        return graph

    torch.compile(module, backend=backend)(torch.randn(4, 16))
    assert seen == ["compiled"]
    launched = len(first.checker.session.launches)
    assert launched == len(run(module, torch.randn(4, 16)).checker.session.launches)


def test_a_torch_that_is_not_known_is_refused_in_a_sentence():
    with pytest.raises(UnsupportedVersion, match=r"models run with torch .*; this is torch 2\.15\.0"):
        check_torch("2.15.0+cpu")
    check_torch("2.13.0+cpu")
    check_torch("2.14.1")
