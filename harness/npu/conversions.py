"""Conversions the front end asks a backend for: fp8e4b15, the one format MLIR has no type for.

NVIDIA's are inline PTX (`triton/language/extra/cuda/utils.py`); these are the same bit operations in
plain Triton ops, so that any executor of TTIR can run them.
"""

from __future__ import annotations

from typing import Any

LARGEST_E4B15 = 0x3F00  # 1.75, as float16 bits


def convert_fp8e4b15(value: Any, target_type: Any, fp_downcast_rounding: Any = None, _semantic: Any = None) -> Any:
    """`value` converted to `target_type`; one of the two is fp8e4b15. Called by the front end while it builds IR."""
    import triton.language as tl

    if value.type.scalar.is_fp8e4b15():
        return _to_half(value, _semantic).to(target_type.scalar, _semantic=_semantic)
    if value.type.scalar.is_bf16():
        value = value.to(tl.float32, _semantic=_semantic)
    if not value.type.scalar.is_fp16():
        value = value.to(tl.float16, fp_downcast_rounding="rtz", _semantic=_semantic)
    return _from_half(value, _semantic)


def _to_half(value: Any, semantic: Any) -> Any:
    """The exponent bias is float16's, so the seven bits below the sign move up by seven."""
    import triton.language as tl

    bits = value.to(tl.uint8, bitcast=True, _semantic=semantic).to(tl.uint16, _semantic=semantic)
    magnitude = bits.__and__(0x7F, _semantic=semantic).__lshift__(7, _semantic=semantic)
    sign = bits.__and__(0x80, _semantic=semantic).__lshift__(8, _semantic=semantic)
    return magnitude.__or__(sign, _semantic=semantic).to(tl.float16, bitcast=True, _semantic=semantic)


def _from_half(value: Any, semantic: Any) -> Any:
    """Saturates at 1.75 (NaN too) and rounds half away from zero."""
    import triton.language as tl

    bits = value.to(tl.uint16, bitcast=True, _semantic=semantic)
    largest = semantic.full([], LARGEST_E4B15, tl.uint16)
    magnitude = tl.minimum(bits.__and__(0x7FFF, _semantic=semantic), largest, _semantic=semantic)
    rounded = magnitude.__add__(0x40, _semantic=semantic).__rshift__(7, _semantic=semantic)
    sign = bits.__rshift__(8, _semantic=semantic).__and__(0x80, _semantic=semantic)
    byte = rounded.__or__(sign, _semantic=semantic).to(tl.uint8, _semantic=semantic)
    return byte.to(tl.float8e4b15, bitcast=True, _semantic=semantic)
