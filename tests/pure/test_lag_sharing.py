"""Several instances: whose a group is, and what is written down of what is open; no Kafka."""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from kernel.cluster import ClusterAddress
from kernel.errors import UsageError
from kernel.waiting import wait_until
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.channel import Refused
from lag_monitor.alerts.incidents import GAP
from lag_monitor.alerts.routes import Route
from lag_monitor.sharing.handover import Ledger, Plain, as_tried, by_incident, gist, readable, together, whose
from lag_monitor.sharing.lease import Instances, Lease, _check
from lag_monitor.sharing.shards import partitions_of, shard_of
from lag_monitor.sources.taking import partition_of
from lag_monitor.verdict import Status
from tests.pure.test_lag_alerts_front import Paper
from tests.pure.test_lag_alerts_incidents import CLUSTER, verdict

names = st.text(st.characters(codec="utf-8"), max_size=8)
counts = st.integers(1, 50)

# ---- shards -----------------------------------------------------------------------------------------------------------


@given(names, counts, counts)
def test_a_group_is_of_the_shard_that_reads_its_commits(group: str, shards: int, partitions: int):
    mine = shard_of(group, shards, partitions)

    assert partition_of(group, partitions) in partitions_of({mine}, shards, partitions)
    assert [one for one in range(shards) if partition_of(group, partitions) in partitions_of({one}, shards, partitions)] == [
        mine
    ]


@given(counts, counts)
def test_every_partition_of_the_commits_is_read_for_one_shard(shards: int, partitions: int):
    read = Counter(part for one in range(shards) for part in partitions_of({one}, shards, partitions))

    assert read == Counter(range(partitions))


@pytest.mark.slow
@given(names, counts)
def test_a_group_has_a_shard_also_where_nothing_was_committed_yet(group: str, shards: int):
    assert 0 <= shard_of(group, shards, 0) < shards


def test_another_number_of_partitions_is_refused_in_one_sentence():
    _check(Instances(shards=3), 3)
    with pytest.raises(
        UsageError, match=r"has 3 partitions, and instances\.shards is 6: set shards = 3, or name another topic"
    ):
        _check(Instances(topic="t", shards=6), 3)


class Holding:
    def __init__(self) -> None:
        self.told: list[tuple[str, list[int]]] = []

    def gained(self, found: Mapping[int, Mapping[str, bytes]]) -> None:
        self.told.append(("gained", sorted(found)))

    def lost(self, shards: frozenset[int], orderly: bool) -> None:
        self.told.append(("handed over" if orderly else "lost", sorted(shards)))

    def disturbed(self, shard: int, key: str) -> None:
        self.told.append((key, [shard]))


@pytest.mark.parametrize(("orderly", "how"), [(True, "handed over"), (False, "lost")])
def test_whoever_gives_up_all_says_what_all_was(orderly: bool, how: str):
    """On 2026-11-17 an instance that woke kept what it had lost: the set was emptied before it was handed on."""
    holding = Holding()
    lease = Lease(ClusterAddress("127.0.0.1:1"), {}, Instances(shards=3), holding)
    lease._reading = {0: {}, 2: {}}
    lease._take_all([AtTheEnd(0), AtTheEnd(2)])
    lease._give_up(lease.held, orderly)

    assert holding.told == [("gained", [0, 2]), (how, [0, 2])]
    assert lease.held == frozenset()


class AtTheEnd:
    """What librdkafka says when there is no more to read."""

    def __init__(self, shard: int) -> None:
        self.shard = shard

    def partition(self) -> int:
        return self.shard

    def error(self) -> KafkaError:
        return KafkaError(KafkaError._PARTITION_EOF)


# ---- what is exported, incident by incident -----------------------------------------------------------------------------


def look(alerts: Alerts, status: Status, group: str = "billing") -> None:
    alerts.take({(CLUSTER, group): verdict(status, group)}, set(), time.time())


def exported() -> Plain:
    """What a real instance exports that could not tell of its one incident yet."""
    paper = Paper(answers=[Refused("no.", retry_after=1000.0)])
    with Alerts(None, [Route("team", ("mail",))], [paper]) as alerts:
        look(alerts, Status.STALLED)
        wait_until(lambda: alerts.figures().notices["mail", "failed"], bool, what="a try", timeout=10)
        alerts.active = False
        told: Plain = json.loads(json.dumps(alerts.export()))
        return told


ONE = exported()
((ID, PART),) = by_incident(ONE).items()


def incident(name: str, **more: Any) -> Plain:
    return {**PART["incidents"][0], "id": name, "group": f"group of {name}", **more}


def row(name: str, seq: int, tries: int = 1) -> Plain:
    notice = {**PART["queue"][0]["notice"], "incident": name, "seq": seq, "group": f"group of {name}"}
    return {**PART["queue"][0], "notice": notice, "tries": tries}


ids = st.sampled_from("abcdefgh")
exports = st.builds(
    lambda open_ones, rows, done: {
        "incidents": [incident(name, looked=looked, seq=seq) for name, (looked, seq) in open_ones.items()],
        "queue": [row(name, seq, tries) for name, seq, tries in rows],
        "done": [[name, "mail", seq, 1.0] for name, seq in done.items()],
    },
    st.dictionaries(ids, st.tuples(st.sampled_from([0.0, 1.0, GAP]), st.integers(0, 2))),
    st.lists(st.tuples(ids, st.integers(1, 3), st.integers(0, 2)), max_size=6),
    st.dictionaries(ids, st.integers(1, 3)),
)


@pytest.mark.slow
@given(exports)
def test_taken_apart_and_put_together_it_is_the_same_but_for_what_is_over_and_told(export: Plain):
    parts = by_incident(export)
    again = together(parts)
    needed = {one["id"] for one in export["incidents"]} | {one["notice"]["incident"] for one in export["queue"]}

    assert by_incident(again) == parts
    assert parts.keys() == needed
    assert sorted(map(str, again["incidents"])) == sorted(map(str, export["incidents"]))
    assert sorted(map(str, again["queue"])) == sorted(map(str, export["queue"]))
    assert sorted(again["done"]) == sorted(one for one in export["done"] if one[0] in needed)
    for name in needed:  # notices of one incident stay in their order
        of = [[one for one in told["queue"] if one["notice"]["incident"] == name] for told in (export, again)]
        assert of[0] == of[1]


def test_it_is_known_whose_a_part_is_also_when_only_its_close_waits():
    assert whose(PART) == (CLUSTER, "billing")
    assert whose({**PART, "incidents": []}) == (CLUSTER, "billing")


def test_what_may_have_left_counts_as_tried():
    assert [one["tries"] for one in as_tried({**PART, "queue": [row("a", 1, 0), row("a", 2, 3)]})["queue"]] == [1, 3]


@pytest.mark.parametrize(
    "value", [b"", b"null", b"{}", b"\xff", b'{"incidents": [{}], "queue": [], "done": []}', b'{"incidents": 1}', b"[]"]
)
def test_what_is_not_ours_is_not_read(value: bytes):
    assert readable(value) is None


def test_what_is_ours_is_read():
    assert readable(json.dumps(PART).encode()) == PART


# ---- the ledger ---------------------------------------------------------------------------------------------------------


class Topic:
    """Compacted at once."""

    def __init__(self, shards: int = 2) -> None:
        self.records: dict[int, dict[str, bytes]] = {shard: {} for shard in range(shards)}
        self.written: list[tuple[int, str]] = []
        self.shards = shards

    def write(self, shard: int, key: str, value: bytes | None) -> None:
        self.written.append((shard, key))
        if value is None:
            del self.records[shard][key]
        else:
            self.records[shard][key] = value

    def ledger(self, *shards: int) -> Ledger:
        made = Ledger(self.write, lambda cluster, group: ord(group[-1]) % self.shards)
        for shard in shards:
            made.gained(shard, self.records[shard])
        return made

    def gists(self, shard: int) -> dict[str, str]:
        return {key: gist(json.loads(value)) for key, value in self.records[shard].items()}


def shard(key: str) -> int:
    return ord(key[-1]) % 2


@pytest.mark.slow
@given(st.lists(exports, max_size=5), st.sets(st.sampled_from([0, 1])), st.booleans())
def test_exactly_what_differs_is_written_and_nothing_of_other_shards(told: list[Plain], mine: set[int], at_rest: bool):
    topic = Topic()
    topic.ledger(0, 1).publish({"incidents": [incident("a"), incident("b")]})
    theirs = {one: dict(topic.records[one]) for one in {0, 1} - mine}
    ledger = topic.ledger(*mine)
    for export in told:
        parts = {key: part if at_rest else as_tried(part) for key, part in by_incident(export).items()}
        wanted = {one: {key: gist(part) for key, part in parts.items() if shard(key) == one} for one in mine}
        before = {one: topic.gists(one) for one in mine}
        differ = {
            (one, key)
            for one in mine
            for key in before[one].keys() | wanted[one].keys()
            if before[one].get(key) != wanted[one].get(key)
        }
        topic.written.clear()

        assert ledger.publish(export, at_rest=at_rest) == len(differ)
        assert (len(topic.written), set(topic.written)) == (len(differ), differ)
        assert {one: topic.gists(one) for one in mine} == wanted
        assert ledger.publish(export, at_rest=at_rest) == 0
    assert {one: topic.records[one] for one in theirs} == theirs


@pytest.mark.slow
@given(exports)
def test_whoever_takes_over_is_told_all_that_was_published(export: Plain):
    topic = Topic()
    topic.ledger(0, 1).publish(export, at_rest=True)
    taker = topic.ledger()
    found = taker.gained(0, topic.records[0]) | taker.gained(1, topic.records[1])

    assert found == by_incident(export)
    assert taker.publish(export, at_rest=True) == 0


def test_a_look_that_found_the_same_writes_nothing_until_time_has_to_be_told():
    topic = Topic(1)
    ledger = topic.ledger(0)
    first = incident("a", looked=GAP)
    ledger.publish({"incidents": [first]})
    other = {**first["reading"], "lag": 99, "seconds": 7.5, "reason": "further behind"}
    counts = [
        ledger.publish({"incidents": [one]})
        for one in (
            {**first, "looked": GAP + 10, "good_for": 5.0, "bad_for": 5.0, "reading": other},
            {**first, "looked": GAP + 10, "sight": "good"},
            {**first, "looked": GAP + 10, "sight": "good", "reading": {**other, "status": "STOPPED"}},
            {**first, "looked": 2 * GAP, "sight": "good", "reading": {**other, "status": "STOPPED"}},
        )
    ]

    assert counts == [0, 1, 1, 1]


def test_what_was_written_of_a_cluster_that_cannot_be_seen_stays_in_its_shard():
    topic = Topic()
    topic.ledger(0, 1).publish({"incidents": [incident("a"), incident("b")]})
    blind = Ledger(topic.write, lambda cluster, group: 0)  # where nothing is known, all is of the first
    found = blind.gained(0, topic.records[0]) | blind.gained(1, topic.records[1])
    topic.written.clear()

    assert (blind.publish(together(found)), topic.written) == (0, [])


def test_what_is_not_sure_to_be_there_is_written_again():
    topic = Topic(1)
    ledger = topic.ledger(0)
    export = {"incidents": [incident("a"), incident("b")]}
    ledger.publish(export)
    topic.records[0]["a"] = b"of one that slept"
    ledger.doubt(0, "a")
    topic.records[0]["gone"] = b"of one that slept"
    ledger.doubt(0, "gone")
    ledger.doubt(7, "not ours")
    topic.written.clear()

    assert (ledger.publish(export), sorted(topic.written)) == (2, [(0, "a"), (0, "gone")])
    assert topic.gists(0).keys() == {"a", "b"}


def test_one_record_that_cannot_be_read_keeps_nobody_from_the_others(caplog: pytest.LogCaptureFixture):
    topic = Topic(1)
    topic.ledger(0).publish({"incidents": [incident("a")]})
    topic.records[0]["odd"] = b"nobody can read this"
    with caplog.at_level(logging.WARNING):
        ledger = topic.ledger()
        found = ledger.gained(0, topic.records[0])

    assert found.keys() == {"a"}
    assert "1 records of shard 0 cannot be read and are taken away: odd" in caplog.text
    ledger.publish(together(found))
    assert topic.records[0].keys() == {"a"}


def test_what_is_lost_is_not_written_any_more():
    topic = Topic()
    ledger = topic.ledger(0, 1)
    ledger.lost({shard("a")})

    assert ledger.publish({"incidents": [incident("a"), incident("b")]}) == 1
    assert (ledger.shards, topic.records[shard("a")]) == ({shard("b")}, {})


# ---- written down first ---------------------------------------------------------------------------------------------------


def test_nothing_is_sent_before_it_is_released():
    paper, changed = Paper(), threading.Event()
    with Alerts(None, [Route("team", ("mail",))], [paper]) as alerts:
        alerts.written_down_first(changed.set)
        look(alerts, Status.STALLED)
        assert (changed.is_set(), alerts.figures().queued) == (True, {"mail": 1})
        mark = alerts.mark
        look(alerts, Status.STALLED, "later")
        assert alerts._sender._workers["mail"]._claimed() is None
        alerts.release(mark)
        paper.hears("open")
        assert alerts.figures().queued == {"mail": 1}
        alerts.release(alerts.mark)
        paper.hears("open", "open")


def test_what_is_taken_over_waits_to_be_released_too():
    paper = Paper()
    with Alerts(None, [Route("team", ("mail",))], [paper], active=False) as alerts:
        alerts.written_down_first(lambda: None)
        mark = alerts.mark
        alerts.adopt(ONE)
        alerts.active = True
        alerts.release(mark)
        assert alerts._sender._workers["mail"]._claimed() is None
        alerts.release(alerts.mark)
        paper.hears("open")


@pytest.mark.slow
def test_what_arrives_while_it_is_taken_over_is_not_sent_again():
    paper = Paper()
    paper.door.clear()
    with Alerts(None, [Route("team", ("mail",))], [paper]) as alerts:
        look(alerts, Status.STALLED)
        wait_until(lambda: paper.tried, bool, what="a try", timeout=10)
        alerts.active = False  # the receiver takes longer than it waits
        alerts.adopt(alerts.export())
        alerts.active = True
        paper.door.set()
        paper.hears("open")
        wait_until(lambda: alerts.figures().queued["mail"], lambda seen: seen == 0, what="the queue", timeout=10)

    assert (paper.tried, paper.kinds) == (1, ["open"])
