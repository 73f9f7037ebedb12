"""The keywords of Triton's enum attributes and the integers they stand for.

The IR stores an enum as the integer its generic syntax prints (an `IntegerAttr` of type i32), so that an op
read from generic and from custom syntax is the same op; the custom syntax prints the keyword.
Source: the enum definitions of Triton's dialect, equal in releases 3.6 to 3.9 where a keyword exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Enum:
    """One enum: its name in messages, and {keyword: integer}."""

    name: str
    values: Mapping[str, int]

    @cached_property
    def keywords(self) -> Mapping[int, str]:
        return {value: keyword for keyword, value in self.values.items()}


def _counted(name: str, first: int, keywords: str) -> Enum:
    return Enum(name, {keyword: first + index for index, keyword in enumerate(keywords.split())})


CACHE_MODIFIER = _counted("cache modifier", 1, "none ca cg wb cs wt cv")
EVICTION_POLICY = _counted("eviction policy", 1, "evict_normal evict_first evict_last")
PADDING_OPTION = _counted("padding option", 1, "zero nan")
MEMORY_SEMANTIC = _counted("memory semantic", 1, "relaxed acquire release acq_rel")
MEMORY_SCOPE = _counted("memory scope", 1, "gpu cta sys")
ATOMIC_OPERATION = _counted("atomic operation", 1, "and or xor add fadd max min umax umin exch")
DESCRIPTOR_REDUCTION = _counted("descriptor reduction", 1, "add min max inc dec and or xor")
PROGRAM_AXIS = _counted("program axis", 0, "x y z")
ROUNDING_MODE = _counted("rounding mode", 0, "rtz rtne rs")
PROPAGATE_NAN = Enum("NaN propagation", {"none": 0, "all": 0xFFFF})
INPUT_PRECISION = _counted("input precision", 0, "tf32 tf32x3 ieee bf16x3 bf16x6")
SCALED_ELEMENT = _counted("scaled element type", 0, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16")

ADDRESS_SPACE = Enum(
    "address space",
    {"none": 0, "local": 1, "global_read": 2, "global_write": 4, "tensor_read": 8, "tensor_write": 16, "all": 31},
)

_CMPI = "eq ne slt sle sgt sge ult ule ugt uge"
_CMPF = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"
INTEGER_PREDICATE = _counted("integer predicate", 0, _CMPI)
FLOAT_PREDICATE = _counted("float predicate", 0, _CMPF)
