"""Bytes of a program: whole numbers in groups of seven bits, texts, tables, each checked against its range."""

from __future__ import annotations

from harness.errors import DamagedProgram, HarnessError


class DoesNotFit(HarnessError):
    """A value that its field of the binary cannot hold."""


class Writer:
    """Appends fields to `data`."""

    def __init__(self) -> None:
        self.data = bytearray()

    def whole(self, value: int, limit: int, what: str) -> None:
        """0 <= value < limit. Raises DoesNotFit, naming the field."""
        if not 0 <= value < limit:
            raise DoesNotFit(f"{what} {value} does not fit its field, which ends at {limit - 1}")
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def signed(self, value: int, bits: int, what: str) -> None:
        """-2**(bits-1) <= value < 2**(bits-1), zigzag. Raises DoesNotFit."""
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise DoesNotFit(f"{what} {value} does not fit its field of {bits} bits")
        self.whole(value << 1 if value >= 0 else (~value << 1) | 1, 1 << bits, what)

    def raw(self, data: bytes, limit: int, what: str) -> None:
        self.whole(len(data), limit, f"length of {what}")
        self.data += data


class Reader:
    """Takes fields off `data`. Raises DamagedProgram where they are cut off or out of range."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def whole(self, limit: int) -> int:
        value, shift, data, at = 0, 0, self._data, self._at
        while True:
            if at >= len(data) or shift > 70:
                raise DamagedProgram("the machine program is cut off")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self._at = at
        if value >= limit:
            raise DamagedProgram(f"the machine program holds {value} in a field that ends at {limit - 1}")
        return value

    def signed(self, bits: int) -> int:
        value = self.whole(1 << bits)
        return value >> 1 if not value & 1 else ~(value >> 1)

    def raw(self, limit: int) -> bytes:
        length = self.whole(limit)
        if self._at + length > len(self._data):
            raise DamagedProgram("the machine program is cut off")
        self._at += length
        return self._data[self._at - length : self._at]
