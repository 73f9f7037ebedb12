"""Versions outside the stated range are refused in one sentence; nothing is imported to know them."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from harness.errors import UnsupportedVersion
from harness.versions import check_versions

GOOD = {"torch": "2.13.0+cpu", "triton": "3.7.1"}


def check(python: str = "3.11.7", **versions: str) -> None:
    installed = {**GOOD, **versions}

    def version_of(name: str) -> str:
        if not installed[name]:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    check_versions(python, version_of)


@pytest.mark.parametrize("triton", ["3.6.0", "3.7.1", "3.8.0", "3.9.0", "3.9.1+gitabcdef"])
@pytest.mark.parametrize("python", ["3.10.0", "3.13.9"])
def test_supported_versions_pass(python: str, triton: str) -> None:
    check(python, triton=triton)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({"triton": "3.5.1"}, "triton 3.5.1 is not supported"),
        ({"triton": "3.10.0"}, "triton 3.10.0 is not supported"),
        ({"torch": "2.5.1"}, "torch 2.5.1 is not supported"),
        ({"torch": "3.0.0"}, "torch 3.0.0 is not supported"),
        ({"torch": ""}, "torch is not installed"),
        ({"python": "3.14.0"}, "Python 3.14.0 is not supported"),
        ({"python": "3.9.18"}, "Python 3.9.18 is not supported"),
    ],
)
def test_others_are_refused_with_the_range(found: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnsupportedVersion, match=rf"^{re.escape(sentence)} \(supported: >=[\d.]+, <[\d.]+\)$"):
        check(**found)


def test_what_is_tested_with_is_supported() -> None:
    constraints = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="ascii")
    pins = dict(re.findall(r"^(torch|triton)==(\S+)", constraints, re.MULTILINE))
    check(**pins)
