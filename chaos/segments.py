"""A segment as it lies on the disk: where its record batches and records begin, and whether their checksums hold. Pure.

Kafka's format of today (magic 2), uncompressed, is all that a trial's own records need.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kernel.errors import UsageError

HEADER = struct.Struct(">qiibIhiqqqhii")  # base offset … number of records
MAGIC = 2
OVERHEAD = 12  # base offset and length stand before what the length counts
CHECKED_FROM = 21  # the checksum is of everything after itself


class Batch(NamedTuple):
    position: int
    length: int
    base_offset: int
    last_offset: int


class Record(NamedTuple):
    offset: int
    position: int  # of its value
    length: int


def batches(data: bytes) -> Iterator[Batch]:
    """Every batch that is there in full; what is cut off at the end is none."""
    position = 0
    while position + HEADER.size <= len(data):
        base, size, _, magic, _, _, last_delta, *_ = HEADER.unpack_from(data, position)
        length = OVERHEAD + size
        if length < HEADER.size or position + length > len(data):
            return
        if magic != MAGIC:
            raise UsageError(f"the batch at byte {position} has magic {magic}, not {MAGIC}: this is no segment of Kafka's.")
        yield Batch(position, length, base, base + last_delta)
        position += length


def batch_with(data: bytes, offset: int) -> Batch | None:
    return next((batch for batch in batches(data) if batch.base_offset <= offset <= batch.last_offset), None)


def end_offset(data: bytes) -> int | None:
    """The offset after the last record, None if there is none."""
    last = None
    for batch in batches(data):
        last = batch.last_offset + 1
    return last


def cut_before(data: bytes, offset: int) -> int:
    """Where to cut so that no record from this offset on is left. A batch that has it and earlier ones goes as a whole."""
    return next((batch.position for batch in batches(data) if batch.last_offset >= offset), len(data))


def records(data: bytes, batch: Batch) -> Iterator[Record]:
    """The records of a batch, by where their values lie."""
    at, end = batch.position + HEADER.size, batch.position + batch.length
    while at < end:
        size, at = _varint(data, at)
        after = at + size
        _, at = _varint(data, at + 1)  # after its attributes: its timestamp
        delta, at = _varint(data, at)
        key, at = _varint(data, at)
        value, at = _varint(data, at + max(0, key))
        yield Record(batch.base_offset + delta, at, max(0, value))
        at = after


def broken(data: bytes) -> list[Batch]:
    """The batches whose checksum does not hold."""
    return [batch for batch in batches(data) if not _holds(data, batch)]


def corrupted(data: bytes, offset: int) -> bytes:
    """One bit of the first byte of that record's value turned over: a digit 0 becomes an 8, and everything looks well."""
    batch = batch_with(data, offset)
    found = [record for record in records(data, batch) if record.offset == offset] if batch else []
    if not found:
        raise ValueError(f"offset {offset} is not in this segment")
    harmed = bytearray(data)
    harmed[found[0].position] ^= 0x08
    return bytes(harmed)


def cut(data: bytes, offset: int) -> bytes:
    """Everything from the middle of the batch with that offset on is gone."""
    batch = batch_with(data, offset)
    if batch is None:
        raise ValueError(f"offset {offset} is not in this segment")
    return data[: batch.position + batch.length // 2]


def _holds(data: bytes, batch: Batch) -> bool:
    (said,) = struct.unpack_from(">I", data, batch.position + CHECKED_FROM - 4)
    return bool(crc32c(data[batch.position + CHECKED_FROM : batch.position + batch.length]) == said)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where the next thing begins."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at


def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_CRC32C = _table()


def crc32c(data: bytes) -> int:
    """Castagnoli's, as Kafka uses it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
