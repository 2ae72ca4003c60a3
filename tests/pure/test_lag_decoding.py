"""Is what Kafka writes into `__consumer_offsets` read as it was meant, all at once as one by one, and is everything else
refused without harm?"""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lag_monitor.offsets_topic.keys import HAVE_MEMBER, KINDS, WHOLE_GROUP, CommitKey, GroupKey, decode_key
from lag_monitor.offsets_topic.members import Member, Memberships, classic_members, consumer_assignment, consumer_member
from lag_monitor.offsets_topic.reading import Malformed, Reader
from lag_monitor.offsets_topic.values import CommitValue, decode_value, decode_values, print_of
from tests.pure.lag_wire import (
    ID,
    assignment,
    classic_value,
    commit_key,
    commit_value,
    consumer_assignment_value,
    consumer_member_value,
    group_key,
    i16,
    i32,
    i64,
    string,
    tagged,
    uvarint,
)

WHEN = 1_700_000_000_000
METADATA = (b"", b"x", b"\xff\xfe\x00binary", b"m" * 125, b"m" * 126, b"m" * 127, b"m" * 128, b"\0" * 300, b"m" * 20_000)
TAGS = {
    "none": (),
    "topic id": ((0, ID),),
    "topic id of equal halves": ((0, b"\1" * 16),),
    "unknown": ((3, b"what"),),
    "unknown of sixteen bytes": ((1, ID),),
    "several": ((0, ID), (1, b""), (200, b"x" * 130)),
    "id last": ((5, b"abc"), (0, ID)),
}


def one_by_one(values: list[bytes]) -> list[CommitValue | None]:
    found: list[CommitValue | None] = []
    for value in values:
        try:
            found.append(decode_value(value))
        except Malformed:
            found.append(None)
    return found


def assert_alike(values: list[bytes]) -> None:
    """The columns hold what decoding one by one gives."""
    columns, singly = decode_values(values), one_by_one(values)

    assert columns.good.tolist() == [one is not None for one in singly]
    for at, one in enumerate(singly):
        if one is not None:
            told = (int(columns.offset[at]), int(columns.timestamp[at]), int(columns.topic_print[at]))
            assert told == (one.offset, one.timestamp, print_of(one.topic_id)), values[at].hex()


# ---- values of commits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("metadata", METADATA, ids=lambda data: f"{len(data)} bytes")
def test_every_version_of_a_value_is_read(version, metadata):
    value = commit_value(123, WHEN, version=version, metadata=metadata)

    assert decode_value(value) == CommitValue(123, WHEN)
    assert_alike([value])


@pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS.keys())
@pytest.mark.parametrize("metadata", [b"", b"m" * 126, b"m" * 127])
def test_the_topics_id_is_found_among_the_tagged_fields(tags, metadata):
    value = commit_value(123, WHEN, version=4, metadata=metadata, tags=tags)

    assert decode_value(value) == CommitValue(123, WHEN, dict(tags).get(0, b""))
    assert_alike([value, commit_value(1, 2, version=4)])


def test_a_long_metadata_of_version_4_does_not_spoil_the_time():
    """Burrow reads such a commit as made 248 million years from now, and never calls its group stopped."""
    commits = decode_values([commit_value(5, WHEN, version=4, metadata=b"m" * size) for size in range(120, 140)])

    assert commits.good.all()
    assert set(commits.timestamp.tolist()) == {WHEN}


def test_values_of_all_versions_and_shapes_are_read_together_as_one_by_one():
    chance = random.Random(4)
    values = [
        commit_value(chance.randrange(2**62), chance.randrange(2**62), version=version, metadata=metadata, tags=tags)
        for version in range(5)
        for metadata in METADATA
        for tags in (TAGS.values() if version == 4 else [()])
    ]
    chance.shuffle(values)

    assert decode_values(values).good.all()
    assert_alike(values)


@pytest.mark.parametrize("last", [0, 1, 2, 3, 4])
def test_a_value_cut_short_at_any_byte_is_refused_even_if_the_next_would_complete_it(last):
    whole = commit_value(5, WHEN, version=last, metadata=b"abc", tags=((0, ID),) if last == 4 else ())
    cut = [whole[:size] for size in range(len(whole))]

    assert decode_values([part for short in cut for part in (short, whole)]).good.tolist() == [False, True] * len(cut)
    assert_alike(cut)


@pytest.mark.parametrize(
    "value",
    [
        i16(5) + bytes(60),
        i16(-1) + bytes(60),
        commit_value(-1, WHEN),
        commit_value(5, -1),
        i16(3) + i64(5) + i32(0) + i16(-1) + i64(WHEN),
        i16(4) + i64(5) + i32(0) + b"\0" + i64(WHEN) + b"\0",
        i16(4) + i64(5) + i32(0) + b"\xff\xff\xff\xff\xff\xff" + bytes(40),
        commit_value(5, WHEN, version=4, tags=((0, b"short"),)),
        b"",
        b"\0",
    ],
    ids=[
        "a version to come",
        "no version",
        "offset below zero",
        "time below zero",
        "no metadata",
        "no metadata in version 4",
        "a length without end",
        "an id that is none",
        "nothing",
        "one byte",
    ],
)
def test_what_is_no_value_is_refused(value):
    with pytest.raises(Malformed):
        decode_value(value)
    assert decode_values([value, commit_value(1, WHEN)]).good.tolist() == [False, True]


def test_no_values_at_all_are_fine():
    assert decode_values([]).good.tolist() == []


@pytest.mark.slow
@given(st.lists(st.binary(max_size=80), max_size=20))
def test_any_bytes_are_judged_together_as_one_by_one(values):
    assert_alike(values)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.binary(max_size=60)), max_size=20))
def test_any_bytes_after_a_true_version_are_judged_together_as_one_by_one(values):
    assert_alike([i16(version) + rest for version, rest in values])


def mutated(data: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(4)
    if kind == 0:
        at = chance.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[: chance.randrange(len(data))]
    if kind == 2:
        return data + chance.randbytes(chance.randint(1, 20))
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.randint(1, 4)) + data[at + 1 :]


def test_thousands_of_damaged_values_are_judged_together_as_one_by_one():
    chance = random.Random(11)
    sound = [
        commit_value(chance.randrange(10**6), WHEN, version=version, metadata=chance.choice(METADATA[:8]), tags=tags)
        for version in range(5)
        for tags in (list(TAGS.values()) if version == 4 else [()] * 3)
        for _ in range(10)
    ]

    for _ in range(30):
        assert_alike([mutated(chance.choice(sound), chance) for _ in range(300)])


def test_the_print_of_an_id_is_never_none_and_tells_ids_apart():
    chance = random.Random(5)
    ids = [chance.randbytes(16) for _ in range(1_000)]

    assert print_of(b"") == 0
    assert print_of(bytes(16)) == print_of(b"\1" * 16) == 1
    assert len({print_of(one) for one in ids}) == len(ids)


# ---- keys -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_the_key_of_a_commit_names_group_topic_and_partition(version):
    assert decode_key(commit_key("Grüße 🎉", "orders.eu", 12, version)) == CommitKey("Grüße 🎉", "orders.eu", 12)


@pytest.mark.parametrize("version", range(2, 24))
def test_the_key_of_a_group_names_the_group_and_the_member_if_it_is_of_one(version):
    member = "member-1" if version in HAVE_MEMBER else None

    assert decode_key(group_key(version, "billing", member)) == GroupKey(version, "billing", member or "")


@pytest.mark.parametrize(
    "key",
    [
        i16(24) + string("billing"),
        i16(-1) + string("billing"),
        group_key(5, "billing"),
        group_key(2, "billing")[:-1],
        commit_key("billing", "", 0),
        commit_key("billing", "orders", -1),
        commit_key("billing")[:-1],
        i16(1) + i16(-1) + string("orders") + i32(0),
        i16(1) + i16(2) + b"\xff\xfe" + string("orders") + i32(0),
        b"\0",
    ],
    ids=[
        "a version to come",
        "no version",
        "a member without a name",
        "cut short",
        "no topic",
        "no partition",
        "half a partition",
        "no group",
        "not UTF-8",
        "one byte",
    ],
)
def test_what_is_no_key_is_refused(key):
    with pytest.raises(Malformed):
        decode_key(key)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_key_or_refused(data):
    try:
        key = decode_key(data)
    except Malformed:
        return
    assert isinstance(key, CommitKey | GroupKey)


# ---- who is in a group ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_the_members_of_a_classic_group_are_read(version):
    value = classic_value(
        {
            "m-1": ("client-1", "/10.0.0.1", assignment({"orders": [0, 2], "audit": [1]})),
            "m-2": ("client-2", "/10.0.0.2", b""),
        },
        version,
    )

    assert classic_members(value) == {
        "m-1": Member("client-1", "/10.0.0.1", {"orders": [0, 2], "audit": [1]}),
        "m-2": Member("client-2", "/10.0.0.2", {}),
    }


@pytest.mark.parametrize("version", range(5))
def test_a_classic_group_without_members_is_read(version):
    assert classic_members(classic_value({}, version)) == {}


@pytest.mark.parametrize("value", [i16(5) + bytes(50), classic_value({"m": ("c", "h", b"")})[:-3], b""])
def test_what_is_no_group_is_refused(value):
    with pytest.raises(Malformed):
        classic_members(value)


def test_a_member_whose_assignment_is_not_a_consumers_has_no_partitions_but_is_there():
    value = classic_value({"worker": ("connect-1", "/10.0.0.9", b"\0\1\0\0\0\x24leader")})

    assert classic_members(value) == {"worker": Member("connect-1", "/10.0.0.9", {})}


def test_a_member_and_its_partitions_are_read_as_kip_848_has_them():
    assert consumer_member(consumer_member_value("client-1", "/10.0.0.1", "instance")) == ("client-1", "/10.0.0.1")
    assert consumer_assignment(consumer_assignment_value({ID: [0, 3], ID[::-1]: []})) == {ID: [0, 3], ID[::-1]: []}


def test_a_consumer_groups_members_come_change_and_go():
    groups = Memberships()
    groups.take(GroupKey(3, "billing"), i16(0) + i32(1))
    groups.take(GroupKey(5, "billing", "m-1"), consumer_member_value("client-1", "/10.0.0.1"))
    groups.take(GroupKey(8, "billing", "m-1"), consumer_assignment_value({ID: [0, 1]}))
    assert groups.groups["billing"].members == {"m-1": Member("client-1", "/10.0.0.1", {ID: [0, 1]})}

    groups.take(GroupKey(8, "billing", "m-1"), None)
    assert groups.groups["billing"].members["m-1"].partitions == {}

    groups.take(GroupKey(5, "billing", "m-1"), None)
    assert groups.groups["billing"].members == {}


def test_an_assignment_that_comes_before_its_member_is_kept():
    groups = Memberships()
    groups.take(GroupKey(8, "billing", "m-1"), consumer_assignment_value({ID: [4]}))
    groups.take(GroupKey(5, "billing", "m-1"), consumer_member_value("client-1", "/10.0.0.1"))

    assert groups.groups["billing"].members == {"m-1": Member("client-1", "/10.0.0.1", {ID: [4]})}


@pytest.mark.parametrize("version", range(2, 24))
def test_a_record_without_a_value_ends_a_group_only_if_it_is_of_the_whole_group(version):
    groups = Memberships()
    value = classic_value({}) if version == 2 else b"\0\0"
    first = next(number for number, kind in KINDS.items() if kind == KINDS[version] and number in WHOLE_GROUP)
    groups.take(GroupKey(first, "billing"), value)

    gone = groups.take(GroupKey(version, "billing", "m" if version in HAVE_MEMBER else ""), None)

    assert gone is (version in {2, 3, 11, 17})
    assert ("billing" in groups.groups) is not gone


@pytest.mark.parametrize(("version", "kind"), [(19, "streams"), (10, "share")])
def test_of_other_kinds_of_groups_it_is_known_that_there_are_members(version, kind):
    groups = Memberships()
    groups.take(GroupKey(version, "billing", "m-1"), b"\0\0 whatever")
    assert (groups.groups["billing"].kind, list(groups.groups["billing"].members)) == (kind, ["m-1"])

    groups.take(GroupKey(version, "billing", "m-1"), None)
    assert groups.groups["billing"].members == {}


def test_a_group_that_changes_its_kind_leaves_its_old_members_behind():
    groups = Memberships()
    groups.take(GroupKey(2, "billing"), classic_value({"old": ("c", "/h", b"")}))
    groups.take(GroupKey(5, "billing", "new"), consumer_member_value("client", "/host"))

    assert (groups.groups["billing"].kind, list(groups.groups["billing"].members)) == ("consumer", ["new"])


# ---- reading --------------------------------------------------------------------------------------------------------------


def test_a_count_of_millions_in_a_short_record_is_refused_before_a_list_is_made():
    reader = Reader(i32(2_000_000_000) + bytes(10))

    with pytest.raises(Malformed, match="more entries than there are bytes"):
        reader.array(reader.i32)


@given(st.integers(0, 2**32 - 1))
def test_numbers_of_many_lengths_are_read_back(number):
    assert Reader(uvarint(number)).uvarint() == number


@given(st.dictionaries(st.integers(0, 1000), st.binary(max_size=200), max_size=5))
def test_tagged_fields_are_read_back(fields):
    assert Reader(tagged(list(fields.items()))).tagged() == fields


def test_columns_are_numbers_that_can_be_written_to():
    commits = decode_values([commit_value(1, 2)])

    assert commits.offset.dtype == commits.timestamp.dtype == commits.topic_print.dtype == np.int64
    assert commits.offset.flags.writeable
