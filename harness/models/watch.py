"""What the generated code calls at run time, and the watch over one run that these calls reach.

The functions are imported by generated code under their full names (see `harness.models.capture`); outside a run that
somebody watches they do nothing, so that compiled code may outlive its watch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Watch(Protocol):
    """Hears what happens in a compiled graph, in order. Variables are tensors, or numbers of a graph for any size."""

    def begin(self, graph: int, inputs: Mapping[str, Any]) -> None: ...
    def before(self, graph: int, kernel: int, reads: Mapping[str, Any]) -> None: ...
    def fresh(self, buffers: Mapping[str, Any]) -> None: ...
    def after(self, graph: int, kernel: int, outputs: Mapping[str, Any]) -> None: ...
    def free(self, graph: int, buffers: Mapping[str, Any]) -> None: ...


_watch: ContextVar[Watch | None] = ContextVar("harness_models_watch", default=None)


@contextmanager
def use_watch(watch: Watch) -> Iterator[None]:
    """Compiled graphs that run inside the block tell `watch`."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def harness_begin(graph: int, inputs: Mapping[str, Any]) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.begin(graph, inputs)


def harness_before(graph: int, kernel: int, reads: Mapping[str, Any]) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.before(graph, kernel, reads)


def harness_fresh(buffers: Mapping[str, Any]) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.fresh(buffers)


def harness_after(graph: int, kernel: int, outputs: Mapping[str, Any]) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.after(graph, kernel, outputs)


def harness_free(graph: int, buffers: Mapping[str, Any]) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.free(graph, buffers)
