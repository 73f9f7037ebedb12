"""Whether Triton can take a launch's options and arguments: asked before anything runs, of Triton itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from harness.cases.checks import did_you_mean, inner_kernel
from harness.cases.kernel_case import Launch
from harness.errors import CaseError


def check_launch(launch: Launch, arguments: Mapping[str, Any], options: Collection[str]) -> None:
    """Raises CaseError for a launch option that is none of `options`, and for an argument Triton cannot take.

    arguments  live ones, by parameter name
    """
    for name in launch.options:
        if name not in options:
            hint = did_you_mean(name, options) or f"one of: {', '.join(sorted(options))}"
            raise CaseError(f"there is no launch option {name!r}", hint=hint, about=name)
    # Triton's interpreter takes anything: its functions have no such list.
    for parameter in getattr(inner_kernel(launch.kernel), "params", ()):
        if parameter.name in arguments and not _is_converted(parameter):
            _check_argument(parameter, arguments[parameter.name])


def _is_converted(parameter: Any) -> bool:
    """Annotated as a float or bool, a parameter has its type whatever the value is."""
    annotation = not parameter.is_constexpr and parameter.annotation_type
    return isinstance(annotation, str) and annotation.startswith(("u1", "fp", "bf"))


def _check_argument(parameter: Any, value: Any) -> None:
    from triton.runtime.jit import mangle_type

    name = parameter.name
    try:
        # A constexpr becomes part of the compiled kernel's key, anything else gets a type.
        hash(value) if parameter.is_constexpr else mangle_type(value)
    except (TypeError, ValueError) as error:
        what = f"{name}={value!r} is a {type(value).__name__}, which Triton cannot take as an argument of a kernel"
        hint = "a constexpr must be hashable" if parameter.is_constexpr else "a Buffer, int, float, bool, None or tuple"
        raise CaseError(what, hint=hint, about=name) from error
    except OverflowError as error:
        raise CaseError(f"{name}={value!r} does not fit into 64 bits", about=name) from error
