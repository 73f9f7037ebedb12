"""The process that cases are forked from compiles a kernel before the first of them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from harness.targets import warm_up, warm_up_kernel


def _raise(machine: str) -> None:
    raise RuntimeError("PassManager::run failed")


@pytest.mark.parametrize("ending", [lambda machine: os.abort(), _raise], ids=["aborts", "raises"])
def test_a_compiler_that_fails_costs_it_nothing(monkeypatch: pytest.MonkeyPatch, ending: Callable[[str], None]):
    monkeypatch.setattr(warm_up_kernel, "compiled_for", ending)
    warm_up()


def test_a_compiler_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(warm_up.__globals__, "_MOST_SECONDS", 0.01)
    monkeypatch.setattr(warm_up_kernel, "compiled_for", lambda machine: os.read(os.pipe()[0], 1))
    warm_up()


def test_one_that_works_is_used(monkeypatch: pytest.MonkeyPatch):
    used: list[str] = []
    compiled = warm_up_kernel.compiled_for
    monkeypatch.setattr(warm_up_kernel, "compiled_for", lambda machine: used.append(machine) or compiled(machine))
    warm_up()
    assert used == ["default"]
