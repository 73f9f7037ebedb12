"""Processes that work beside a model's: kernels compiled by them, and torch's own run. They may fail in every way."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from model_kit import assert_clean, perceptron, run
from torch import nn

from harness.cases import ModelCase
from harness.errors import ReferenceFailed
from harness.models import kernel_compilers as kernel_compilers_module
from harness.models import references
from harness.models.beside import Beside
from harness.models.kernel_compilers import kernel_compilers
from harness.models.run import ModelRun, run_model
from harness.npu.session import Session


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """xdist's workers have another one, which waits for messages and holds nothing that a copy needs."""
    for module in (kernel_compilers_module, references):
        monkeypatch.setattr(module, "can_fork", lambda: True)


def _told() -> None:
    """That it is computed here."""


# --- torch's own run ---------------------------------------------------------------------------------------------


def test_the_result_is_the_copys():
    work = Beside(lambda: (os.getpid(), torch.arange(3.0)))
    pid, tensor = work.result(_told)
    work.close()
    assert pid != os.getpid()
    assert tensor.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("way", ["raises", "dies", "is killed", "cannot write it down"])
def test_what_a_copy_could_not_compute_is_computed_here(way: str):
    here, again = os.getpid(), []

    def work() -> object:
        if os.getpid() == here:
            return "computed here"
        if way == "raises":
            raise ValueError("only there")
        if way == "dies":
            os.abort()
        if way == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return threading.Lock()

    beside = Beside(work)
    assert beside.result(lambda: again.append(True)) == "computed here"
    beside.close()
    assert again == [True]


def test_a_module_that_torch_cannot_run_fails_as_it_does_without_a_copy():
    class Raises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError("no module's fault but its own")

    def failing(processes: int) -> tuple[str, str]:
        stages: list[str] = []
        with pytest.raises(ReferenceFailed) as failed:
            case = ModelCase(Raises(), (torch.ones(2),))
            run_model(case, "simulated", ModelRun.of(Session()), enter_stage=stages.append, processes=processes)
        return str(failed.value), stages[-1]

    assert failing(1) == failing(0)


# --- kernels -----------------------------------------------------------------------------------------------------


def test_kernels_are_compiled_by_a_copy(tmp_path: Path):
    def compile_kernel(name: str, source: str) -> None:
        (tmp_path / f"{name}.part").write_text(f"{source} {os.getpid()}", encoding="utf-8")
        (tmp_path / f"{name}.part").rename(tmp_path / name)

    source = "\u00e4" * 40_000  # all together more than a socket takes at once
    with kernel_compilers(1, compile_kernel) as compilers:
        assert compilers is not None
        for number in range(8):
            compilers.submit(f"kernel{number}", source)
        while not (tmp_path / "kernel7").exists():
            compilers.wait_for("nobody's", "")
        ((pid, _),) = compilers.copies
    made = [(tmp_path / f"kernel{number}").read_text(encoding="utf-8") for number in range(8)]
    assert made == [f"{source} {pid}"] * 8
    with pytest.raises(ChildProcessError):  # it is gone
        os.waitpid(pid, 0)


def test_what_nobody_has_begun_is_left_to_who_asks(tmp_path: Path):
    gate, answer = tmp_path / "gate", tmp_path / "answer"
    os.mkfifo(gate)
    os.mkfifo(answer)

    def compile_kernel(name: str, source: str) -> None:
        if name == "first":
            gate.read_text(encoding="utf-8")  # until the test lets it
        else:
            answer.write_text(name, encoding="utf-8")

    with kernel_compilers(1, compile_kernel) as compilers:
        assert compilers is not None
        compilers.submit("first", "")
        compilers.submit("second", "")
        compilers.wait_for("second", "")
        gate.write_text("go", encoding="utf-8")
        compilers.submit("third", "")
        assert answer.read_text(encoding="utf-8") == "third"


def test_there_are_none_where_another_thread_may_hold_a_lock(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    event = threading.Event()
    other = threading.Thread(target=event.wait)
    other.start()
    try:
        with kernel_compilers(1, lambda name, source: None) as compilers:
            assert compilers is None
    finally:
        event.set()
        other.join()


@pytest.mark.parametrize("way", ["raises", "dies"])
def test_a_kernel_that_a_copy_cannot_compile_is_left_to_who_asks(way: str):
    def compile_kernel(name: str, source: str) -> None:
        if way == "dies":
            os.abort()
        raise ValueError("only there")

    with kernel_compilers(2, compile_kernel) as compilers:
        assert compilers is not None
        for number in range(4):
            compilers.submit(f"kernel{number}", "")
        for number in range(4):
            compilers.wait_for(f"kernel{number}", "")
        compilers.submit("one more", "")
        compilers.wait_for("one more", "")


def test_a_model_is_the_same_model():
    x = torch.randn(4, 16)
    alone, beside = run(perceptron(), x), run(perceptron(), x, processes=2)
    for outcome in (alone, beside):
        assert_clean(outcome)
    texts = [[one.text for one in outcome.checker.session.launches] for outcome in (alone, beside)]
    assert [_placeless(one) for one in texts[0]] == [_placeless(one) for one in texts[1]]
    assert [one.name for one in alone.buffers] == [one.name for one in beside.buffers]


def _placeless(text: str) -> str:
    """Without the folder of the run's own caches."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#loc"))
