"""The installed wheel as a compiler: its dialects, its passes, and how each of them can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from types import ModuleType
from typing import Any

from harness.errors import UnsupportedFlag
from harness.lit.passes import PassBinding, parse_printed, pass_bindings
from harness.lit.spelling import KnownFlags
from harness.lit.textual import TextualPipelines


@dataclass(frozen=True)
class PassRequest:
    """One pass as a command line asks for it: `--flag`, `--flag="name=value ..."`, or a whole pipeline as text."""

    flag: str
    options: str = ""
    pipeline: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The options by name; one without a value is true."""
        pairs = (word.partition("=") for word in self.options.split())
        return {name: value if equals else "true" for name, equals, value in pairs}

    @property
    def text(self) -> str:
        """As MLIR's own parser of pipelines reads it."""
        return self.pipeline or (f"{self.flag}{{{self.options}}}" if self.options else self.flag)

    def __str__(self) -> str:
        return self.text


@dataclass
class Compiler:
    """A wheel. `bindings` are its passes by flag."""

    libtriton: ModuleType
    release: str
    bindings: Mapping[str, list[PassBinding]] = field(default_factory=dict)

    @classmethod
    def of(cls, libtriton: ModuleType, release: str) -> Compiler:
        compiler = cls(libtriton, release)
        compiler.bindings = pass_bindings(libtriton, compiler.context())
        return compiler

    @cached_property
    def textual(self) -> TextualPipelines:
        return TextualPipelines.of(self.libtriton)

    @cached_property
    def defaults(self) -> Mapping[str, Mapping[str, str]]:
        """The options of every pass that can be given as text, with their defaults; nothing where none can."""
        printed = [] if self.textual.refusal else self.textual.printed_passes(self.context())
        return dict(filter(None, map(parse_printed, printed)))

    def context(self) -> Any:
        """A context in which every dialect of the wheel is registered."""
        context = self.libtriton.ir.context()
        self.libtriton.ir.load_dialects(context)
        for module in self._backends():
            module.load_dialects(context)  # type: ignore[attr-defined]
        return context

    def manager(self, context: Any) -> Any:
        """An empty pass manager; of modules, where the wheel lets one say so."""
        manager = self.libtriton.ir.pass_manager(context)
        if not self.textual.refusal:
            self.textual.anchor(manager)
        return manager

    def add(self, manager: Any, request: PassRequest) -> None:
        """Adds a pass, through its binding where that can say just the same.

        Raises UnsupportedFlag where the wheel cannot, and UsageError where no release could: it is misspelt.
        """
        try:
            self._add(manager, request)
        except UnsupportedFlag as error:
            known = self._known_flags()
            known.check(request)
            raise UnsupportedFlag(error.what, of_a_release=known.has(request)) from error

    def _known_flags(self) -> KnownFlags:
        bound = {flag: [name for one in found for name in one.options] for flag, found in self.bindings.items()}
        return KnownFlags.of_any_release().with_passes(bound).with_passes(self.defaults)

    def _add(self, manager: Any, request: PassRequest) -> None:
        fitting = self._fitting(request)
        # What a binding sets by itself need not be the pass's default, which only the text leaves alone.
        is_exact = len(fitting) == 1 and set(fitting[0].fixed) <= set(request.given)
        if fitting and (is_exact or (self.textual.refusal and len(fitting) == 1)):
            binding = fitting[0]
            binding.add(manager, *(binding.arguments(request.given) or ()))
            return
        if self.textual.refusal:
            raise UnsupportedFlag(self._why_not(request))
        if complaint := self.textual.add(manager, request.text):
            raise UnsupportedFlag(self._unknown(request, complaint))

    def _fitting(self, request: PassRequest) -> list[PassBinding]:
        """The bindings that can say what is asked for; more than one say different things besides."""
        bindings = self.bindings.get(request.flag, ())
        return [one for one in bindings if one.arguments(request.given) is not None]

    def _backends(self) -> Iterator[ModuleType]:
        modules = (value for value in vars(self.libtriton).values() if isinstance(value, ModuleType))
        return (one for one in modules if one is not self.libtriton.ir and hasattr(one, "load_dialects"))

    def _why_not(self, request: PassRequest) -> str:
        if request.pipeline:
            return f"unsupported: -pass-pipeline needs pipelines as text, which triton {self.release} does not export"
        known = self.bindings.get(request.flag)
        if not known:
            return f"unsupported: {request.flag} has no binding in triton {self.release}"
        if len(self._fitting(request)) > 1:
            names = " and ".join(one.name.removeprefix("libtriton.") for one in known)
            return (
                f"unsupported: {request.flag} is added by {names} in triton {self.release}, each with its own options"
            )
        options = ", ".join(known[0].options) or "no option"
        return f"unsupported: {request.flag} takes exactly {options} in triton {self.release}, not {request.options!r}"

    def _unknown(self, request: PassRequest, complaint: str) -> str:
        if "does not refer to a registered pass" not in complaint or request.pipeline:
            said = complaint.splitlines()[0]
            return f"unsupported: triton {self.release} cannot read the pipeline {request.text}: {said}"
        return self._why_not(request)


@cache
def installed_compiler() -> Compiler:
    """The wheel of this Python, imported when first asked for."""
    from triton._C import libtriton

    return Compiler.of(libtriton, metadata.version("triton"))
