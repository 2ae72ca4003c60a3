"""The values of commits: one by one as the reference, and thousands at once in numpy, which must agree.

version   0, 1, 2                3                       4
          offset i64             offset i64              offset i64
                                 leader epoch i32        leader epoch i32
          metadata string16      metadata string16       metadata compact string
          commit time i64        commit time i64         commit time i64
          (1: expiry i64)                                tagged fields; tag 0 is the topic's id
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lag_monitor.offsets_topic.reading import Malformed, Reader

I64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
TOPIC_ID = 0
ID_SIZE = 16
_PLAIN_ID = (1, TOPIC_ID, ID_SIZE)  # how the tagged fields begin if there is the topic's id and nothing else


@dataclass(frozen=True, slots=True)
class CommitValue:
    offset: int
    timestamp: int  # milliseconds
    topic_id: bytes = b""  # 16 bytes; empty if it is not told


@dataclass(frozen=True, slots=True)
class Commits:
    """One entry for each value that was given; those that are not `good` hold nothing of worth."""

    good: npt.NDArray[np.bool_]
    offset: I64
    timestamp: I64
    topic_print: I64  # what tells a topic's id from another's; 0 if it is not told


def decode_value(data: bytes) -> CommitValue:
    reader = Reader(data)
    version = reader.i16()
    if not 0 <= version <= 4:
        raise Malformed(f"value version {version}")
    offset = reader.i64()
    if version >= 3:
        reader.i32()
    reader.raw(reader.uvarint() - 1 if version == 4 else reader.i16())  # metadata is the client's own, whatever it is
    timestamp = reader.i64()
    if version == 1:
        reader.i64()
    topic_id = reader.tagged().get(TOPIC_ID, b"") if version == 4 else b""
    if offset < 0 or timestamp < 0:
        raise Malformed("an offset or a time below zero")
    if topic_id and len(topic_id) != ID_SIZE:
        raise Malformed("a topic id that is none")
    return CommitValue(offset, timestamp, topic_id)


def print_of(topic_id: bytes) -> int:
    """A number for a topic's id, never 0. Ids are random, so one half of their bits mixed with the other will do."""
    if not topic_id:
        return 0
    high, low = (int.from_bytes(topic_id[at : at + 8], "big", signed=True) for at in (0, 8))
    return (high ^ low) or 1


def decode_values(values: Sequence[bytes]) -> Commits:
    """The usual forms all at once; the unusual ones (metadata of 127 bytes and more, other tagged fields) singly."""
    count = len(values)
    data = np.frombuffer(b"".join(values) + bytes(64), dtype=np.uint8)  # padded, so that a look beyond the end is harmless
    sizes = np.fromiter(map(len, values), dtype=np.int64, count=count)
    starts = np.cumsum(sizes) - sizes
    version = _i16(data, starts)
    version[sizes < 2] = -1
    offset = _i64(data, starts + 2)
    # Where the length of the metadata stands, and how many bytes it takes.
    place = starts + np.where(version >= 3, 14, 10)
    compact = version == 4
    first = data[np.minimum(place, len(data) - 1)].astype(np.int64)
    length = np.where(compact, first - 1, _i16(data, place))
    after = place + np.where(compact, 1, 2) + length
    clear = np.minimum(np.maximum(after, 0), len(data) - 40)
    timestamp = _i64(data, clear)
    beyond = clear + 8
    tags = compact & (data[beyond] != 0)
    plain_id = tags & (data[beyond] == 1) & (data[beyond + 1] == TOPIC_ID) & (data[beyond + 2] == ID_SIZE)
    needed = beyond + np.where(compact, 1, 0) + np.where(plain_id, 2 + ID_SIZE, 0) + np.where(version == 1, 8, 0)
    prints = np.where(plain_id, _i64(data, beyond + 3) ^ _i64(data, beyond + 11), 0)
    prints[plain_id & (prints == 0)] = 1
    short = (length >= 0) & ~(compact & (first >= 0x80))  # a longer length takes more than one byte
    usual = (version >= 0) & (version <= 4) & short & (needed - starts <= sizes) & (~tags | plain_id)
    good = usual & (offset >= 0) & (timestamp >= 0)
    for place_of in np.nonzero(~usual)[0].tolist():
        try:
            one = decode_value(values[place_of])
        except Malformed:
            continue
        good[place_of] = True
        offset[place_of], timestamp[place_of], prints[place_of] = one.offset, one.timestamp, print_of(one.topic_id)
    return Commits(good, offset, timestamp, prints)


def _i64(data: Bytes, at: I64) -> I64:
    inside = np.minimum(at, len(data) - 8)
    return data[inside[:, None] + _EIGHT].view(">i8").ravel().astype(np.int64)


def _i16(data: Bytes, at: I64) -> I64:
    inside = np.minimum(at, len(data) - 2)
    return data[inside[:, None] + _TWO].view(">i2").ravel().astype(np.int64)


_EIGHT, _TWO = np.arange(8), np.arange(2)
