"""How hypothesis behaves in every test here: the same examples each time, and no verdict from the clock."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from examples import ALL, SUPPRESSED
from hypothesis import settings
from kept_zygote import KeptZygote, kept_zygote
from warm_python import warm_python

from harness.isolation.process import memory_folder
from harness.verdicts import fingerprint


def pytest_configure() -> None:
    thorough = settings(
        max_examples=ALL, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED, print_blob=True
    )
    settings.register_profile("thorough", thorough)
    settings.register_profile("steady", thorough, max_examples=ALL // 10)
    # `--hypothesis-profile=thorough`, or `default`, which explores with new examples: hypothesis's own plugin
    # applies it after this.
    settings.load_profile("steady")
    # What pytest takes for the parent of its temporary folders: a disk that keeps a journal takes 2 ms for each file.
    in_memory = memory_folder()
    if in_memory is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", in_memory)


@pytest.fixture(scope="session")
def _packages():
    return cache(fingerprint._package)


@pytest.fixture
def one_toolchain(_packages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside this process, none of which changes the toolchain, read it once between them."""
    monkeypatch.setattr(fingerprint, "_package", _packages)


@pytest.fixture
def triton_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty one, gone with its test, and there only if something is compiled: most tests have no other file."""
    folder = tmp_path_factory.getbasetemp() / "triton"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptZygote]:
    """For the cases of inner runs, as one of their plugins."""
    with kept_zygote(tmp_path_factory.mktemp("zygote")) as kept:
        yield kept


@pytest.fixture(scope="session")
def _warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all workers of the run."""
    folder = tmp_path_factory.getbasetemp()
    with warm_python((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "python") as python:
        yield python


@pytest.fixture
def quick_start(_warm_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started as `sys.executable` has imported torch and pytest."""
    monkeypatch.setattr(sys, "executable", str(_warm_python))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Thousands of collected tests and all of torch stay to the end: nobody need look for garbage in them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
