"""Python's cyclic collector around a model: rare, as it was afterwards, and over with the process."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from harness.garbage import rare_collections

_CYCLE = """
import sys
from harness.garbage import end_at_once
class Told:
    def __del__(self):
        print("collected")
for _ in range(int(sys.argv[1])):
    end_at_once()
told = Told()
told.itself = told
"""


def test_the_thresholds_are_as_before():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_collections():
        assert gc.get_threshold() > before
        raise ZeroDivisionError
    assert gc.get_threshold() == before


def test_what_was_made_is_not_collected_at_once():
    with rare_collections():
        made = [[] for _ in range(50_000)]
    assert gc.get_count()[0] < len(made)


@pytest.mark.parametrize("times, printed", [(0, "collected\n"), (1, ""), (2, "")])
def test_a_process_ends_without_a_search(times, printed):
    done = subprocess.run([sys.executable, "-c", _CYCLE, str(times)], capture_output=True, text=True, check=True)
    assert done.stdout == printed
