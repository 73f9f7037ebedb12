"""What a person is shown of a stack: their own frames, and what those called."""

from __future__ import annotations

import faulthandler
import os
import sysconfig
import tempfile
import traceback

import pytest

import harness.reports
from harness.cases.evidence import Evidence, Failure
from harness.reports import failure_text
from harness.reports.user_frames import of_dump, of_traceback
from harness.verdicts import classify

OURS = f'  File "{harness.reports.__file__}", line 3'
LIBRARY = f'  File "{sysconfig.get_paths()["purelib"]}/torch/functional.py", line 5'
HEAD = "Current thread 0x00007f0000000000 (most recent call first):"
DUMP = "\n".join(
    [
        *("it said this", HEAD, f"{LIBRARY} in einsum", '  File "/u/k.py", line 7 in golden', f"{OURS} in run"),
        *(f'  File "{sysconfig.get_paths()["scripts"]}/pytest", line 8 in <module>', "and that"),
    ]
)


def test_a_dump_ends_with_the_outermost_frame_of_the_user():
    assert of_dump(DUMP, others=False).splitlines() == [
        "it said this",
        HEAD,
        f"{LIBRARY} in einsum",
        '  File "/u/k.py", line 7 in golden',
        "and that",
    ]


def test_a_dump_without_a_frame_of_the_user_goes_unless_it_is_asked_for():
    ours = f"{HEAD}\n{OURS} in run\n{LIBRARY} in wait\n\nExtension modules: numpy (total: 1)\n"
    assert of_dump(ours, others=False) == ""
    assert of_dump(ours, others=True) == f"{HEAD}\n{OURS} in run\n{LIBRARY} in wait"


def test_it_reads_what_python_really_writes():
    with tempfile.TemporaryFile("w+b") as file:
        faulthandler.dump_traceback(file, all_threads=False)
        file.seek(0)
        dump = file.read().decode()
    assert "in test_it_reads_what_python_really_writes" in of_dump(dump, others=False).splitlines()[1]
    assert f"{os.sep}_pytest{os.sep}" in dump and f"{os.sep}_pytest{os.sep}" not in of_dump(dump, others=False)


def test_a_traceback_begins_with_the_first_frame_of_the_user():
    def fails() -> None:
        raise SystemExit("no licence")

    with pytest.raises(SystemExit) as caught:
        fails()
    text = "".join(traceback.format_exception(caught.value))
    head, first, *rest = text.splitlines()
    with_ours = "\n".join([head, f"{OURS}, in run", "    return reference(x)", first, *rest])
    assert of_traceback(with_ours) == text.rstrip()


def test_a_fault_of_ours_keeps_its_traceback():
    text = f"Traceback (most recent call last):\n{OURS}, in run\n    boom()\nKeyError: 3"
    assert of_traceback(text) == text


def test_a_timeout_shows_where_the_users_code_hangs_and_all_of_it_with_v():
    failure = Failure("reference", "Timeout", "still running after 5 s", log=DUMP)
    verdict = classify(Evidence("k.py::k[npu]", "npu", "reference", failure=failure))
    assert "k.py" in failure_text(verdict) and OURS not in failure_text(verdict)
    assert OURS in failure_text(verdict, verbose=True)
