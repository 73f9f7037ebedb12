"""Two copies of one kernel share a cached program; each one's messages name its own file."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from harness.cases.location import SourceLocation
from harness.errors import OutOfBounds
from harness.npu.relocation import relocate

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def beyond(out):
    tl.store(out + 100, 1.0)
"""


def _copy(folder: Path) -> ModuleType:
    file = folder / "kernels.py"
    file.parent.mkdir()
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(f"kernels_of_{folder.name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("session")
def test_a_trap_names_the_file_of_the_kernel_that_was_launched(tmp_path: Path):
    for name in ("first", "second"):
        module = _copy(tmp_path / name)
        with pytest.raises(OutOfBounds) as trap:
            module.beyond[(1,)](torch.zeros(4))
        assert trap.value.where is not None
        assert (trap.value.where.file, trap.value.where.line) == (str(tmp_path / name / "kernels.py"), 7)


def test_a_line_of_a_shared_file_stays(tmp_path: Path):
    shared = SourceLocation(str(tmp_path / "library.py"), 3)
    trap = OutOfBounds("outside", shared)
    relocate(trap, str(tmp_path / "a" / "k.py"), str(tmp_path / "b" / "k.py"))
    assert trap.where == shared


def test_a_helper_is_looked_for_beside_its_kernel(tmp_path: Path):
    for copy in ("a", "b"):
        (tmp_path / copy / "lib").mkdir(parents=True)
        (tmp_path / copy / "lib" / "helper.py").touch()
    trap = OutOfBounds("outside", SourceLocation(str(tmp_path / "a" / "lib" / "helper.py"), 3))
    relocate(trap, str(tmp_path / "a" / "k.py"), str(tmp_path / "b" / "k.py"))
    assert trap.where == SourceLocation(str(tmp_path / "b" / "lib" / "helper.py"), 3)
