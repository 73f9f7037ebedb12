"""How a buffer is filled before the launch. A fill is a small value: it prints, hashes and is seeded
by the case, so that the same node id always sees the same data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.cases.dtypes import DType

if TYPE_CHECKING:
    import torch


class Fill:
    """Makes the elements of one buffer: a contiguous torch tensor of `shape` and `dtype`."""

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Poison(Fill):
    """What an output holds before the kernel writes it; see `DType.poison`."""

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        bits, integer = 8 * dtype.itemsize, _integer_of_width(dtype.itemsize)
        signed = dtype.poison - (1 << bits if integer.is_signed and dtype.poison >> (bits - 1) else 0)
        return torch.full(shape, signed, dtype=integer).view(dtype.torch)


@dataclass(frozen=True)
class Normal(Fill):
    """Normal floats; integers get uniform values in [-8, 8] (or [0, 16]), bools a fair coin."""

    scale: float = 1.0
    mean: float = 0.0

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        if not dtype.is_float:
            return _default_integers(dtype).make(shape, dtype, generator)
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (values * self.scale + self.mean).to(dtype.torch)


@dataclass(frozen=True)
class Uniform(Fill):
    """Floats uniform in [low, high)."""

    low: float = 0.0
    high: float = 1.0

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        values = torch.rand(shape, generator=generator, dtype=torch.float64)
        return (values * (self.high - self.low) + self.low).to(dtype.torch)


@dataclass(frozen=True)
class Integers(Fill):
    """Whole numbers uniform in [low, high), in any dtype."""

    low: int = -8
    high: int = 9

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        values = torch.randint(self.low, self.high, shape, generator=generator, dtype=torch.int64)
        return values.to(dtype.torch)


@dataclass(frozen=True)
class Constant(Fill):
    """The same value everywhere."""

    value: float | int | bool = 0

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        return torch.full(shape, self.value, dtype=torch.float64 if dtype.is_float else torch.int64).to(dtype.torch)


@dataclass(frozen=True)
class Arange(Fill):
    """start, start + step, ... in row-major order."""

    start: int = 0
    step: int = 1

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        count = _numel(shape)
        return (torch.arange(count, dtype=torch.int64) * self.step + self.start).reshape(shape).to(dtype.torch)


@dataclass(frozen=True)
class Permutation(Fill):
    """Each of 0 .. numel-1 once, shuffled."""

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        return torch.randperm(_numel(shape), generator=generator).reshape(shape).to(dtype.torch)


@dataclass(frozen=True)
class Values(Fill):
    """These values, in row-major order, repeated until the buffer is full."""

    values: tuple[float | int | bool, ...]

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        wide = torch.tensor(self.values, dtype=torch.float64 if dtype.is_float else torch.int64)
        count = _numel(shape)
        repeats = -(-count // max(1, wide.numel()))
        return wide.repeat(repeats)[:count].reshape(shape).to(dtype.torch)


@dataclass(frozen=True)
class Special(Fill):
    """The dtype's awkward values among normal ones, about one in four: NaN, infinities, -0.0,
    denormals and extremes for floats; extremes, 0, 1 and -1 for integers."""

    nan: bool = True
    infinite: bool = True

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        plain = Normal().make(shape, dtype, generator)
        if dtype.torch == torch.bool:
            return plain
        special = torch.tensor(self._specials(dtype), dtype=torch.float64 if dtype.is_float else torch.int64)
        pick = torch.randint(0, 4 * len(special), shape, generator=generator)
        chosen = special[pick % len(special)].to(dtype.torch)
        # fp8 has no torch.where: choose among bytes of one width.
        width = _integer_of_width(dtype.itemsize)
        mixed = torch.where(pick < len(special), chosen.view(width), plain.view(width))
        return mixed.view(dtype.torch)

    def _specials(self, dtype: DType) -> list[float] | list[int]:
        import torch

        if not dtype.is_float:
            limits = torch.iinfo(dtype.torch)
            low = max(limits.min, -(2**63))
            high = min(limits.max, 2**63 - 1)
            return [low, high, 0, 1, -1 if low < 0 else high]
        limits = torch.finfo(dtype.torch)
        values = [0.0, -0.0, limits.max, limits.min, limits.tiny, -limits.tiny, limits.smallest_normal / 2, 1.0, -1.0]
        if self.nan:
            values.append(float("nan"))
        if self.infinite:
            values += [float("inf"), float("-inf")]
        return values


@dataclass(frozen=True)
class Pointers(Fill):
    """Addresses of other buffers of the same case, by name: a pointer table (dtype int64)."""

    names: tuple[str, ...]

    def make(self, shape: tuple[int, ...], dtype: DType, generator: torch.Generator) -> torch.Tensor:
        import torch

        # The addresses are known only once every buffer is allocated; see `allocate.allocate`.
        return torch.zeros(shape, dtype=dtype.torch)


def _default_integers(dtype: DType) -> Integers:
    if dtype.torch_name == "bool":
        return Integers(0, 2)
    return Integers(0, 17) if dtype.torch_name.startswith("u") else Integers()


def _integer_of_width(itemsize: int) -> torch.dtype:
    import torch

    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[itemsize]


def _numel(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
