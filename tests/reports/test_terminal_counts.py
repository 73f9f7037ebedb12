"""Counts of what is left out are of cases."""

from __future__ import annotations

from dataclasses import replace

from harness.reports import terminal_table


def test_failures_that_are_not_listed_are_counted_by_case(record):
    failed = next(one for one in record.verdicts if one.outcome == "fail")
    many = replace(record, verdicts=[replace(failed, case=f"k.py::case[{n}]") for n in range(12)], gate=None)
    assert "... and 2 more" in terminal_table(many)
