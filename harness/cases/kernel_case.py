"""A kernel case: kernel, buffers, grid and reference, and the decorator that declares a family of them.

@case(dtype=["fp32", "bf16"], shape=[(62, 1000), (1, 7)])
def softmax(dtype, shape):
    rows, cols = shape
    return KernelCase(
        softmax_kernel,
        grid=(rows,),
        args=dict(x=Buffer(shape, dtype), out=empty(shape, dtype), n=cols, BLOCK=1024),
        reference=lambda x: {"out": x.softmax(-1)},
    )
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from harness.cases.buffer import Buffer
from harness.cases.checks import check_grid, check_names, check_options, check_values
from harness.cases.descriptor import buffer_of
from harness.cases.features import check_features
from harness.cases.location import SourceLocation
from harness.cases.model_case import ModelCase
from harness.cases.source_lines import innermost_line, line_of_argument, line_of_parameter
from harness.cases.tolerance import Tolerance
from harness.errors import CaseError, HarnessError

Grid = tuple[int, ...]
Case = TypeVar("Case", "KernelCase", ModelCase)
_Placed = TypeVar("_Placed", bound=HarnessError)


@dataclass(frozen=True)
class Launch:
    """One `kernel[grid](**args)`. The grid is X first; `options` are num_warps, num_stages, ..."""

    kernel: Any
    grid: Grid
    args: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_fields(self)


@dataclass(frozen=True)
class KernelCase:
    """One case, ready to run.

    kernel     a `@triton.jit` function (autotune and heuristics decorators included)
    grid       1 to 3 integers of zero or more, X first
    args       by parameter name: Buffer, Descriptor, list of them, int, float, bool, None, a torch dtype's
               triton counterpart, or a constexpr's value
    reference  called with the arguments it names (buffers as torch tensors in their own layout, floats
               in float64 unless `exact_dtype`; buffers that start as poison keep their dtype); returns
               {buffer name: tensor}, or one tensor when the kernel writes one buffer
    options    num_warps, num_stages, num_ctas, ...
    then       further launches over the same buffers, in order
    exact_dtype   the reference must see the case's own dtypes (casts, bit operations)
    reduction  the number of terms added into one output element, where the harness cannot tell: the
               float tolerance grows with it (see docs/goldens.md)
    tolerance  a wider tolerance, with its reason
    signed_zeros  -0.0 and 0.0 are different results
    ordered_atomics  the result depends on the order in which programs reach their atomics, as defined
               by the executor; real hardware cannot be expected to agree
    """

    kernel: Any
    grid: Grid
    args: Mapping[str, Any]
    reference: Callable[..., Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    then: Sequence[Launch] = ()
    exact_dtype: bool = False
    reduction: int = 1
    tolerance: Tolerance | None = None
    signed_zeros: bool = False
    ordered_atomics: bool = False

    def __post_init__(self) -> None:
        _check_fields(self)
        for one in self.then:
            if not isinstance(one, Launch):
                what = f"then= holds {one!r}, which is no Launch"
                raise CaseError(what, hint="then=[Launch(kernel, grid, args)]", about="then")

    @property
    def launches(self) -> tuple[Launch, ...]:
        return (Launch(self.kernel, self.grid, self.args, self.options), *self.then)

    @property
    def buffers(self) -> dict[str, Buffer]:
        """Every buffer by name, in order of first use. Items of a list are `name[0]`, `name[1]`, ..."""
        found: dict[str, Buffer] = {}
        for launch in self.launches:
            for name, value in launch.args.items():
                for key, buffer in _named_buffers(name, value):
                    if found.setdefault(key, buffer) is not buffer:
                        raise CaseError(f"two launches use the name {key!r} for different buffers")
        return found


@dataclass(frozen=True)
class CaseTemplate:
    """A decorated function and its parameters: every combination is one case."""

    name: str
    build: Callable[..., KernelCase | ModelCase]
    parameters: Mapping[str, Sequence[Any]]
    where: SourceLocation
    marks: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def empty_parameters(self) -> list[str]:
        """Those without a value: there is no combination then, and no case."""
        return [name for name, values in self.parameters.items() if not values]

    def instances(self) -> list[CaseInstance]:
        """All combinations, the first parameter varying slowest; ids are unique and stable."""
        names = list(self.parameters)
        instances = []
        for values in itertools.product(*self.parameters.values()):
            chosen = dict(zip(names, values, strict=True))
            instances.append(CaseInstance(self, chosen, "-".join(_id_of(value) for value in values)))
        return instances


@dataclass(frozen=True)
class CaseInstance:
    """One combination of a template's parameters; `build()` makes its KernelCase."""

    template: CaseTemplate
    chosen: Mapping[str, Any]
    parameter_id: str

    def build(self) -> KernelCase:
        """Raises CaseError, at a line of the case file, when the case does not describe a run."""
        return self._built(KernelCase, validate)

    def build_model(self) -> ModelCase:
        """The case of a model file. Raises CaseError as `build` does."""
        return self._built(ModelCase, _anything)

    def _built(self, kind: type[Case], check: Callable[[Case], None]) -> Case:
        try:
            built: Any = self.template.build(**self.chosen)
            if not isinstance(built, kind):
                got = "None" if built is None else f"an object of type {type(built).__name__}"
                raise CaseError(f"{self.template.name} must return a {kind.__name__}, not {got}")
            check(built)
        except CaseError as error:
            raise self.placed(error) from error
        except Exception as error:
            what = f"building the case raised {type(error).__name__}: {error}"
            raise CaseError(what, self._line_of(error)) from error
        return built

    def placed(self, error: _Placed) -> _Placed:
        """The error at the line of what it is about, else where it was raised, else at the case's own line."""
        placed = type(error)(error.what, error.where or self._line_of(error), error.hint)
        placed.__cause__ = error.__cause__
        return placed

    def _line_of(self, error: Exception) -> SourceLocation:
        where = self.template.where
        about = getattr(error, "about", "")
        line = line_of_argument(self.template.build.__code__, about) if about else None
        return SourceLocation(where.file, line or innermost_line(where.file, error) or where.line)


def case(
    marks: Sequence[Any] = (), needs: str | Sequence[str] = (), **parameters: Sequence[Any]
) -> Callable[[Callable[..., KernelCase | ModelCase]], CaseTemplate]:
    """Declares a family of cases: one for every combination of the parameters.

    `marks` are pytest marks (`pytest.mark.slow`). `needs` names what only some releases of Triton have (see
    `harness.cases.features`): on the others the cases are skipped, and the gate excuses them. A parameter's values
    may be anything; numbers, strings, tuples and dtypes give readable ids. Without a value there is no case, which
    the run says.
    """
    if inspect.isfunction(marks):
        # As it stands the function would be no case, and nobody would notice that it never runs.
        where = SourceLocation(inspect.getfile(marks), marks.__code__.co_firstlineno)
        raise CaseError(f"case {marks.__name__} is declared by @case without parentheses", where, "write @case()")
    needs = (needs,) if isinstance(needs, str) else tuple(needs)

    def decorate(build: Callable[..., KernelCase | ModelCase]) -> CaseTemplate:
        where = SourceLocation(inspect.getfile(build), build.__code__.co_firstlineno)
        named = set(inspect.signature(build).parameters)
        if named != set(parameters):
            raise CaseError(
                f"case {build.__name__} takes {sorted(named)} but is given values for {sorted(parameters)}", where
            )
        for name, values in parameters.items():
            if isinstance(values, str) or not isinstance(values, Sequence):
                where = replace(where, line=line_of_parameter(build.__code__, name) or where.line)
                raise CaseError(f"case {build.__name__} needs a list of values for {name}, not {values!r}", where)
        try:
            check_features(needs)
        except CaseError as error:
            line = line_of_parameter(build.__code__, "needs") or where.line
            raise CaseError(error.what, replace(where, line=line), error.hint) from error
        return CaseTemplate(build.__name__, build, dict(parameters), where, tuple(marks), needs)

    return decorate


def _anything(built: ModelCase) -> None:
    """A ModelCase checks its fields itself; the rest is torch's to say."""


def validate(built: KernelCase) -> None:
    """Raises CaseError for a grid, argument or option no launch could have."""
    for launch in built.launches:
        check_grid(launch.grid)
        check_names(launch.kernel, launch.args, launch.options)
        check_values(launch.args)
        check_options(launch.options)


# What a field of a Launch or KernelCase must be, and how to say so.
_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("args", Mapping, "a dict of the kernel's arguments by name"),
    ("options", Mapping, "a dict such as dict(num_warps=4)"),
    ("then", (list, tuple), "a list of Launch"),
    ("tolerance", (Tolerance, type(None)), "a Tolerance"),
    ("reference", (Callable, type(None)), "a function"),
)


def _check_fields(one: Launch | KernelCase) -> None:
    for name, kind, wanted in _FIELDS:
        value = getattr(one, name, None)
        if hasattr(one, name) and not isinstance(value, kind):
            raise CaseError(f"{name}={value!r} must be {wanted}", about=name)


def _named_buffers(name: str, value: Any) -> list[tuple[str, Buffer]]:
    buffer = buffer_of(value)
    if buffer is not None:
        return [(name, buffer)]
    if not isinstance(value, (list, tuple)):
        return []
    items = [(f"{name}[{i}]", buffer_of(item)) for i, item in enumerate(value)]
    return [(key, item) for key, item in items if item is not None]


def _id_of(value: Any) -> str:
    """How a parameter reads in a node id: (62, 1000) is 62x1000; nothing depends on hashes or addresses."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "x".join(_id_of(item) for item in value)
    if isinstance(value, str):
        return _escaped(value)
    name = getattr(value, "__name__", None)
    return _escaped(name or re.sub("(?<=[,:]) ", "", str(value)))


def _escaped(text: str) -> str:
    """As pytest escapes the text of an id, and besides what a line of the allowlist could not hold as it is."""
    escaped = text.encode("unicode_escape").decode("ascii")
    return escaped.translate(_NOT_IN_IDS)


_NOT_IN_IDS = {ord(one): f"\\x{ord(one):02x}" for one in " *?"}
