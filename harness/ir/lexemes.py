"""Pieces of patterns that several readers of IR text share."""

from __future__ import annotations

QUOTED = r'"(?:[^"\\\n]|\\.)*"'  # a string, escapes included
ALIAS_NAME = r"[A-Za-z_][\w$.-]*"  # of `#loc3` or `!type`, behind its mark
NAME = r"[A-Za-z_][\w$.]*"  # of a type or a symbol
