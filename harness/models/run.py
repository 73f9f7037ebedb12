"""Runs a model: compiled and simulated under the checker's eyes, then held to torch's own run of the same module."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.cases.evidence import BufferEvidence, Finding, ModelEvidence
from harness.cases.location import SourceLocation
from harness.cases.model_case import ModelCase
from harness.errors import Diverged, HarnessError, NotSimulated
from harness.models.capture import Capture
from harness.models.checking import Checker
from harness.models.evaluation import is_random
from harness.models.inductor import import_inductor, npu_inductor
from harness.models.references import Results, Subject, references_meanwhile
from harness.models.report import KernelReport
from harness.models.watch import use_watch
from harness.npu.session import Session, use_session


@dataclass
class ModelRun:
    """What a run found out; filled in as it goes, so that a run that ends early shows how far it got.

    results  of the whole model against torch: outputs, gradients, parameters and buffers afterwards
    """

    checker: Checker
    results: list[BufferEvidence] = field(default_factory=list)
    seconds: float = 0.0  # of compiling and running, checks included, imports not

    @classmethod
    def of(cls, session: Session, keep_going: bool = False) -> ModelRun:
        """A run that is still to come."""
        return cls(Checker(session, Capture(), keep_going))

    @property
    def buffers(self) -> list[BufferEvidence]:
        return [buffer for report in self.checker.reports for buffer in report.buffers] + self.results

    @property
    def findings(self) -> list[Finding]:
        return self.checker.findings

    @property
    def model(self) -> ModelEvidence:
        checker, launches = self.checker, self.checker.session.launches
        simulating = sum(launch.seconds for launch in launches)
        externs = {f"{one.kernel.extern}: {one.kernel.reason}": None for one in checker.reports if one.kernel.extern}
        return ModelEvidence(
            kernels=len({(launch.kernel, launch.text) for launch in launches}),
            compared=checker.compared,
            by_executor=checker.by_executor,
            without=list(checker.without),
            externs=list(externs),
            worst_error=checker.worst[0],
            worst_buffer=checker.worst[1],
            compile_seconds=max(0.0, self.seconds - simulating - checker.seconds),
            simulate_seconds=simulating,
            compare_seconds=checker.seconds,
        )


def run_model(
    case: ModelCase,
    arch: str,
    run: ModelRun,
    *,
    progress: Callable[[KernelReport], None] | None = None,
    enter_stage: Callable[[str], None] | None = None,
    processes: int = 0,
) -> None:
    """Compiles the case's module for the simulated NPU, runs it, and compares every buffer and every result: all
    that is found is in `run`, however it ends.

    arch       a row of `harness.npu.backend.compiler.PIPELINES` or the name of a machine
    processes  how many may work beside this one: torch's own run of the module is made by one, kernels are compiled
    Raises what compiling and simulating raise (Refusal, Trap, ...); NotSimulated where torch cannot put the module
    into one graph. What only differs is in the run.
    """
    enter = enter_stage or _ignore
    checker = run.checker
    checker.keep_going = checker.keep_going or case.keep_going
    checker.progress = progress
    enter("reference")
    with references_meanwhile(case, processes > 0) as references:
        import_inductor()
        enter("compile")
        try:
            results = _simulated(case, arch, run, processes)
        except Diverged:
            references(enter)  # whose failure is the first cause
            return
        except Exception as error:
            references(enter)
            cause = cause_of(error)
            if isinstance(cause, HarnessError) and checker.running:
                cause.what = f"{checker.running}: {cause.what}"
            # Not from `error`, which was raised from it: the chain would be a ring.
            raise cause from cause.__cause__
        wanted = references(enter)
    enter("compare")
    if wanted.missing:
        checker.without.append(f"results of the model: {wanted.missing}")
    elif any(is_random(plan) for plan in checker.capture.graphs):
        checker.without.append("results of the model: torch draws other random numbers than its compiled code")
    else:
        run.results = wanted.compare(results)


def _simulated(case: ModelCase, arch: str, run: ModelRun, processes: int) -> Results:
    """What the compiled module gives and changes."""
    checker = run.checker
    started = time.perf_counter()
    try:
        with npu_inductor(arch, checker.capture, processes), use_session(checker.session), use_watch(checker):
            subject = Subject.of(case, case.dtype)
            return subject.results(case, compiled(subject.module, case.dynamic))
    finally:
        run.seconds = time.perf_counter() - started


def _ignore(stage: str) -> None:
    """Nobody asked."""


def compiled(module: Callable[..., Any], dynamic: bool) -> Callable[..., Any]:
    """torch.compile, inside `npu_inductor`. The backend is a function of its own, so that code compiled here is never
    taken for code that the process compiled otherwise, nor the other way round."""
    import torch

    def npu(graph: Any, inputs: Any) -> Any:
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, inputs)

    return torch.compile(module, backend=npu, fullgraph=True, dynamic=dynamic)


def cause_of(error: Exception) -> Exception:
    """What torch's wrappers were raised for: an error of the harness or of Triton, if there is one."""
    from torch._dynamo.exc import Unsupported, UserError

    current: BaseException | None = error
    while current is not None:
        if isinstance(current, HarnessError) or type(current).__module__.startswith("triton."):
            assert isinstance(current, Exception)
            return current
        current = getattr(current, "inner_exception", None) or current.__cause__
    if isinstance(error, (Unsupported, UserError)):
        lines = [line.strip() for line in str(error).strip().splitlines()]
        why = next((line.partition(": ")[2] for line in lines if line.startswith("Explanation: ")), lines[0])
        return NotSimulated(f"torch cannot put the module into one graph: {why}", _line_of(error))
    return error


def _line_of(error: Exception) -> SourceLocation | None:
    """The line of the module that was being traced."""
    frames = list(getattr(error, "real_stack", None) or ())
    return SourceLocation(frames[-1].filename, frames[-1].lineno) if frames else None
