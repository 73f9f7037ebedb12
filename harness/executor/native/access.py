"""Reads and writes of memory: of a launch's allocations, checked, and of scratch, which needs no checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from harness.executor.native.arithmetic import filled
from harness.executor.native.lanes import I1, I32, POINTER, Lane, number, spread


@dataclass(frozen=True)
class Place:
    """Where an access goes: an allocation's address and size in bytes (i64), and the block to leave to when a lane
    is out of bounds or misaligned."""

    address: Any
    size: Any
    stop: ir.Block


class Memory:
    """Accesses of one element type; masks are i1 lanes or None."""

    def __init__(self, type_: Any, itemsize: int, width: int) -> None:
        self.type, self.itemsize, self.width = type_, itemsize, width
        self.vector = ir.VectorType(type_, width)
        self.masks = ir.VectorType(I1, width)
        self.pointers = ir.VectorType(POINTER, width)

    def _intrinsic(self, module: ir.Module, name: str, result: Any, arguments: list[Any]) -> ir.Function:
        bits = self.type.intrinsic_name
        pointers = f"v{self.width}p0" if name in ("gather", "scatter") else "p0"
        full = f"llvm.masked.{name}.v{self.width}{bits}.{pointers}"
        if full in module.globals:
            return module.globals[full]
        return ir.Function(module, ir.FunctionType(result, arguments), full)

    # --- without checks ------------------------------------------------------------------------------------

    def read(self, builder: ir.IRBuilder, address: Lane, mask: Lane | None, other: Any) -> Any:
        """`other` (of the result's type) where the mask is false. A uniform address gives a scalar."""
        if address.is_uniform:
            return self._read_scalar(builder, address.value, mask, other)
        on = filled(self.masks, 1) if mask is None else spread(builder, mask, self.width)
        kept = filled(self.vector, 0) if other is None else other
        align = ir.Constant(I32, self.itemsize)
        if address.stride == self.itemsize:
            pointer = builder.inttoptr(address.value, POINTER)
            if mask is None:
                return builder.load(pointer, align=self.itemsize, typ=self.vector)
            call = self._intrinsic(builder.module, "load", self.vector, [POINTER, I32, self.masks, self.vector])
            return builder.call(call, [pointer, align, on, kept])
        places = builder.inttoptr(spread(builder, address, self.width), self.pointers)
        call = self._intrinsic(builder.module, "gather", self.vector, [self.pointers, I32, self.masks, self.vector])
        return builder.call(call, [places, align, on, kept])

    def _read_scalar(self, builder: ir.IRBuilder, address: Any, mask: Lane | None, other: Any) -> Any:
        if mask is None:
            return builder.load(builder.inttoptr(address, POINTER), align=self.itemsize, typ=self.type)
        assert mask.is_uniform
        before = builder.block
        kept = filled(self.type, 0) if other is None else other
        with builder.if_then(mask.value):
            loaded = builder.load(builder.inttoptr(address, POINTER), align=self.itemsize, typ=self.type)
            inside = builder.block
        result = builder.phi(self.type)
        result.add_incoming(kept, before)
        result.add_incoming(loaded, inside)
        return result

    def write(self, builder: ir.IRBuilder, address: Lane, value: Lane, mask: Lane | None) -> None:
        """Lanes in order: where several go to one address, the last one wins."""
        if address.is_uniform and self.width == 1:
            self._write_scalar(builder, address.value, value.value, mask)
            return
        on = filled(self.masks, 1) if mask is None else spread(builder, mask, self.width)
        values = spread(builder, value, self.width)
        align = ir.Constant(I32, self.itemsize)
        void = ir.VoidType()
        if address.stride == self.itemsize:
            pointer = builder.inttoptr(address.value, POINTER)
            if mask is None:
                builder.store(values, pointer, align=self.itemsize)
                return
            call = self._intrinsic(builder.module, "store", void, [self.vector, POINTER, I32, self.masks])
            builder.call(call, [values, pointer, align, on])
            return
        places = builder.inttoptr(spread(builder, address, self.width), self.pointers)
        call = self._intrinsic(builder.module, "scatter", void, [self.vector, self.pointers, I32, self.masks])
        builder.call(call, [values, places, align, on])

    def _write_scalar(self, builder: ir.IRBuilder, address: Any, value: Any, mask: Lane | None) -> None:
        pointer = builder.inttoptr(address, POINTER)
        if mask is None:
            builder.store(value, pointer, align=self.itemsize)
            return
        with builder.if_then(mask.value):
            builder.store(value, pointer, align=self.itemsize)

    # --- checks --------------------------------------------------------------------------------------------

    def checked(self, builder: ir.IRBuilder, offset: Lane, mask: Lane | None, place: Place) -> Lane:
        """The absolute address of byte offsets that are in bounds wherever the mask is true; leaves to `place.stop`
        where they are not."""
        if offset.is_vector:
            self._leave(builder, self._any(builder, self._bad(builder, offset, place), mask), place)
        else:
            self._check_run(builder, offset, mask, place)
        base = place.address if not offset.is_vector else spread(builder, Lane(place.address, 0, 0), self.width)
        return Lane(builder.add(offset.value, base), offset.stride, offset.depth)

    def _check_run(self, builder: ir.IRBuilder, offset: Lane, mask: Lane | None, place: Place) -> None:
        """Lanes at even distances: the first and last one tell, and only if they do not, each one is looked at."""
        assert offset.stride is not None
        reach = offset.stride * (self.width - 1)
        first = offset.value if reach >= 0 else builder.add(offset.value, number(reach))
        last = builder.sub(place.size, number(abs(reach) + self.itemsize))
        bad = builder.or_(builder.icmp_signed("<", first, number(0)), builder.icmp_signed(">", first, last))
        bad = builder.or_(bad, self._crooked(builder, builder.add(first, place.address)))
        if offset.stride % self.itemsize:
            bad = ir.Constant(I1, 1)
        if mask is None:
            self._leave(builder, bad, place)
            return
        with builder.if_then(bad, likely=False):
            each = self._bad(builder, offset, place)
            self._leave(builder, self._any(builder, each, mask), place)

    def _bad(self, builder: ir.IRBuilder, offset: Lane, place: Place) -> Any:
        """Lane by lane (a scalar for a uniform offset): out of bounds or misaligned."""
        offsets = offset.value if offset.is_uniform else spread(builder, offset, self.width)
        limit, base = builder.sub(place.size, number(self.itemsize)), place.address
        if not offset.is_uniform:
            limit, base = (spread(builder, Lane(value, 0, 0), self.width) for value in (limit, base))
        below = builder.icmp_signed("<", offsets, filled(offsets.type, 0))
        above = builder.icmp_signed(">", offsets, limit)
        return builder.or_(builder.or_(below, above), self._crooked(builder, builder.add(offsets, base)))

    def _crooked(self, builder: ir.IRBuilder, addresses: Any) -> Any:
        rest: Any = builder.and_(addresses, filled(addresses.type, self.itemsize - 1))
        return builder.icmp_signed("!=", rest, filled(rest.type, 0))

    def _any(self, builder: ir.IRBuilder, bits: Any, mask: Lane | None) -> Any:
        if not isinstance(bits.type, ir.VectorType):
            if mask is None:
                return bits
            on = mask.value if mask.is_uniform else any_of(builder, mask.value)
            return builder.and_(bits, on)
        masked: Any = bits if mask is None else builder.and_(bits, spread(builder, mask, self.width))
        return any_of(builder, masked)

    def _leave(self, builder: ir.IRBuilder, condition: Any, place: Place) -> None:
        onwards = builder.function.append_basic_block("inside")
        builder.cbranch(condition, place.stop, onwards)
        builder.position_at_end(onwards)


def any_of(builder: ir.IRBuilder, bits: Any) -> Any:
    """Whether any element of a vector of i1 is set."""
    packed: Any = builder.bitcast(bits, ir.IntType(bits.type.count))
    return builder.icmp_unsigned("!=", packed, ir.Constant(packed.type, 0))
