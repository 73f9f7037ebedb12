"""What a launch must be before anything of it is run: its grid, and its arguments against the kernel's signature."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from harness.errors import CaseError

# `tl.program_id` is an i32. CUDA takes less along y and z (65535), and says so at the launch.
LARGEST_EXTENT = 2**31 - 1
# More than anything launches, and than a simulator gets through: a product gone wrong.
MOST_PROGRAMS = 2**32


def check_grid(grid: Any) -> None:
    """Raises CaseError for a grid that no launch could have."""
    if callable(grid):
        what = "grid must be a tuple of 1 to 3 integers, not a function"
        raise CaseError(what, hint="nothing calls it: compute them in the case", about="grid")
    if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3:
        raise CaseError(f"grid {grid!r} must be a tuple of 1 to 3 integers", about="grid")
    programs = 1
    for extent in grid:
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise CaseError(f"grid {grid!r} must be integers of zero or more", about="grid")
        if extent > LARGEST_EXTENT:
            what = f"grid {grid!r} has more than 2**31 - 1 programs along an axis"
            raise CaseError(what, hint="a program id is a 32-bit integer", about="grid")
        programs *= extent
    if programs > MOST_PROGRAMS:
        what = f"grid {grid!r} is {programs} programs, more than the {MOST_PROGRAMS} that a case may have"
        raise CaseError(what, hint="give each program more work", about="grid")


def check_names(kernel: Any, args: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raises CaseError where `args` are not the kernel's parameters, or an option is one of them."""
    parameters = parameter_names(kernel)
    listed = f"it has {', '.join(parameters)}"
    for name in args:
        if name not in parameters:
            hint = did_you_mean(name, parameters) or listed
            raise CaseError(f"the kernel has no parameter {name!r}", hint=hint, about=name)
    tuned = _chosen_by_autotune(kernel)
    for name in (*args, *options):
        if name in tuned:
            raise CaseError(f"{name!r} is chosen by the kernel's autotune decorator", hint="leave it out", about=name)
        if name in options and name in parameters:
            what = f"{name!r} is a parameter of the kernel, not a launch option"
            raise CaseError(what, hint="give it in args=", about=name)
    chosen = tuned | _chosen_by_heuristics(kernel)
    for name in parameters:
        if name not in args and name not in chosen and not _has_default(kernel, name):
            raise CaseError(f"the kernel's parameter {name!r} is given no value", hint=f"add it to args: {listed}")


def check_values(args: Mapping[str, Any]) -> None:
    """Raises CaseError for a tensor of torch's own: nothing would poison it, guard it or compare it."""
    for name, value in args.items():
        parts = value if isinstance(value, (list, tuple)) else (value,)
        if any(type(one).__module__.partition(".")[0] == "torch" and hasattr(one, "data_ptr") for one in parts):
            hint = "write Buffer(shape, dtype), with fill= for its values, or empty(...) for what the kernel writes"
            raise CaseError(f"argument {name!r} is a torch tensor", hint=hint, about=name)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises CaseError for a number that every backend of Triton refuses, None standing for the default."""
    for name in ("num_warps", "num_ctas", "num_stages"):
        value = options.get(name)
        if value is not None and not isinstance(value, int):
            raise CaseError(f"{name}={value!r} is no integer", about=name)
    check_warps(options.get("num_warps"))


def check_warps(number: int | None) -> None:
    """Raises CaseError for a number of warps that Triton compiles for no GPU."""
    if number is not None and (number < 1 or number & (number - 1)):
        raise CaseError(f"num_warps must be a power of 2, not {number}", about="num_warps")


def parameter_names(kernel: Any) -> list[str]:
    """The kernel's parameter names, through autotune and heuristics decorators."""
    return list(inner_kernel(kernel).arg_names)


def inner_kernel(kernel: Any) -> Any:
    """The `@triton.jit` function under autotune and heuristics decorators. Raises CaseError where there is none."""
    *_, inner = _layers(kernel)
    return inner


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A hint with the known name most like `name`; "" where none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _layers(kernel: Any) -> Iterator[Any]:
    """Decorators from the outside in; the JIT function is the first that has arg_names and no kernel below it."""
    layer = kernel
    while hasattr(layer, "fn") and hasattr(layer.fn, "arg_names"):
        yield layer
        layer = layer.fn
    if not hasattr(layer, "arg_names"):
        # The name of a function: its repr has an address, which is another one in every run.
        raise CaseError(f"{getattr(kernel, '__name__', kernel)!r} is not a @triton.jit function")
    yield layer


def _chosen_by_autotune(kernel: Any) -> set[str]:
    """Parameters and launch options that every configuration gives a value."""
    tuners = [layer.configs for layer in _layers(kernel) if getattr(layer, "configs", ())]
    return {name for configs in tuners for name in set.intersection(*(set(one.all_kwargs()) for one in configs))}


def _chosen_by_heuristics(kernel: Any) -> set[str]:
    return {name for layer in _layers(kernel) for name in getattr(layer, "values", ())}


def _has_default(kernel: Any, name: str) -> bool:
    return inspect.signature(inner_kernel(kernel).fn).parameters[name].default is not inspect.Parameter.empty
