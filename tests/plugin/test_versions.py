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
        ({"triton": "3.5.1"}, "triton 3.5.1 is not supported (supported: >=3.6, <3.10)"),
        ({"triton": "3.10.0"}, "triton 3.10.0 is not supported (supported: >=3.6, <3.10)"),
        ({"torch": "2.12.1"}, "torch 2.12.1 is not supported (supported: >=2.13, <2.15)"),
        ({"torch": ""}, "torch is not installed (supported: >=2.13, <2.15)"),
        ({"python": "3.14.0"}, "Python 3.14.0 is not supported (supported: >=3.10, <3.14)"),
        ({"python": "3.9.18"}, "Python 3.9.18 is not supported (supported: >=3.10, <3.14)"),
    ],
)
def test_others_are_refused_with_the_range(found: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnsupportedVersion, match=f"^{re.escape(sentence)}$"):
        check(**found)


def test_what_is_tested_with_is_supported() -> None:
    constraints = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="ascii")
    pins = dict(re.findall(r"^(torch|triton)==(\S+)", constraints, re.MULTILINE))
    check(**pins)
