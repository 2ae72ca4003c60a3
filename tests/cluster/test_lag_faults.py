"""The lag monitor while its cluster, its machine and what it reads are broken: who is well is never called anything else.

Three brokers, and a group in every partition of the topic of commits, so that whatever breaks, somebody's coordinator does.
"""

import json
import math
import random
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition

from compose.admin import live_brokers
from compose.cluster import Cluster
from kernel.cluster import ClusterAddress
from kernel.waiting import wait_until
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.settings import Patience
from lag_monitor.looking import Looker
from lag_monitor.sources.taking import partition_of
from lag_monitor.store.cluster_store import ClusterStore, Names
from lag_monitor.verdict import GroupVerdict, Status
from lag_monitor.view import ClusterView
from lag_monitor.watch import Watch
from tests.cluster.lag_daemons import (
    ABSENT,
    AS_LONG,
    OFFSETS,
    QUICK,
    LagMonitor,
    Truth,
    Witness,
    commit,
    fill,
    lag_monitor,
    watching,
    witness,
)
from tests.cluster.lag_situations import Member, Traffic

pytestmark = pytest.mark.punctual

PARTITIONS = 5  # of the topic of commits
QUIET = 12  # seconds: a consumer whose coordinator died needs most of that to find the new one and commit again
CALLED_DEAD = {"STOPPED", "STALLED", "EMPTY_GROUP", "DATA_LOSS", "TOPIC_RECREATED", "ABANDONED_TOPIC", ABSENT}


def named(partition: int, begin: str) -> str:
    """A group whose commits are kept there."""
    return next(name for n in range(1_000) if partition_of(name := f"{begin}-{n}", PARTITIONS) == partition)


WELL = tuple(named(partition, "well") for partition in range(PARTITIONS))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3, config=QUICK) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def truth(cluster: Cluster) -> Truth:
    return Truth(cluster)


@pytest.fixture(scope="module")
def stuck(cluster: Cluster) -> Iterator[Member]:
    """And all who are well, at work."""
    cluster.create_topic("flow", partitions=1, config={"min.insync.replicas": "2"})
    cluster.create_topic("jammed")
    with Traffic(cluster.address, {"flow", "jammed"}):
        members = [Member(cluster.address, group, "flow") for group in WELL]
        stuck = Member(cluster.address, "stuck", "jammed")
        yield stuck
        for member in (*members, stuck):
            member.leave()


@pytest.fixture(scope="module")
def monitor(cluster: Cluster, stuck: Member, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LagMonitor]:
    config = watching(cluster.address, judge=f"quiet = {QUIET}")
    with lag_monitor(config, tmp_path_factory.mktemp("monitor")) as running:
        wait_all_well(running)
        running.wait("stuck", "OK")
        wait_until(lambda: len(running.windows("stuck", "jammed")) > 5, bool, what="commits", timeout=AS_LONG)
        stuck.stuck.set()
        running.wait("stuck", "STALLED")
        yield running
        assert "Traceback" not in running.log()
        assert running.ends() == 0


def wait_all_well(monitor: LagMonitor) -> None:
    monitor.wait_for("all who are well OK", lambda told: all(told.get(group) == "OK" for group in WELL))


def never_called_dead(seen: Witness) -> None:
    assert seen.looks > 10
    assert seen.of(*WELL) & CALLED_DEAD == set(), (seen.statuses, seen.why())


def still_stuck(seen: Witness) -> None:
    """Or, for as long as it takes a member to be let in again, without members; but never well, new or unheard of."""
    assert seen.of("stuck") <= {"STALLED", "STOPPED", "UNKNOWN"}, (seen.statuses, seen.why())


# ---- brokers ---------------------------------------------------------------------------------------------------------


def test_who_is_well_stays_so_when_a_broker_is_killed(cluster: Cluster, monitor: LagMonitor, truth: Truth):
    """And who is stuck stays stuck, since when he was: nothing is forgotten because a coordinator moves. (If one hangs, its
    clients wait for it as long as their own timeouts let them, and have really stopped: nothing to be held against.)"""
    victim = truth.coordinator("stuck")
    before = monitor.wait("stuck", "STALLED")
    window = monitor.windows("stuck", "jammed")

    with witness(monitor) as seen:
        cluster.kill(victim)
        try:
            wait_until(lambda: cluster.isr_of("flow"), lambda isr: victim not in isr, what="out of the ISR", timeout=AS_LONG)
            monitor.wait_looks(5)
            wait_all_well(monitor)
            monitor.wait("stuck", "STALLED", "STOPPED")  # until its member has found the new coordinator
        finally:
            cluster.start(victim)
        cluster.wait_replicated()
        monitor.wait_looks(5)
        wait_all_well(monitor)
        after = monitor.wait("stuck", "STALLED")

    never_called_dead(seen)
    still_stuck(seen)
    assert monitor.windows("stuck", "jammed") == window
    if seen.of("stuck") == {"STALLED"}:
        assert after["since"] == before["since"]


def test_leaders_may_move(cluster: Cluster, monitor: LagMonitor):
    with witness(monitor) as seen:
        first = cluster.leader_of("flow")
        cluster.restart(first)
        cluster.wait_replicated()
        cluster.elect("flow")
        for partition in range(PARTITIONS):
            cluster.elect(OFFSETS, partition)
        monitor.wait_looks(4)
        wait_all_well(monitor)

    never_called_dead(seen)
    still_stuck(seen)


def test_without_any_broker_nothing_is_said_of_anybody(cluster: Cluster, monitor: LagMonitor):
    before = monitor.wait("stuck", "STALLED")
    assert monitor.series("kafka_lag_group_records")
    with witness(monitor) as seen:
        for broker in cluster.brokers:
            cluster.kill(broker)
        try:
            dark = monitor.wait_for("nothing known of anybody", lambda told: set(told.values()) == {"UNKNOWN"})
            monitor.wait_looks(3)
            why = {one["reason"].partition(": ")[2] for one in monitor.groups().values()}
            about, page = monitor.about(), monitor.page()
        finally:
            for broker in cluster.brokers:
                cluster.start(broker, wait=False)
        cluster.wait_replicated(timeout=120)
        wait_all_well(monitor)
        after = monitor.wait("stuck", "STALLED")

    assert dark.keys() >= {*WELL, "stuck"}
    assert why == {"the monitor has no fresh figures: nothing is said until it has"}
    assert (about["up"], about["ready"]) == (False, False) and about["trouble"].startswith("the cluster did not answer (")
    assert 'kafka_lag_up{cluster="trial"} 0' in page
    for name in ("kafka_lag_group_records{", "kafka_lag_group_seconds{", "kafka_lag_partition_records{"):
        assert name not in page, "an old lag is not shown as today's"
    assert 'status="UNKNOWN"} 1' in page
    assert monitor.figure("kafka_lag_up") == 1 and monitor.figure("kafka_lag_group_records", group=WELL[0]) >= 0
    never_called_dead(seen)
    still_stuck(seen)
    assert after["partitions"][0]["committed"] == before["partitions"][0]["committed"]


# ---- topics, groups and offsets that change --------------------------------------------------------------------------


def test_of_a_topic_that_is_gone_the_commits_are_left(cluster: Cluster, monitor: LagMonitor):
    for topic in ("going", "staying"):
        cluster.create_topic(topic)
        fill(cluster.address, topic, 10)
        commit(cluster.address, f"of-{topic}", topic, 10)
    wait_until(
        lambda: [monitor.groups().get(group, {}).get("partition_count") for group in ("of-going", "of-staying")],
        lambda counts: counts == [1, 1],
        what="both commits seen",
        timeout=AS_LONG,
    )

    cluster.delete_topics("going")

    gone = monitor.wait("of-going", "ABANDONED_TOPIC")
    assert gone["reason"] == "going-0: the topic is gone; what was committed for it is all that is left"
    assert gone["gravity"] == "NOTE"
    staying = monitor.group("of-staying")
    assert (staying["status"] in ("OK", "EMPTY_GROUP"), staying["lag"]) == (True, 0)
    assert "going" not in monitor.burrow("/topic")["topics"] and "staying" in monitor.burrow("/topic")["topics"]


def test_a_topic_made_anew_is_told_from_the_old_one(cluster: Cluster, monitor: LagMonitor, truth: Truth):
    """Kafka deletes the commits of a deleted topic, unless nobody is there to do so: the only coordinator is down."""
    for topic in ("anew", "same"):
        cluster.create_topic(topic, assignment=[[1, 2]])
        fill(cluster.address, topic, 50)
    group, other = named(4, "of-anew"), named(4, "of-same")
    commit(cluster.address, group, "anew", 40)
    commit(cluster.address, other, "same", 40)
    monitor.wait_for("both seen", lambda told: {group, other} <= told.keys())

    with coordinated_by(cluster, 4, 3):
        cluster.kill(3)
        try:
            for broker in (1, 2):  # each of them, for whoever still thinks that 3 is there sends us to it
                wait_until(
                    lambda broker=broker: live_brokers(ClusterAddress(f"127.0.0.1:{cluster.ports_of(broker).direct}")),
                    lambda live: live == {1, 2},
                    what=f"3 known to be gone by {broker}",
                    timeout=AS_LONG,
                )
            cluster.delete_topics("anew")
            wait_until(truth.topics, lambda topics: "anew" not in topics, what="anew deleted", timeout=AS_LONG)
            cluster.create_topic("anew", assignment=[[1, 2]])
            fill(cluster.address, "anew", 5)
        finally:
            cluster.start(3)
        assert wait_until(lambda: truth.committed(group, "anew"), bool, what="the old commit", timeout=AS_LONG) == 40

        recreated = monitor.wait(group, "TOPIC_RECREATED")
        burrow = json.loads(monitor.ask(f"/v3/kafka/trial/consumer/{group}/status")[1])["status"]

    assert recreated["reason"] in (
        "anew-0: the commit 40 was made for an earlier topic of this name; this one ends at 5",
        # It looked while the topic was away, and has the commit from the coordinator alone, which does not tell of which.
        "anew-0: the commit 40 lies beyond the end 5: the topic was made anew, or its log was cut",
    )
    assert recreated["gravity"] == "ERROR"
    # To Burrow a commit beyond the end is one at the end; or, if it looked while the topic was away, none at all.
    assert (recreated["burrow"], burrow["totallag"]) == ("OK", 0) and burrow["status"] in ("OK", "NOTFOUND")
    assert monitor.wait(other, "OK", "WARMING_UP", "STOPPED")["lag"] == 10
    monitor.wait_looks(2)
    wait_all_well(monitor)


@contextmanager
def coordinated_by(cluster: Cluster, partition: int, broker: int) -> Iterator[None]:
    """One partition of the topic of commits has but one replica."""
    admin = KafkaAdminClient(**cluster.direct_address.kafka_python())
    before = list(cluster.partition(OFFSETS, partition).replicas)

    def move(replicas: list[int]) -> None:
        admin.alter_partition_reassignments({TopicPartition(OFFSETS, partition): replicas})
        wait_until(
            lambda: cluster.partition(OFFSETS, partition),
            lambda state: sorted(state.replicas) == sorted(replicas) and state.fully_replicated,
            what=f"{OFFSETS}-{partition} on {replicas}",
            timeout=AS_LONG,
        )

    try:
        move([broker])
        yield
    finally:
        move(before)
        admin.close()


def test_a_deleted_group_is_gone_and_its_neighbour_is_not(cluster: Cluster, monitor: LagMonitor, truth: Truth):
    cluster.create_topic("shared")
    fill(cluster.address, "shared", 20)
    for group in ("deleted", "kept"):
        commit(cluster.address, group, "shared", 5)
    monitor.wait_for("both seen", lambda told: {"deleted", "kept"} <= told.keys())

    truth.delete_group("deleted")

    monitor.wait_for("deleted gone", lambda told: "deleted" not in told)
    assert 'group="deleted"' not in monitor.page() and 'group="kept"' in monitor.page()
    assert monitor.group("kept")["lag"] == 15


def test_back_is_a_rewind_and_forward_is_not(cluster: Cluster, monitor: LagMonitor):
    cluster.create_topic("moved")
    fill(cluster.address, "moved", 100)
    for group in ("back", "forth"):
        commit(cluster.address, group, "moved", 50, 60)
        monitor.wait(group, "OK", "WARMING_UP", "STOPPED")
        wait_until(lambda group=group: monitor.group(group)["lag"], lambda lag: lag == 40, what="60 seen", timeout=AS_LONG)

    with witness(monitor) as seen:
        commit(cluster.address, "back", "moved", 20)
        commit(cluster.address, "forth", "moved", 100)
        back = monitor.wait("back", "REWOUND")
        monitor.wait("forth", "OK", "EMPTY_GROUP")
        commit(cluster.address, "back", "moved", 100)
        monitor.wait("back", "OK", "EMPTY_GROUP")

    assert back["reason"].startswith("moved-0: went back from 60 at ") and " and is at 20 now; 80 records" in back["reason"]
    assert back["burrow"] == "ERR"
    assert "REWOUND" not in seen.of("forth")


def test_records_deleted_before_they_were_read_are_counted(cluster: Cluster, monitor: LagMonitor, truth: Truth):
    cluster.create_topic("short")
    fill(cluster.address, "short", 100)
    commit(cluster.address, "robbed", "short", 10)
    commit(cluster.address, "spared", "short", 40)
    monitor.wait_for("both seen", lambda told: {"robbed", "spared"} <= told.keys())

    truth.delete_records("short", 40)

    robbed = monitor.wait("robbed", "DATA_LOSS")
    assert truth.start("short") == 40
    assert robbed["reason"] == "short-0: 30 records deleted before being read: committed 10, the log begins at 40"
    monitor.wait_looks(2)
    assert monitor.group("spared")["status"] in ("OK", "WARMING_UP", "STOPPED")
    assert monitor.group("spared")["lag"] == 60


# ---- its own machine -----------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_is_told_once_and_nothing_else_suffers(monitor: LagMonitor):
    """No file of this process may grow beyond some bytes: what a full disk looks like, and it can be made well again."""
    process = psutil.Process(monitor.process.pid)
    free = process.rlimit(psutil.RLIMIT_FSIZE)
    monitor.wait_figure("kafka_lag_saves_total", lambda saves: saves > 0)
    before, words = monitor.figure("kafka_lag_failed_saves_total"), len(monitor.log())

    with witness(monitor) as seen:
        process.rlimit(psutil.RLIMIT_FSIZE, (8_192, free[1]))
        try:
            monitor.wait_figure("kafka_lag_failed_saves_total", lambda failed: failed >= before + 3)
            saves = monitor.figure("kafka_lag_saves_total")
        finally:
            process.rlimit(psutil.RLIMIT_FSIZE, free)
        monitor.wait_figure("kafka_lag_saves_total", lambda now: now > saves)
        wait_all_well(monitor)

    told = [line for line in monitor.log()[words:].splitlines() if "cannot be written" in line]
    assert before == 0
    assert len(told) == 1 and "The monitor goes on without" in told[0], told
    assert monitor.log()[words:].count("is written again") == 1
    never_called_dead(seen)
    assert seen.of("stuck") == {"STALLED"}


def test_who_slept_does_not_say_that_others_stopped(monitor: LagMonitor):
    """Stopped for longer than anybody's patience, and than what it takes to be blind."""
    stuck = monitor.wait("stuck", "STALLED")
    with witness(monitor) as seen:
        monitor.process.send_signal(signal.SIGSTOP)
        try:
            asleep(QUIET + 3)
        finally:
            monitor.process.send_signal(signal.SIGCONT)
        monitor.wait_looks(8)
        wait_all_well(monitor)

    never_called_dead(seen)
    still_stuck(seen)
    assert monitor.wait("stuck", "STALLED")["partitions"][0]["committed"] == stuck["partitions"][0]["committed"]


def asleep(seconds: float) -> None:
    """The one state that there is to wait for is that time went by."""
    woken = time.monotonic() + seconds
    wait_until(time.monotonic, lambda now: now >= woken, what="time to go by", timeout=seconds + 30)


@dataclass
class Clock:
    off: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.off


def test_a_clock_that_is_set_makes_nobody_stop(cluster: Cluster, stuck: Member):
    """An hour ahead, and an hour back again; what was so before is so since as long as before."""
    clock = Clock()
    patience = Patience(interval=1, quiet=QUIET, slow=3, transaction=5, blind=6)
    watch = Watch("trial", cluster.address, patience=patience, topics_every=2, groups_every=2, timeout=3)
    looker = Looker(watch, ClusterStore(BurrowRules(), Names(), clock()), wall=clock)
    view = ClusterView(looker)
    seen: dict[str, set[Status]] = {}

    def look() -> int:
        looker.look()
        view.publish()
        for one in view.groups:
            seen.setdefault(one.group, set()).add(one.status)
        return looker.figures.looks

    def look_on(count: int) -> dict[str, GroupVerdict]:
        until = looker.figures.looks + count
        wait_until(look, lambda looks: looks >= until, what="looks", timeout=AS_LONG, every=1)
        return {one.group: one for one in view.groups}

    looker.start()
    try:
        wait_until(look, lambda _: view.ready, what="ready", timeout=AS_LONG, every=1)
        told = [look_on(6)]
        for hours in (1, 0):
            clock.off = hours * 3_600.0
            told.append(look_on(6))
    finally:
        looker.stop()
        looker.close()

    assert looker.figures.clock_jumps == 2
    for group in WELL:  # SLOW may be: seconds are measured by the clock that is wrong, and an hour behind is much
        assert seen[group] <= {Status.OK, Status.SLOW}, (group, seen[group], [one[group].reason for one in told])
        assert told[-1][group].status is Status.OK, (group, told[-1][group].reason)
    before, ahead, back = (one["stuck"] for one in told)
    assert 3_590 < ahead.at - before.at < 3_700 and back.at < ahead.at
    assert all(math.isfinite(one.seconds) for one in (before, ahead, back) if one.seconds is not None)
    assert Status.STALLED in seen["stuck"] or before.status is Status.WARMING_UP


# ---- what it reads -----------------------------------------------------------------------------------------------------


def test_whatever_is_written_among_the_commits_it_lives(cluster: Cluster, monitor: LagMonitor):
    """Brokers let nobody write there but a client of this name. Last of all: a broker that comes to lead this partition
    cannot read it any more than we can, and takes it worse."""
    chance = random.Random(7)
    broken = [*(noise(chance) for _ in range(2_000)), *nearly_right()]
    before = monitor.figure("kafka_lag_malformed_total")
    producer = Producer(cluster.address.librdkafka() | {"client.id": "__admin_client", "log_level": 0})
    lost: list[Any] = []

    with witness(monitor) as seen:
        for key, value in broken:
            producer.produce(
                OFFSETS, value, key, partition=0, on_delivery=lambda error, _: lost.append(error) if error else None
            )
        assert producer.flush(30) == 0 and lost == []
        # Some are right by chance: keys of two bytes need no more, and what is not known is no mistake of ours.
        monitor.wait_figure("kafka_lag_malformed_total", lambda now: now - before >= 0.9 * len(broken))
        monitor.wait_looks(3)
        wait_all_well(monitor)

    assert monitor.process.poll() is None
    assert monitor.figure("kafka_lag_malformed_total") - before <= len(broken)
    never_called_dead(seen)
    assert monitor.figure("kafka_lag_up") == 1
    assert monitor.wait("stuck", "STALLED") and "Traceback" not in monitor.log()
    assert not {group for group in monitor.groups() if not group.isprintable()}


def noise(chance: random.Random) -> tuple[bytes, bytes]:
    return chance.randbytes(chance.randrange(1, 60)), chance.randbytes(chance.randrange(0, 80))


def nearly_right() -> Iterator[tuple[bytes, bytes | None]]:
    """Of a group that is well, and of one that never was: what begins as Kafka writes it and does not end so."""
    name, topic = WELL[0].encode(), b"flow"
    text = struct.pack(">h", len(name)) + name + struct.pack(">h", len(topic)) + topic
    good = struct.pack(">h", 1) + text + struct.pack(">i", 0)
    yield good, b""
    yield good, struct.pack(">hq", 4, 5)  # ends too early
    yield good, struct.pack(">hqi", 4, 5, 0) + b"\xff\xff\xff\xff\xff"  # a length without end
    yield good, struct.pack(">hqihq", 3, -5, 0, 0, 1)  # before the beginning of any log
    yield good, struct.pack(">hqihq", 3, 5, 0, 32_000, 1)  # metadata longer than the record
    yield good, struct.pack(">h", 99) + bytes(40)
    yield struct.pack(">h", 1) + struct.pack(">h", -5) + name, bytes(30)
    yield struct.pack(">h", 1) + struct.pack(">h", 30_000) + name, bytes(30)
    yield struct.pack(">h", 1) + struct.pack(">h", 2) + b"\xc3\x28" + text, bytes(30)  # not UTF-8
    yield struct.pack(">hh", 2, len(name)) + name, struct.pack(">h", 3) + b"\xff" * 20
    yield struct.pack(">hh", 2, len(name)) + name, struct.pack(">hi", 4, 2**31 - 1)
    yield struct.pack(">hh", 999, len(name)) + name, b"from the future"
