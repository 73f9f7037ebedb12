"""Numbers on a command line, as argparse asks for them."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """Raises argparse.ArgumentTypeError for what is no number above zero, or none that ends."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


def count(text: str) -> int:
    """Raises argparse.ArgumentTypeError for what is no whole number above zero."""
    value = positive(text)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(value)
