"""Reads Kafka's own wire forms from bytes that may be anything. What does not fit is `Malformed`, never a crash."""

import struct
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_I16, _I32, _I64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


class Malformed(ValueError):
    """Not what Kafka writes."""


class Reader:
    """Goes through one record's bytes from front to back."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def i16(self) -> int:
        return self._number(_I16)

    def i32(self) -> int:
        return self._number(_I32)

    def i64(self) -> int:
        return self._number(_I64)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise Malformed("a length that does not end")

    def raw(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise Malformed("ends too early")
        found = self._data[self._at : end]
        self._at = end
        return found

    def string(self) -> str:
        """With a length of 16 bits, as keys and old values have it."""
        return _text(self.raw(self.i16()))

    def nullable_string(self) -> str | None:
        size = self.i16()
        return None if size == -1 else _text(self.raw(size))

    def compact_string(self) -> str:
        return _text(self.raw(self.uvarint() - 1))

    def compact_nullable_string(self) -> str | None:
        size = self.uvarint()
        return None if size == 0 else _text(self.raw(size - 1))

    def sized_bytes(self) -> bytes:
        """With a length of 32 bits; −1 for none."""
        size = self.i32()
        return b"" if size == -1 else self.raw(size)

    def compact_bytes(self) -> bytes:
        return self.raw(self.uvarint() - 1)

    def array(self, item: Callable[[], T]) -> list[T]:
        return self._items(self.i32(), item)

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        return self._items(self.uvarint() - 1, item)

    def tagged(self) -> dict[int, bytes]:
        fields: dict[int, bytes] = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            fields[tag] = self.raw(self.uvarint())
        return fields

    def _items(self, count: int, item: Callable[[], T]) -> list[T]:
        # Each takes a byte at least, so a count from a broken record cannot make us build a list of millions.
        if count < -1 or count > len(self._data) - self._at:
            raise Malformed("more entries than there are bytes")
        return [item() for _ in range(max(0, count))]

    def _number(self, form: struct.Struct) -> int:
        number: int = form.unpack(self.raw(form.size))[0]
        return number


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("not UTF-8") from None
