"""Every coverage kernel reads, prints and reads back as the same module, locations included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ir_structure import facts
from triton.tools.tensor_descriptor import TensorDescriptor

from harness.cases import Buffer, Descriptor, Launch
from harness.cases.features import lacking
from harness.cases.loading import case_files, load_templates
from harness.ir import parse_module, print_module
from harness.npu.activation import npu_driver_active

FOLDER = Path(__file__).parents[2] / "coverage_kernels"


def launches(path: Path) -> Iterator[Launch]:
    """The first launch of each kernel of the file that this release of Triton can compile."""
    seen: set[int] = set()
    for template in load_templates(path):
        if lacking(template.needs):
            continue
        for launch in template.instances()[0].build().launches:
            if id(launch.kernel) not in seen:
                seen.add(id(launch.kernel))
                yield launch


def compiled_text(launch: Launch) -> str | None:
    """What the simulated NPU is given; None for a kernel that compiles in a way `warmup` does not show."""
    arguments = {name: _argument(value) for name, value in launch.args.items()}
    with npu_driver_active():
        compiled = launch.kernel.warmup(**arguments, **launch.options, grid=(1,))
    return compiled.asm["npu"].decode() if hasattr(compiled, "asm") else None


def _argument(value: Any) -> Any:
    import torch

    if isinstance(value, Buffer):
        return torch.empty(1, dtype=value.dtype.torch)
    if isinstance(value, Descriptor):
        tensor = torch.empty_strided(value.buffer.shape, value.buffer.strides, dtype=value.buffer.dtype.torch)
        return TensorDescriptor.from_tensor(tensor, list(value.block_shape), value.padding)
    return tuple(map(_argument, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("path", case_files(FOLDER), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_round_trip(path: Path, triton_cache: Path) -> None:
    for launch in launches(path):
        text = compiled_text(launch)
        if text is None:
            continue
        module = parse_module(text, "compiled")
        assert facts(parse_module(print_module(module), "printed")) == facts(module)
