"""The cases that an argument of a command names: FILE, FILE::CASE, or a node id, whatever target it names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.cases.kernel_case import CaseInstance, CaseTemplate

_BRACKETS = re.compile(r"(?P<name>[^\[]*)(?:\[(?P<inside>.*)\])?", re.DOTALL)
_MOST = 5


def chosen_instances(file: Path, wanted: str) -> list[CaseInstance]:
    """The instances in a file that `wanted` names: "" for all, CASE for all of one, CASE[PARAMETERS].

    Raises UsageError, with the nearest that there are, where it names none.
    """
    from harness.cases.loading import load_templates

    templates = load_templates(file)
    chosen = [each for one in templates for each in one.instances() if _is_meant(wanted, each)]
    if not chosen:
        raise UsageError(f"{file} has no case {wanted!r}", hint=_nearest(wanted, templates))
    return chosen


def _is_meant(wanted: str, instance: CaseInstance) -> bool:
    parts = _BRACKETS.fullmatch(wanted)
    if not wanted or parts is None or parts["name"] != instance.template.name:
        return not wanted
    inside, parameters = parts["inside"], instance.parameter_id
    if inside is None:
        return True
    target, _, rest = inside.partition("-")
    return inside == parameters or (rest == parameters and (bool(parameters) or bool(target)))


def _nearest(wanted: str, templates: Sequence[CaseTemplate]) -> str:
    name, _, inside = wanted.partition("[")
    template = next((one for one in templates if one.name == name), None)
    if template is None:
        return f"its cases: {', '.join(one.name for one in templates)}"
    ids = [f"{name}[{one.parameter_id}]" for one in template.instances()]
    # The target of a node id is no part of a case's own id.
    plain = inside.rstrip("]")
    asked = [plain, plain.partition("-")[2] or plain]
    close = [near for one in asked for near in difflib.get_close_matches(f"{name}[{one}]", ids, n=_MOST)]
    nearest = list(dict.fromkeys(close))[:_MOST]
    if nearest:
        return f"the nearest there are: {', '.join(nearest)}"
    more = f", and {len(ids) - _MOST} more" if len(ids) > _MOST else ""
    return f"it has {', '.join(ids[:_MOST])}{more}" if ids else f"{name} has no values for a parameter"
