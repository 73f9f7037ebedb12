"""A run of a model in words: a line for each kernel while it runs, and the facts at its end."""

from __future__ import annotations

from harness.cases.evidence import ModelEvidence
from harness.models.report import KernelReport, mismatch_line

_NAME = 56


def kernel_line(report: KernelReport) -> str:
    """Which step of which graph, the kernel and its grid, what was compared, the worst error, the time."""
    grids = dict.fromkeys("x".join(map(str, launch.grid)) for launch in report.launches)
    compared = sum(one.compared for one in report.buffers)
    counted = (
        f"{compared} of {len(report.buffers)} buffers" if compared < len(report.buffers) else f"{compared} compared"
    )
    name = report.name if len(report.name) <= _NAME else f"{report.name[: _NAME - 1]}\u2026"
    step = f"{report.graph} {report.kernel.number + 1}/{report.steps}"
    return (
        f"{report.number:4} {step} {name} [{', '.join(grids)}] {counted},"
        f" worst {report.worst:.1e}, {report.seconds * 1e3:.1f} ms{_wrong(report)}"
    )


def _wrong(report: KernelReport) -> str:
    wrong = [one for one in report.buffers if one.mismatch]
    return "".join(f"\n     {mismatch_line(report, one)}" for one in wrong)


def facts(model: ModelEvidence, launches: int, results: int) -> list[str]:
    """The end of a run, a line for each fact; `results` are outputs, gradients and what was changed in place."""
    by_executor = f", {model.by_executor} with the IR executor" if model.by_executor else ""
    lines = [
        f"{model.kernels} kernels, {launches} launches",
        f"{model.compared} buffers compared with the graph{by_executor}, {len(model.without)} without a golden;"
        f" {results} results compared with torch's own run",
        *(f"  without: {one}" for one in model.without),
        *(f"  on the host: {one}" for one in model.externs),
        f"worst error {model.worst_error:.2g} ({model.worst_buffer})" if model.worst_buffer else "",
        f"compile {model.compile_seconds:.1f} s, simulate {model.simulate_seconds:.2f} s,"
        f" compare {model.compare_seconds:.2f} s",
    ]
    return [line for line in lines if line]
