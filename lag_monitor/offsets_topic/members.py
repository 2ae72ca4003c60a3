"""Who is in a group and who has which partition, as `__consumer_offsets` tells it: in full for classic and for consumer
groups (KIP-848); of streams and share groups, that there are members.
"""

from dataclasses import dataclass, field

from lag_monitor.offsets_topic.keys import (
    CONSUMER_ASSIGNMENT,
    CONSUMER_MEMBER,
    GROUP,
    KINDS,
    SHARE_MEMBER,
    STREAMS_MEMBER,
    WHOLE_GROUP,
    GroupKey,
)
from lag_monitor.offsets_topic.reading import Malformed, Reader

Partitions = dict[str | bytes, list[int]]  # by the topic's name, or by its id where no name is told


@dataclass(slots=True)
class Member:
    client_id: str = ""
    host: str = ""
    partitions: Partitions = field(default_factory=dict)


@dataclass(slots=True)
class Membership:
    kind: str
    members: dict[str, Member] = field(default_factory=dict)


class Memberships:
    def __init__(self) -> None:
        self.groups: dict[str, Membership] = {}

    def take(self, key: GroupKey, value: bytes | None) -> bool:
        """One record. True if it says that the group itself is gone."""
        if value is None and key.version in WHOLE_GROUP:
            self.groups.pop(key.group, None)
            return True
        kind = KINDS[key.version]
        group = self.groups.get(key.group)
        if group is None or group.kind != kind:
            if value is None:
                return False
            group = self.groups[key.group] = Membership(kind)
        if key.version == GROUP and value is not None:
            group.members = classic_members(value)
        elif key.version in (CONSUMER_MEMBER, STREAMS_MEMBER, SHARE_MEMBER):
            self._member(group, key, value)
        elif key.version == CONSUMER_ASSIGNMENT:
            found = consumer_assignment(value) if value is not None else {}
            if key.member in group.members:
                group.members[key.member].partitions = found
            elif found:
                group.members[key.member] = Member(partitions=found)
        return False

    @staticmethod
    def _member(group: Membership, key: GroupKey, value: bytes | None) -> None:
        if value is None:
            group.members.pop(key.member, None)
            return
        known = group.members.setdefault(key.member, Member())
        if key.version == CONSUMER_MEMBER:
            known.client_id, known.host = consumer_member(value)


def classic_members(value: bytes) -> dict[str, Member]:
    """The value of a key of version 2."""
    reader = Reader(value)
    version = reader.i16()
    if not 0 <= version <= 4:
        raise Malformed(f"group value version {version}")
    flexible = version == 4
    text = reader.compact_string if flexible else reader.string
    nullable = reader.compact_nullable_string if flexible else reader.nullable_string
    text()  # protocol type
    reader.i32()
    nullable()
    nullable()
    if version >= 2:
        reader.i64()

    def member() -> tuple[str, Member]:
        name = text()
        if version >= 3:
            nullable()
        client_id, host = text(), text()
        if version >= 1:
            reader.i32()
        reader.i32()
        sized = reader.compact_bytes if flexible else reader.sized_bytes
        sized()
        assignment = sized()
        if flexible:
            reader.tagged()
        return name, Member(client_id, host, classic_assignment(assignment))

    return dict(reader.compact_array(member) if flexible else reader.array(member))


def classic_assignment(data: bytes) -> Partitions:
    """What a consumer was given. Other kinds of members (Connect's workers) have other forms, of which nothing is known."""
    try:
        reader = Reader(data)
        reader.i16()
        return dict(reader.array(lambda: (reader.string(), reader.array(reader.i32))))
    except Malformed:
        return {}


def consumer_member(value: bytes) -> tuple[str, str]:
    """Client id and host, from the value of a key of version 5."""
    reader = Reader(value)
    reader.i16()
    reader.compact_nullable_string()
    reader.compact_nullable_string()
    return reader.compact_string(), reader.compact_string()


def consumer_assignment(value: bytes) -> Partitions:
    """Partitions by the id of their topic, from the value of a key of version 8."""
    reader = Reader(value)
    reader.i16()
    reader.i32()
    reader.i32()
    reader.raw(1)

    def topic() -> tuple[bytes, list[int]]:
        found = reader.raw(16), reader.compact_array(reader.i32)
        reader.tagged()
        return found

    return dict(reader.compact_array(topic))
