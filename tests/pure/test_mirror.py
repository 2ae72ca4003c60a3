"""What MirrorMaker is told, what it writes down, and what it made of the records: as values, without a cluster."""

import json
import struct

import pytest

from chaos import bounds
from chaos.bounds import Bound, Given
from chaos.evidence.account import Account, Read, Sent
from chaos.evidence.copied import copied_again, folder_beside, from_there_on, restated, twice, write_beside
from chaos.evidence.folder import RunFolder
from chaos.judge import judge
from compose.mirror import mirror_properties, mirrored
from compose.mirror_topics import Checkpoint, checkpoint, flushed_offset
from kernel.cluster import ClusterAddress
from kernel.errors import SuiteError


def copy(value: int, offset: int, partition: int = 0) -> Read:
    return Read("drain", 1, "source.orders", partition, offset, None, value, 0)


def sent(value: int, offset: int | None, partition: int = 0, outcome: str = "ok") -> Sent:
    return Sent("producer-1", 1, 2, outcome, None, "orders", partition, offset, value)


def text(word: str) -> bytes:
    return struct.pack(">h", len(word)) + word.encode()


def properties(**wishes):
    given = {"topics": ["orders"], "groups": ["trial"], "replicas": (3, 1), "flush_ms": 2000, "exactly_once": False}
    return mirror_properties(ClusterAddress("a:1"), ClusterAddress("b:2"), **(given | wishes))


# ---- what it is told


def test_what_the_worker_is_told_bears_the_name_of_the_target():
    """Seen on 2026-11-17: offset.flush.interval.ms without it stayed at 60000, and nobody said so."""
    told = properties()

    assert told["target.offset.flush.interval.ms"] == "2000"
    assert "offset.flush.interval.ms" not in told


def test_exactly_once_is_asked_for_only_when_wanted():
    assert properties(exactly_once=True)["target.exactly.once.source.support"] == "enabled"
    assert "target.exactly.once.source.support" not in properties()


def test_each_cluster_is_reached_as_its_address_says():
    secured = ClusterAddress(
        "b:2", "SASL_SSL", ca_file="/ca.pem", sasl_mechanism="SCRAM-SHA-512", username="u", password="p"
    )
    told = mirror_properties(
        ClusterAddress("a:1"), secured, topics=["x", "y"], groups=["g"], replicas=(3, 1), flush_ms=1, exactly_once=False
    )

    assert (told["source.bootstrap.servers"], told["source.security.protocol"]) == ("a:1", "PLAINTEXT")
    assert told["target.security.protocol"] == "SASL_SSL" and 'password="p"' in told["target.sasl.jaas.config"]
    assert told["source->target.topics"] == "x,y"
    assert (told["offset-syncs.topic.replication.factor"], told["offset.storage.replication.factor"]) == ("3", "1")
    assert mirrored("x") == "source.x"


# ---- what it writes down


def test_a_checkpoint_is_read_as_mirrormaker_writes_it():
    key = text("trial") + text("source.orders") + struct.pack(">i", 2)
    value = struct.pack(">hqq", 0, 915, 1198) + text("")

    assert checkpoint(key, value) == Checkpoint("trial", "source.orders", 2, upstream=915, downstream=1198)


def test_what_is_no_checkpoint_is_told():
    with pytest.raises(SuiteError, match="is no checkpoint"):
        checkpoint(text("trial"), b"")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            ["MirrorSourceConnector", {"cluster": "source", "partition": 1, "topic": "orders"}],
            {"offset": 7},
            ("orders", 1, 7),
        ),
        (["MirrorSourceConnector", {"cluster": "source", "partition": 1, "topic": "orders"}], None, ("orders", 1, None)),
        (["MirrorCheckpointConnector", {"group": "trial"}], {"offset": 7}, None),
        ("something else", {"offset": 7}, None),
    ],
)
def test_how_far_it_has_copied_is_read_from_connects_offsets(key, value, said):
    assert flushed_offset(json.dumps(key).encode(), json.dumps(value).encode() if value else None) == said


# ---- what became of the records


def test_a_value_at_two_places_of_the_copy_is_there_twice():
    assert twice([copy(1, 0), copy(2, 1), copy(1, 2)]) == {1}
    assert twice([copy(1, 0), copy(2, 1)]) == frozenset()


def test_copied_again_is_what_was_there_and_not_written_down():
    sends = [sent(10, 0), sent(11, 1), sent(12, 2), sent(13, 3)]
    copies = [copy(10, 0), copy(11, 1), copy(12, 2), copy(11, 3), copy(12, 4), copy(13, 5)]

    assert copied_again(copies, sends, ends={0: 3}, flushed={0: 0}) == {11, 12} == twice(copies)
    assert copied_again(copies, sends, ends={0: 3}, flushed={}) == {10, 11, 12}, "nothing was written down yet"
    assert copied_again(copies, sends, ends={0: 3}, flushed={0: 2}) == frozenset(), "all of it was"
    assert copied_again(copies, sends, ends={}, flushed={}) == frozenset(), "nothing was there"


def test_who_starts_at_an_offset_reads_from_there_on():
    copies = [copy(10, 0), copy(11, 1), copy(20, 0, partition=1), copy(21, 1, partition=1)]

    assert from_there_on(copies, {0: 1, 1: 2}) == {11}
    assert from_there_on(copies, {0: 2}) == {20, 21}, "a partition without an offset is read from its beginning"


# ---- the copy as a log of its own


def judged(tmp_path, copies: list[Read], sends: list[Sent], end: int) -> dict[str, int]:
    folder = folder_beside(RunFolder(tmp_path), "target")
    rows = restated(sends, {"orders": "source.orders"}, "r1")
    common = {"run_id": "r1", "client": "drain", "ix": 0, "outcome": "ok", "topic": "source.orders", "partition": 0}
    common |= {"invoked_ns": 1, "completed_ns": 2, "final": True}
    rows += [common | {"op": op, "kind": "poll", "offset": one.offset, "value": one.value} for op, one in enumerate(copies)]
    rows.append(common | {"op": len(copies), "kind": "drained", "offset": end})
    write_beside(folder, {"run_id": "r1", "scenario": "mirror-failover", "seed": 0, "permitted": []}, rows, [])
    return {name: count for name, count in judge(folder)["counts"].items() if count}


def test_the_copy_judged_by_itself_has_what_is_missed_and_what_is_there_twice(tmp_path):
    sends = [sent(10, 0), sent(11, 1), sent(12, 2)]

    assert judged(tmp_path, [copy(10, 0), copy(11, 1), copy(11, 2)], sends, end=3) == {"duplicate": 1, "unseen-write": 1}


def test_a_copy_that_has_everything_once_has_no_anomaly(tmp_path):
    sends = [sent(10, 5), sent(11, 6), sent(12, None, outcome="info")]

    assert judged(tmp_path, [copy(10, 0), copy(11, 1)], sends, end=2) == {}


def test_an_account_knows_where_the_closing_reader_saw_a_record():
    row = {
        "client": "drain", "op": 1, "ix": 0, "kind": "poll", "outcome": "ok", "topic": "t", "partition": 0, "offset": 4,
        "epoch": None, "error": None, "value": 9, "completed_ns": 1, "final": True,
    }  # fmt: skip
    account = Account([row, row | {"value": 8, "offset": 5, "final": False}])

    assert [(read.value, read.offset) for read in account.final] == [(9, 4)]
    assert account.drained == {9}


def test_a_group_that_fails_over_joins_and_fetches():
    broker = {"group.initial.rebalance.delay.ms": "3000"}

    assert bounds.fail_over(Given(broker, {}, 2.0)) == Bound(
        13.0,
        "3.0 s the first member waits for others + 6.0 s two heartbeats of the others + 1.0 s clients learn the leader + "
        "1.0 s clients try again + 2.0 s allowance",
    )
