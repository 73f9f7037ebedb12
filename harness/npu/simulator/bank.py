"""The scratchpads of a batch of programs, and the views that instructions see of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from harness.npu.simulator.layout import Layout, View
from harness.semantics.types import Array


class Views(dict[int, Array]):
    """NumPy views by number, made when first asked for."""

    __slots__ = ("_bank", "_specs")

    def __init__(self, bank: Bank, specs: Sequence[View]) -> None:
        super().__init__()
        self._bank, self._specs = bank, specs

    def __missing__(self, number: int) -> Array:
        view = self._bank.view(self._specs[number])
        self[number] = view
        return view


class Store:
    """Arrays (programs, bytes), one for each part of the layout."""

    def __init__(self, layout: Layout, specs: Sequence[View], programs: int) -> None:
        self.layout, self.specs = layout, specs
        self.buffers = [np.empty((programs, size), np.uint8) for size in layout.row_bytes]
        self._banks: dict[tuple[int, int, int], Bank] = {}

    def bank(self, start: int, step: int, count: int) -> Bank:
        """The bank of evenly spaced rows; the same object every time."""
        key = start, step, count
        bank = self._banks.get(key)
        if bank is None:
            bank = self._banks[key] = Bank(self, start, step, count)
        return bank


class Bank:
    """Rows start, start + step, ... of a store, one for each of `programs` programs.

    `home`: where the rows were copied from, which is where they go back to (see `merged`).
    """

    def __init__(self, store: Store, start: int, step: int, programs: int) -> None:
        self.store = store
        self.programs = programs
        self._start, self._step = start, step
        self.views = Views(self, store.specs)
        self.home: tuple[Store, Array] | None = None

    def view(self, spec: View) -> Array:
        """(programs, *shape)."""
        size = self.store.layout.row_bytes[spec.part]
        return np.ndarray(
            (self.programs, *spec.shape),
            spec.dtype,
            buffer=self.store.buffers[spec.part].data,
            offset=self._start * size + spec.offset,
            strides=(self._step * size, *spec.strides),
        )

    def rows(self, part: int) -> Array:
        """(programs, bytes) of a part."""
        stop = self._start + self._step * (self.programs - 1) + 1
        return self.store.buffers[part][self._start : stop : self._step]

    @property
    def numbers(self) -> Array:
        """The rows of the store."""
        return np.arange(self.programs, dtype=np.int64) * self._step + self._start

    def subset(self, chosen: Array, live: Collection[int]) -> Bank:
        """The bank of the programs at these positions: a view of evenly spaced ones, else a copy of the parts
        that are still wanted."""
        even = _even(self.numbers[chosen])
        if even is not None and self.home is None:
            return self.store.bank(*even)
        store = Store(self.store.layout, self.store.specs, chosen.size)
        for part in live:
            np.take(self.rows(part), chosen, axis=0, out=store.buffers[part])
        bank = store.bank(0, 1, chosen.size)
        home, numbers = self.home or (self.store, self.numbers)
        bank.home = home, numbers[chosen]
        return bank

    @classmethod
    def merged(cls, banks: Sequence[Bank], order: Array, live: Collection[int]) -> Bank:
        """One bank of all programs: those of the first bank, then of the second, ..., taken in `order`."""
        homes = [bank.home or (bank.store, bank.numbers) for bank in banks]
        home = homes[0][0]
        if all(store is home for store, _ in homes):
            even = _even(np.concatenate([numbers for _, numbers in homes])[order])
            if even is not None:
                for bank, (_, numbers) in zip(banks, homes, strict=True):
                    bank._return(home, numbers, live)
                return home.bank(*even)
        store = Store(home.layout, home.specs, order.size)
        for part in live:
            np.take(np.concatenate([bank.rows(part) for bank in banks]), order, axis=0, out=store.buffers[part])
        merged = store.bank(0, 1, order.size)
        if all(other is home for other, _ in homes):
            merged.home = home, np.concatenate([numbers for _, numbers in homes])[order]
        return merged

    def _return(self, home: Store, numbers: Array, live: Collection[int]) -> None:
        if self.home is None:
            return
        for part in live:
            home.buffers[part][numbers] = self.rows(part)


def _even(numbers: Array) -> tuple[int, int, int] | None:
    """(start, step, count) of rising numbers, evenly spaced; else None."""
    if numbers.size == 1:
        return int(numbers[0]), 1, 1
    step = int(numbers[1] - numbers[0])
    if step <= 0 or (np.diff(numbers) != step).any():
        return None
    return int(numbers[0]), step, int(numbers.size)
