"""From a model case to the case file of one of its launches, which must do by itself what it does in the model."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cases.evidence import Evidence, Verdict
from harness.cases.kernel_case import CaseInstance
from harness.cases.loading import load_templates
from harness.cases.options import RunOptions
from harness.errors import UsageError
from harness.models.case_text import case_text, widened
from harness.models.extract import Extraction
from harness.models.report import KernelReport
from harness.models.run_case import run_model_case
from harness.targets.npu import NPU
from harness.targets.run_case import run_case_on
from harness.verdicts import classify


@dataclass(frozen=True)
class Extracted:
    """text    of the case file
    kernel  its name
    number  of the launch
    bucket  of the launch in the model and of the case by itself; "" where both pass
    scratch what it writes that the case does not compare
    """

    text: str
    kernel: str
    number: int
    bucket: str
    scratch: tuple[str, ...] = ()


def extract(
    instance: CaseInstance, origin: str, wanted: str, machine: str, transform: Callable[[str], str] | None = None
) -> Extracted:
    """Runs the model and takes out the launch `wanted`: its number, or a kernel's name for the first of it; "" for the
    one that fails.

    origin     how the file calls the model
    transform  changes the IR of each program, in the model and in the case: see `harness.npu.session`
    Raises UsageError where there is no such launch, its reference cannot be written down, or the case does by itself
    something else than the launch in the model.
    """
    options = RunOptions(machine=machine)
    if not wanted:
        wanted = _failing(instance, options, transform)
    extraction, evidence, reports = _run(instance, origin, wanted, options, transform)
    if extraction.missed:  # what belongs to it came before the launch that has the name
        extraction, evidence, reports = _run(instance, origin, str(extraction.number), options, transform)
    if extraction.launching is None:
        failure = evidence.failure
        if failure is not None and failure.kind == "UsageError":
            raise UsageError(failure.message, failure.where, failure.hint)
        if any(str(one.number) == wanted and not one.launches for one in reports):
            raise UsageError(f"step {wanted} of {origin} launches no kernel")
        names = ", ".join(sorted({one.name for one in reports if one.launches}))
        hint = f"a number from 1 to {len(reports)}, or one of: {names}" if len(reports) > 1 else f"only 1, {names}"
        raise UsageError(f"{origin} has no launch {wanted!r}", hint=hint)
    name = extraction.launching.request.kernel.name
    judged = [one for one in reports if one.number in extraction.steps]
    held_to = {(one.kernel.number, output): node for one in judged for output, node in one.held_to.items()}
    text = case_text(extraction, origin, held_to)
    expected = _bucket(judged) if extraction.is_whole and judged else classify(evidence).bucket
    verdict = _alone(text, options, transform)
    tolerances = [tolerance for one in judged for tolerance in one.tolerances]
    if not expected and verdict.bucket == "wrong-values" and tolerances:
        text = widened(text, max(tolerances, key=lambda one: one.absolute))
        verdict = _alone(text, options, transform)
    if verdict.bucket != expected:
        did, does = expected or "passes", verdict.bucket or "passes"
        raise UsageError(f"{name} in the model: {did}; by itself: {does} ({verdict.summary})")
    scratch = tuple(re.findall(r"'(\w+)': None", text))
    return Extracted(text, name, extraction.number, expected, scratch)


def _run(
    instance: CaseInstance, origin: str, wanted: str, options: RunOptions, transform: Callable[[str], str] | None
) -> tuple[Extraction, Evidence, list[KernelReport]]:
    reports: list[KernelReport] = []
    extraction = Extraction(wanted)
    evidence = run_model_case(
        instance,
        origin,
        "npu",
        options,
        progress=reports.append,
        keep_going=True,
        on_launch=extraction,
        transform=transform,
    )
    return extraction, evidence, reports


def _failing(instance: CaseInstance, options: RunOptions, transform: Callable[[str], str] | None) -> str:
    """The number of the launch at which the model fails."""
    reports: list[KernelReport] = []
    evidence = run_model_case(instance, "", "npu", options, progress=reports.append, transform=transform)
    if evidence.is_clean:
        raise UsageError("no launch of the model fails", hint="--kernel says which one to extract")
    if not evidence.launches and evidence.failure is not None:
        failure = evidence.failure
        raise UsageError(f"the model fails before its first launch: {failure.message}", failure.where, failure.hint)
    wrong = next((one.number for one in reports if any(buffer.mismatch for buffer in one.buffers)), None)
    return str(wrong or len(reports) + 1)


def _bucket(reports: list[KernelReport]) -> str:
    return "wrong-values" if any(buffer.mismatch for one in reports for buffer in one.buffers) else ""


def _alone(text: str, options: RunOptions, transform: Callable[[str], str] | None) -> Verdict:
    """The verdict on the only case of a file with this text."""
    ast.parse(text)
    with tempfile.TemporaryDirectory(prefix="harness-extract-") as folder:
        file = Path(folder, "extracted.py")
        file.write_text(text, encoding="utf-8")
        (template,) = load_templates(file)
        (instance,) = template.instances()
        target = replace(NPU, transform=transform)
        return classify(run_case_on(instance, template.name, target, options, _ignore))


def _ignore(stage: str, where: object = None) -> None:
    """Nobody asked."""
