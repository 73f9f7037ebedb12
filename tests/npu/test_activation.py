"""Installing the package changes nothing until the backend is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.driver import DriverBase
from triton.runtime import driver

from harness.npu.activation import npu_driver_active
from harness.npu.backend import compiler
from harness.npu.backend import driver as npu_driver
from harness.npu.session import Session, current_session, use_session

SCRIPT = """
import torch, triton, triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def double(out, x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + at, tl.load(x + at) * 2)
    else:
        tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)
    if tl.program_id(0) == 1:
        tl.device_print("second program")

x = torch.randn(1000)
out = torch.empty_like(x)
double[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](out, x, 1000)
print("equal" if torch.equal(out, x * 2) else "different")
double[(5,)](torch.empty(500), x, 640)
"""


def _python(tmp_path: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    clean = {name: value for name, value in os.environ.items() if name != "TRITON_DEFAULT_BACKEND"}
    clean |= {"TRITON_CACHE_DIR": str(tmp_path / "triton"), **environment}
    return subprocess.run([sys.executable, script], capture_output=True, text=True, env=clean, check=False)


@pytest.mark.usefixtures("quick_start")
def test_an_ordinary_script_runs_on_the_npu_when_the_environment_says_so(tmp_path: Path):
    """Decorators, prints and results first; then a mistake, which must read as one message of one line."""
    done = _python(tmp_path, SCRIPT, TRITON_DEFAULT_BACKEND="npu")
    assert "equal" in done.stdout.splitlines(), done.stderr
    assert "second program" in done.stdout
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("harness.errors.OutOfBounds: ")
    assert "'out'" in last
    assert "script.py:" in last


@pytest.mark.parametrize(("named", "arch"), [("", "simulated"), ("none", "simulated"), ("tiny", "tiny")])
def test_a_variable_names_the_machine_of_a_script(monkeypatch: pytest.MonkeyPatch, named: str, arch: str):
    monkeypatch.setenv("TRITON_NPU_MACHINE", named)
    assert npu_driver.NpuDriver().arch == arch


def test_the_backend_is_known_but_inactive_and_light(tmp_path: Path):
    code = """
        import sys
        import triton
        from triton.backends import backends
        heavy = [name for name in sys.modules if name.split(".")[0] in ("torch", "numpy", "xdsl")]
        print("npu" in backends, backends["npu"].driver.is_active(), heavy)
    """
    done = _python(tmp_path, code)
    assert done.stdout.strip() == "True False []", done.stderr


@pytest.mark.parametrize("module", ["compiler", "driver"])
def test_either_module_of_the_backend_may_be_imported_before_triton(tmp_path: Path, module: str):
    done = _python(tmp_path, f"import harness.npu.backend.{module}, triton; print(*triton.backends.backends)")
    assert "npu" in done.stdout.split(), done.stderr


def test_the_driver_that_was_active_comes_back():
    before = _active()
    with npu_driver_active() as ours:
        assert driver.active is ours
        with npu_driver_active("frontend") as inner:
            assert driver.active is inner
        assert driver.active is ours
    assert _active() is before


@triton.jit
def three():
    return 3.0


@triton.jit
def store_three(out):
    tl.store(out, three())


def test_the_two_pipelines_never_share_a_compiled_kernel(session: Session):
    out = torch.zeros(1)
    store_three[(1,)](out)
    with npu_driver_active("frontend"):
        store_three[(1,)](out)
    # The inliner is a pass: only the front end's own module still calls.
    assert ["tt.call" in record.text for record in session.launches] == [False, True]


def test_a_session_ends_with_its_block():
    with use_session(Session()) as session:
        assert current_session() is session
    assert current_session() is not session


def _active() -> DriverBase | None:
    try:
        return driver.active
    except RuntimeError:
        return None


@pytest.mark.parametrize("module", [compiler, npu_driver], ids=lambda module: module.__name__)
def test_the_backends_modules_hold_no_generic_alias_at_run_time(module: ModuleType):
    """Triton asks `issubclass` of every `type` in them, and on Python 3.10 `Callable[[Any], None]` is one."""
    assert [name for name, value in vars(module).items() if get_origin(value) is not None] == []
