"""Kafka's own forms, written: what a coordinator puts into `__consumer_offsets`, for tests that read it."""

import struct
from collections.abc import Mapping, Sequence

ID = bytes(range(16))


def i16(value: int) -> bytes:
    return struct.pack(">h", value)


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    return struct.pack(">q", value)


def uvarint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def string(text: str | bytes | None) -> bytes:
    if text is None:
        return i16(-1)
    data = text.encode() if isinstance(text, str) else text
    return i16(len(data)) + data


def compact(text: str | bytes | None) -> bytes:
    if text is None:
        return b"\0"
    data = text.encode() if isinstance(text, str) else text
    return uvarint(len(data) + 1) + data


def sized(data: bytes) -> bytes:
    return i32(len(data)) + data


def tagged(fields: Sequence[tuple[int, bytes]] = ()) -> bytes:
    return uvarint(len(fields)) + b"".join(uvarint(tag) + uvarint(len(data)) + data for tag, data in fields)


def commit_key(group: str, topic: str = "orders", partition: int = 0, version: int = 1) -> bytes:
    return i16(version) + string(group) + string(topic) + i32(partition)


def group_key(version: int, group: str, member: str | None = None) -> bytes:
    return i16(version) + string(group) + (string(member) if member is not None else b"")


def commit_value(
    offset: int,
    when: int,
    *,
    version: int = 3,
    metadata: str | bytes = b"",
    tags: Sequence[tuple[int, bytes]] = (),
) -> bytes:
    found = i16(version) + i64(offset) + (i32(7) if version >= 3 else b"")
    found += (compact if version == 4 else string)(metadata) + i64(when)
    return found + (i64(when + 1) if version == 1 else b"") + (tagged(tags) if version == 4 else b"")


def classic_value(members: Mapping[str, tuple[str, str, bytes]], version: int = 3) -> bytes:
    """By member: client id, host, assignment."""
    flexible = version == 4
    text, data = (compact, compact) if flexible else (string, sized)
    found = i16(version) + text("consumer") + i32(5) + text("range") + text(next(iter(members), None))
    found += i64(1_700_000_000_000) if version >= 2 else b""
    found += uvarint(len(members) + 1) if flexible else i32(len(members))
    for member, (client_id, host, assignment) in members.items():
        found += text(member) + (text(None) if version >= 3 else b"") + text(client_id) + text(host)
        found += (i32(300_000) if version >= 1 else b"") + i32(45_000) + data(b"subscription") + data(assignment)
        found += tagged() if flexible else b""
    return found + (tagged() if flexible else b"")


def assignment(partitions: Mapping[str, Sequence[int]]) -> bytes:
    topics = b"".join(
        string(topic) + i32(len(numbers)) + b"".join(map(i32, numbers)) for topic, numbers in partitions.items()
    )
    return i16(1) + i32(len(partitions)) + topics + sized(b"user data")


def consumer_member_value(client_id: str, host: str, instance: str | None = None) -> bytes:
    found = i16(0) + compact(instance) + compact("rack-1") + compact(client_id) + compact(host)
    return found + uvarint(2) + compact("orders") + compact(None) + i32(300_000) + compact("uniform") + tagged()


def consumer_assignment_value(partitions: Mapping[bytes, Sequence[int]]) -> bytes:
    topics = b"".join(
        topic_id + uvarint(len(numbers) + 1) + b"".join(map(i32, numbers)) + tagged()
        for topic_id, numbers in partitions.items()
    )
    return i16(0) + i32(3) + i32(2) + b"\1" + uvarint(len(partitions) + 1) + topics + uvarint(1) + tagged()
