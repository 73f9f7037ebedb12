"""What the GPU pipelines of the installed release print: some modules of some kernels, the last one of each among
them, read, print and read back as the same module, locations included."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import ALL, share_of
from ir_structure import facts

from harness.bisect.capture import capturing, gpu_target
from harness.bisect.stages import Capture
from harness.cases.allocate import allocate
from harness.cases.loading import load_templates
from harness.ir import parse_module, print_module
from harness.targets.run_case import as_triton

KERNELS = Path(__file__).parents[2] / "coverage_kernels"
# Between them: shared memory, pipelined copies, tensor descriptors, scaled products, loops, calls, reductions.
SAMPLE = (
    "attention/flash_forward.py",
    "gemm/tails.py",
    "memory/descriptor_gemm.py",
    "memory/descriptor_gather_scatter.py",
    "quantize/mxfp4.py",
    "control_flow/noinline_call.py",
    "atomics/integer_rmw.py",
)


def captured(path: Path, target: str) -> list[Capture]:
    """The compilations of the first case of a file."""
    case = load_templates(path)[0].instances()[0].build()
    allocated = allocate(case, path.name)
    captures: list[Capture] = []
    with capturing(gpu_target(target), lambda capture, *rest: captures.append(capture)):
        for one in case.launches:
            arguments = {name: as_triton(value) for name, value in allocated.arguments(one).items()}
            one.kernel[one.grid](**arguments, **one.options)
    return captures


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("name", SAMPLE)
def test_round_trip(name: str, target: str, triton_cache: Path) -> None:
    captures = captured(KERNELS / name, target)
    assert captures
    texts = list(dict.fromkeys(stage.text for capture in captures for stage in capture.stages))
    assert len(texts) > 2
    for text in [*texts[: -1 : ALL // share_of(20)], texts[-1]]:
        module = parse_module(text, "captured")
        assert facts(parse_module(print_module(module), "printed")) == facts(module)
