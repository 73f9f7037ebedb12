"""The record of a run and what is made of it.

    recorder = Recorder.start(folder, RunInfo(command=..., targets=("npu",), rerun=("--checks=full",)))
    recorder.add(classify(evidence))                        # as each comes; written down at once
    record = recorder.finish(gate, scope, strict=False, interrupted=False)   # gate and scope may be None
    print(terminal_table(record, folder=str(folder)))
    exit_red = record.gate is not None and not record.gate.is_green
    item.user_properties.extend(junit_properties(verdict))  # for pytest's own --junitxml

The executing side writes `FailureArtifacts(...).save(folder)` where it runs, as early as it can, and
names the folder in `Evidence.artifacts`; the recorder moves it into the report.
"""

from harness.reports.artifacts import BufferArtifact, FailureArtifacts, folder_name
from harness.reports.compare import Baseline, Past, compare
from harness.reports.failure_text import failure_text
from harness.reports.html import html_page
from harness.reports.journal import Journal, assemble
from harness.reports.junit import junit_properties, junit_xml
from harness.reports.markdown import markdown
from harness.reports.record import SCHEMA, Change, Comparison, Record, RunInfo
from harness.reports.recorder import Recorder, load_report, write_outputs
from harness.reports.terminal import terminal_table

__all__ = [
    "SCHEMA",
    "Baseline",
    "BufferArtifact",
    "Change",
    "Comparison",
    "FailureArtifacts",
    "Journal",
    "Past",
    "Record",
    "Recorder",
    "RunInfo",
    "assemble",
    "compare",
    "failure_text",
    "folder_name",
    "html_page",
    "junit_properties",
    "junit_xml",
    "load_report",
    "markdown",
    "terminal_table",
    "write_outputs",
]
