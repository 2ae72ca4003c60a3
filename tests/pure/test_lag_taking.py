"""Records of `__consumer_offsets` on their way into the store: what counts, what is passed over, what goes away and what
must stay."""

import random

import numpy as np
import pytest

from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.offsets_topic.values import print_of
from lag_monitor.sources import taking
from lag_monitor.sources.taking import Record, Taker, partition_of
from lag_monitor.store.cluster_store import ClusterStore, Names
from lag_monitor.store.windows import OWN
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
)
from tests.pure.test_lag_decoding import mutated

NOW = 1_700_000_000
WHEN = NOW * 1000


def store_of(**topics: int) -> ClusterStore:
    """Every partition's log ends at 1000."""
    store = ClusterStore(BurrowRules(), now=NOW)
    for topic, partitions in (topics or {"orders": 4}).items():
        for partition in range(partitions):
            store.head(topic, partition, partitions, 1_000)
    return store


def commit(group: str, offset: int, order: int, topic: str = "orders", partition: int = 0, when: int = WHEN) -> Record:
    return commit_key(group, topic, partition), commit_value(offset, when, version=4, tags=((0, ID),)), order


def taken(*records: Record, store: ClusterStore | None = None) -> tuple[ClusterStore, Taker]:
    store = store or store_of()
    taker = Taker(store)
    taker.take(records, NOW)
    return store, taker


def committed(store: ClusterStore, group: str, topic: str = "orders", partition: int = 0) -> int:
    return int(store.windows.offsets[store.groups[group].topics[topic][partition], -1])


def looked_at(store: ClusterStore, group: str, partition: int = 0) -> bool:
    return bool(store.windows.flags[store.groups[group].topics["orders"][partition]] & OWN)


# ---- commits --------------------------------------------------------------------------------------------------------------


def test_a_commit_is_taken_with_its_time_its_place_and_its_topics_id():
    store, taker = taken(commit("billing", 400, 7, partition=2))
    row = store.groups["billing"].topics["orders"][2]

    (slot,) = store.windows.slots(row)
    assert (slot.offset, slot.order, slot.timestamp, slot.lag, slot.observed) == (400, 7, WHEN, 600, NOW)
    assert store.windows.print[row] == print_of(ID)
    assert taker.counts.commits == 1


def test_what_is_not_wanted_not_known_or_too_old_is_counted_by_its_reason():
    store = store_of()
    store.names = Names(deny="^tmp")
    _, taker = taken(
        commit("billing", 1, 1),
        commit("tmp-1", 1, 2),
        commit("billing", 1, 3, topic="unheard-of"),
        commit("billing", 1, 4, partition=9),
        commit("billing", 1, 5, when=WHEN - 604_800_001),
        store=store,
    )

    assert taker.counts.commits == 1
    assert taker.counts.dropped == {"group not wanted": 1, "end of the log not known": 2, "old": 1}
    assert list(store.groups) == ["billing"]


def test_a_commit_dropped_for_want_of_an_end_is_taken_once_the_end_is_known():
    store, taker = taken(commit("billing", 1, 1, topic="new"))

    store.head("new", 0, 1, 5)
    taker.take([commit("billing", 2, 2, topic="new")], NOW)

    assert committed(store, "billing", "new") == 2


def test_a_remembered_key_does_not_lead_to_a_row_that_is_anothers_by_now():
    store, taker = taken(commit("billing", 400, 1), commit("audit", 300, 2))

    store.delete_group("billing")
    taker.take([commit("newcomer", 5, 3, partition=1), commit("billing", 401, 4)], NOW)

    assert (committed(store, "newcomer", partition=1), committed(store, "billing"), committed(store, "audit")) == (
        5,
        401,
        300,
    )
    assert [slot.offset for slot in store.windows.slots(store.groups["billing"].topics["orders"][0])] == [401]


def test_a_remembered_key_follows_its_topic_when_that_is_made_anew():
    store, taker = taken(commit("billing", 400, 1))

    store.delete_topic("orders", NOW)
    store.head("orders", 0, 1, 10)
    taker.take([commit("billing", 3, 2)], NOW)

    assert [slot.offset for slot in store.windows.slots(store.groups["billing"].topics["orders"][0])] == [3]


def test_more_keys_than_are_worth_remembering_are_taken_all_the_same(monkeypatch):
    monkeypatch.setattr(taking, "REMEMBERED", 10)
    store, taker = taken()
    for order in range(100):
        taker.take([commit(f"group-{order % 30}", order, order)], NOW)

    assert {committed(store, f"group-{at}") for at in range(30)} == set(range(70, 100))
    assert len(taker._rows) <= 12


# ---- what goes away -------------------------------------------------------------------------------------------------------


def test_a_deleted_commit_is_not_looked_at_any_more_and_burrow_does_not_notice():
    store, taker = taken(commit("billing", 400, 1), (commit_key("billing"), None, 2))

    assert taker.counts.tombstones == 1
    assert not looked_at(store, "billing")
    assert committed(store, "billing") == 400


@pytest.mark.parametrize("together", [True, False])
def test_a_commit_made_after_one_was_deleted_stays(together):
    store, taker = taken()
    records = [commit("billing", 400, 1), (commit_key("billing"), None, 2), commit("billing", 500, 3)]
    for batch in [records] if together else [[one] for one in records]:
        taker.take(batch, NOW)

    assert looked_at(store, "billing")
    assert committed(store, "billing") == 500


def test_a_deletion_of_what_was_never_heard_of_is_harmless():
    _, taker = taken((commit_key("nobody"), None, 1), (commit_key("billing", "none", 77), None, 2))

    assert (taker.counts.tombstones, taker.counts.malformed) == (2, 0)


def test_a_group_that_was_deleted_is_gone_once_that_is_settled():
    store, taker = taken(
        (group_key(2, "billing"), classic_value({}), 1), commit("billing", 400, 2), (group_key(2, "billing"), None, 3)
    )
    assert "billing" in store.groups

    taker.settle()

    assert "billing" not in store.groups


def test_a_group_whose_members_only_left_stays():
    store, taker = taken(
        (group_key(2, "billing"), classic_value({"m": ("c", "/h", b"")}), 1),
        commit("billing", 400, 2),
        (group_key(2, "billing"), classic_value({}), 3),
    )
    taker.settle()

    assert committed(store, "billing") == 400


def test_a_group_that_becomes_one_of_another_kind_keeps_its_commits():
    store, taker = taken(
        (group_key(2, "billing"), classic_value({"m": ("c", "/h", assignment({"orders": [0]}))}), 1),
        commit("billing", 400, 2),
        (group_key(2, "billing"), None, 3),
        (group_key(3, "billing"), i16(0) + i32(1), 4),
        (group_key(5, "billing", "m"), consumer_member_value("c", "/h"), 5),
        (group_key(8, "billing", "m"), consumer_assignment_value({ID: [0]}), 6),
    )
    taker.settle()

    assert committed(store, "billing") == 400
    assert taker.members.groups["billing"].kind == "consumer"
    assert taker.members.groups["billing"].members["m"].partitions == {ID: [0]}


def test_a_group_that_goes_back_to_the_classic_kind_keeps_its_commits():
    store, taker = taken(
        (group_key(3, "billing"), i16(0) + i32(1), 1),
        commit("billing", 400, 2),
        (group_key(3, "billing"), None, 3),
        (group_key(2, "billing"), classic_value({"m": ("c", "/h", b"")}), 4),
    )
    taker.settle()

    assert committed(store, "billing") == 400
    assert taker.members.groups["billing"].kind == "classic"


def test_a_group_that_commits_after_it_was_deleted_is_there():
    store, taker = taken(commit("billing", 400, 1), (group_key(2, "billing"), None, 2), commit("billing", 5, 3))

    taker.settle()

    assert committed(store, "billing") == 5


def test_a_deletion_is_settled_once_and_not_again():
    store, taker = taken(commit("billing", 400, 1), (group_key(2, "billing"), None, 2))
    taker.settle()
    taker.take([commit("billing", 5, 3)], NOW)

    taker.settle()

    assert committed(store, "billing") == 5


# ---- what is malformed ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_thousand_damaged_records_harm_nobody_and_the_good_among_them_are_taken():
    chance = random.Random(23)
    store, taker = taken(store=store_of(orders=4, audit=2))
    keys = [commit_key("billing", "orders", at, at % 2) for at in range(4)]
    keys += [group_key(version, "billing", "m-1") for version in range(2, 24)]
    values: list[bytes | None] = [commit_value(5, WHEN, version=version, metadata=b"meta") for version in range(5)]
    values += [commit_value(5, WHEN, version=4, tags=((0, ID), (9, b"x"))), None]
    values += [classic_value({"m": ("c", "/h", assignment({"orders": [0, 1]}))}, version) for version in range(5)]
    values += [consumer_member_value("c", "/h"), consumer_assignment_value({ID: [0, 1]})]
    good = 0

    def record(order: int) -> Record:
        key = chance.choice(keys) if chance.random() < 0.3 else mutated(chance.choice(keys), chance)
        value = chance.choice(values)
        if value is not None and chance.random() < 0.7:
            value = mutated(value, chance)
        if chance.random() < 0.2:
            key, value = chance.randbytes(chance.randrange(40)), chance.randbytes(chance.randrange(80))
        return (None if chance.random() < 0.01 else key), value, order

    for batch in range(100):
        records = [record(1_000 * batch + at) for at in range(1_000)]
        records[500] = commit("sound", batch, 1_000 * batch + 500, topic="audit")
        good += 1
        taker.take(records, NOW)
        if batch % 10 == 0:
            taker.settle()
        assert committed(store, "sound", "audit") == batch

    counts = taker.counts
    accounted = counts.commits + counts.tombstones + counts.groups + counts.malformed + sum(counts.dropped.values())
    assert counts.malformed > 10_000
    assert counts.commits > good
    assert accounted >= 100_000
    sound = store.groups["sound"].topics["audit"][0]
    assert [slot.offset for slot in store.windows.slots(sound)] == list(range(90, 100))


def test_a_record_of_which_only_the_value_or_only_the_key_is_damaged_counts_once():
    _, taker = taken(
        (commit_key("billing"), b"\0", 1),
        (commit_key("billing")[:-1], commit_value(1, WHEN), 2),
        (commit_key("billing")[:-1], b"\0", 3),
        (None, b"x", 4),
        (b"\0", None, 5),
        (group_key(2, "billing"), b"\0\1", 6),
    )

    assert (taker.counts.malformed, taker.counts.commits) == (6, 0)


def test_a_damaged_group_record_changes_nothing_of_what_is_known_of_its_members():
    _, taker = taken(
        (group_key(2, "billing"), classic_value({"m": ("c", "/h", b"")}), 1),
        (group_key(2, "billing"), classic_value({"m": ("c", "/h", b"")})[:-4], 2),
    )

    assert list(taker.members.groups["billing"].members) == ["m"]


# ---- where a group is kept ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "java"),
    [
        # String.hashCode of each, as Java gives it.
        ("", 0),
        ("a", 97),
        ("billing", -109829509),
        ("Grüße", 69215351),
        ("🎉", 1773261),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_a_group_is_kept_where_java_would_keep_it(group, java):
    assert partition_of(group, 50) == (java & 0x7FFFFFFF) % 50


@pytest.mark.parametrize("group", ["billing", "Grüße", "🎉 emoji", "x" * 300, "\u0000", "e\u0301", "日本語"])
def test_the_hash_is_javas_over_utf_16_units(group):
    number = 0
    for character in group:
        point = ord(character)
        units = [point] if point < 0x10000 else [0xD800 + (point - 0x10000 >> 10), 0xDC00 + (point - 0x10000 & 0x3FF)]
        for unit in units:
            number = (31 * number + unit) % 2**32

    assert [partition_of(group, count) for count in (1, 3, 50, 2**31)] == [
        number % 2**31 % count for count in (1, 3, 50, 2**31)
    ]


def test_commits_of_a_whole_batch_are_as_those_taken_one_by_one():
    chance = random.Random(3)
    records = [commit(f"g{chance.randrange(40)}", order, order, partition=chance.randrange(4)) for order in range(600)]
    together, _ = taken(*records)
    singly = store_of()
    taker = Taker(singly)
    for record in records:
        taker.take([record], NOW)

    for name, column in together.windows.columns().items():
        assert np.array_equal(column, singly.windows.columns()[name], equal_nan=name == "samples"), name
