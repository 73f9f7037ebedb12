"""`harness.models.compile`: a module of one's own on the simulated NPU, every buffer compared while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from harness.cases.evidence import BufferEvidence, Finding, ModelEvidence
from harness.errors import NotSimulated
from harness.models.inductor import npu_inductor
from harness.models.report import KernelReport
from harness.models.run import ModelRun, cause_of, compiled
from harness.models.watch import use_watch
from harness.npu.session import Session, use_session

_NO_MACHINE = "none"


def compile(
    module: Callable[..., Any],
    *,
    machine: str = "default",
    dynamic: bool = False,
    keep_going: bool = False,
    progress: Callable[[KernelReport], None] | None = None,
) -> CompiledModel:
    """The module, compiled by Inductor to Triton for the simulated NPU when it is first called.

    machine     a machine's name or .toml file; "none": the IR is executed
    dynamic     compile once for any size
    keep_going  do not raise at a buffer that differs from its golden
    progress    called with each kernel's report when it has run

    A call runs without gradients. Inside `with` it has them, and backward, which must run there too, is simulated and
    compared as well:

        with harness.models.compile(module) as model:
            model(x).sum().backward()

    Raises Diverged at the first buffer that is wrong, NotSimulated for what stays on the host, and what compiling and
    simulating raise (Refusal, Trap, ...).
    """
    return CompiledModel(module, "simulated" if machine == _NO_MACHINE else machine, dynamic, keep_going, progress)


class CompiledModel:
    """A callable like the module. What its runs found out is in `buffers`, `findings` and `evidence`."""

    def __init__(
        self,
        module: Callable[..., Any],
        arch: str,
        dynamic: bool,
        keep_going: bool,
        progress: Callable[[KernelReport], None] | None,
    ) -> None:
        self._module, self._arch, self._dynamic = module, arch, dynamic
        self._run = ModelRun.of(Session(), keep_going)
        self._run.checker.progress = progress
        self._function: Callable[..., Any] | None = None
        self._inside: ExitStack | None = None

    @property
    def buffers(self) -> list[BufferEvidence]:
        """Every buffer so far, compared or not."""
        return self._run.buffers

    @property
    def findings(self) -> list[Finding]:
        return self._run.findings

    @property
    def evidence(self) -> ModelEvidence:
        return self._run.model

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        if self._inside is not None:
            return self._called(args, kwargs)
        with self, torch.no_grad():
            return self._called(args, kwargs)

    def __enter__(self) -> CompiledModel:
        checker = self._run.checker
        stack = ExitStack()
        stack.enter_context(npu_inductor(self._arch, checker.capture))
        stack.enter_context(use_session(checker.session))
        stack.enter_context(use_watch(checker))
        self._inside = stack
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        assert self._inside is not None
        self._inside.close()
        self._inside = None
        host = next((one for one in self.findings if one.kind == "not-simulated"), None)
        if error is None and host is not None and not self._run.checker.keep_going:
            raise NotSimulated(host.message, host.where)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._function is None:
            self._function = compiled(self._module, self._dynamic)
        try:
            return self._function(*args, **kwargs)
        except Exception as error:
            cause = cause_of(error)
            if cause is error:
                raise
            raise cause from error
