"""The keys of `__consumer_offsets`: what a record is about. Version 0 and 1: a commit; 2 and on: a group, by its kind."""

from dataclasses import dataclass

from lag_monitor.offsets_topic.reading import Malformed, Reader


@dataclass(frozen=True, slots=True)
class CommitKey:
    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class GroupKey:
    version: int
    group: str
    member: str = ""  # or, in the one of a subscription by pattern, the pattern


CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
GROUP, CONSUMER_MEMBER, CONSUMER_ASSIGNMENT, STREAMS_MEMBER, SHARE_MEMBER = 2, 5, 8, 19, 10
# Kinds of groups by the versions that are theirs. 9 and 18 were in use before those kinds were released.
KINDS = {
    GROUP: CLASSIC,
    **dict.fromkeys((3, 4, CONSUMER_MEMBER, 6, 7, CONSUMER_ASSIGNMENT, 16), CONSUMER),
    **dict.fromkeys((9, SHARE_MEMBER, 11, 12, 13, 14, 15), SHARE),
    **dict.fromkeys((17, 18, STREAMS_MEMBER, 20, 21, 22, 23), STREAMS),
}
HAVE_MEMBER = {CONSUMER_MEMBER, 7, CONSUMER_ASSIGNMENT, SHARE_MEMBER, 13, 14, 16, STREAMS_MEMBER, 21, 22}
WHOLE_GROUP = {GROUP, 3, 11, 17}  # without a value: the group itself is gone
COMMIT_KEYS = (0, 1)


def decode_key(data: bytes) -> CommitKey | GroupKey:
    """Malformed if it is none of Kafka's. Versions yet to come are Malformed too: what they mean cannot be guessed."""
    reader = Reader(data)
    version = reader.i16()
    if version in COMMIT_KEYS:
        key = CommitKey(reader.string(), reader.string(), reader.i32())
        if not key.topic or key.partition < 0:
            raise Malformed("a commit for no partition")
        return key
    if version not in KINDS:
        raise Malformed(f"key version {version}")
    group = reader.string()
    return GroupKey(version, group, reader.string() if version in HAVE_MEMBER else "")
