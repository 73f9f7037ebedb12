"""`harness coverage`: which ops the cases exercise, and which they do not."""

from __future__ import annotations

import argparse
from typing import Any


def register(subcommands: Any) -> None:
    subcommands.add_parser("coverage").set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    raise NotImplementedError
