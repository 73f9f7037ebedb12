"""Every deliberate fault of the lowering is found, down to the pass that holds it; a right lowering raises no alarm."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from harness.errors import LoweringFault
from harness.npu.activation import npu_driver_active
from harness.npu.session import Session, use_session

HERE = Path(__file__).parent


def _imported(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"check_lowering_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS, FAULTS = _imported("kernels").launches(), _imported("faults").FAULTS


@pytest.fixture(autouse=True)
def _checked(triton_cache: Path) -> Iterator[None]:
    with npu_driver_active("default"), use_session(Session(check_lowering=True)):
        yield


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_right_lowering_raises_no_alarm(kernel: str):
    KERNELS[kernel]()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_in_its_pass(fault, monkeypatch: pytest.MonkeyPatch):
    fault.put_in(monkeypatch)
    with pytest.raises(LoweringFault) as found:
        KERNELS[fault.kernel]()
    assert found.value.what.startswith(f"{fault.blamed} "), found.value
    assert found.value.where is not None and found.value.where.file.endswith("kernels.py"), found.value


def test_there_are_thirty_faults_in_every_pass_that_computes():
    assert len(FAULTS) >= 30
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
