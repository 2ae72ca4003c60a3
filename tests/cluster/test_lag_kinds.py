"""Groups of every kind that Kafka has, watched on a real cluster: classic, consumer (KIP-848), streams and share."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import ShareConsumer

from compose.cluster import Cluster
from kernel.waiting import wait_until
from lag_monitor.judge.settings import Patience
from lag_monitor.monitor import ClusterLoop
from lag_monitor.verdict import GroupVerdict, Status
from lag_monitor.watch import ADMIN, TOPIC, Watch
from tests.cluster.daemons import TRIAL
from tests.cluster.lag_situations import Member, rewind
from tests.cluster.streams_member import StreamsMember
from tests.cluster.traffic import send

PATIENCE = Patience(interval=0.5, quiet=4, slow=2, blind=10)
Looking = Callable[..., ClusterLoop]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, config={"offsets.topic.num.partitions": "5"}, provider="processes") as made:
        yield made


@pytest.fixture
def looking(cluster: Cluster) -> Iterator[Looking]:
    loops: list[ClusterLoop] = []

    def begin(*sources: str) -> ClusterLoop:
        watch = Watch("trial", cluster.address, sources=sources, patience=PATIENCE, topics_every=1, groups_every=1)
        loops.append(ClusterLoop(watch, None, 1e9, lambda view: None))
        loops[-1].looker.start()
        return loops[-1]

    yield begin
    for loop in loops:
        loop.looker.stop()
        loop.looker.reader.join(5)
        loop.looker.close()


def seen(loop: ClusterLoop, group: str, good: Callable[[GroupVerdict], bool], also: Callable[[], Any] = lambda: None) -> Any:
    """Looks until the verdict on a group is as wanted, and returns it."""

    def look() -> GroupVerdict | None:
        also()
        loop.looker.look()
        loop.view.publish()
        return loop.view.group(group)

    wanted = wait_until(
        look, lambda verdict: verdict is not None and good(verdict), what=f"a verdict on {group}", timeout=60, every=0.3
    )
    assert wanted is not None
    return wanted


@pytest.mark.parametrize("sources", [(ADMIN, TOPIC), (ADMIN,), (TOPIC,)], ids=" and ".join)
@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_a_consumer_group_its_members_and_its_end(cluster: Cluster, looking: Looking, kind: str, sources: tuple[str, ...]):
    name = f"{kind}-{'-'.join(sources)}".replace(" ", "-")
    cluster.create_topic(name, partitions=2, replication=1)
    send(cluster.address, name, [str(number) for number in range(20)])
    member = Member(cluster.address, name, name, **{"group.protocol": kind})
    loop = looking(*sources)
    try:
        well = seen(loop, name, lambda one: one.members == 1 and any(part.committed == 20 for part in one.partitions))
    finally:
        member.leave()
    send(cluster.address, name, ["late"])
    left = seen(loop, name, lambda one: one.status is Status.STOPPED)

    assert (well.kind, well.status) == (kind, Status.OK)
    assert {part.partition for part in well.partitions if part.owner} == {0, 1}
    assert (left.members, left.lag) == (0, 1)
    assert "the group has no members" in left.reason


def test_a_streams_group(cluster: Cluster, looking: Looking):
    cluster.create_topic("flow", partitions=1, replication=1)
    send(cluster.address, "flow", [str(number) for number in range(10)])
    member = StreamsMember(cluster.address, "flow-app", "flow")
    wait_until(lambda: member.beat() or member.partitions, bool, what="tasks for the member", timeout=30, every=0.5)
    loop = looking(ADMIN, TOPIC)

    member.commit(10)
    behind = seen(loop, "flow-app", lambda one: one.partition_count == 1, member.beat)
    send(cluster.address, "flow", ["more"])
    stalled = seen(loop, "flow-app", lambda one: one.status is Status.STALLED, member.beat)
    member.leave()
    stopped = seen(loop, "flow-app", lambda one: one.members == 0 and one.status is Status.STOPPED)

    assert (behind.kind, behind.members) == ("streams", 1)
    assert (stalled.lag, stalled.members) == (1, 1)
    assert "the group has no members" in stopped.reason


def test_a_share_group(cluster: Cluster, looking: Looking):
    cluster.create_topic("jobs", partitions=1, replication=1)
    cluster.alter_group("workers", {"share.auto.offset.reset": "earliest"})
    send(cluster.address, "jobs", [str(number) for number in range(30)])
    worker = ShareConsumer(cluster.address.librdkafka() | {"group.id": "workers", "log_level": 0})
    worker.subscribe(["jobs"])
    loop = looking(ADMIN, TOPIC)
    try:
        well = seen(loop, "workers", lambda one: one.partition_count == 1 and one.lag == 0, lambda: _work(worker))
        send(cluster.address, "jobs", ["one more", "and another"])
        behind = seen(loop, "workers", lambda one: one.lag == 2)
        done = seen(loop, "workers", lambda one: one.lag == 0, lambda: _work(worker))
    finally:
        worker.close()

    assert (well.kind, well.state, well.status) == ("share", "Stable", Status.OK)
    assert "2 records behind" in behind.partitions[0].reason
    assert done.status is Status.OK


def _work(worker: Any) -> None:
    """Takes what there is, and acknowledges it."""
    deadline = time.monotonic() + 1
    while not list(worker.poll(0.2) or ()) and time.monotonic() < deadline:
        pass
    worker.commit_sync()


def test_a_group_that_is_neither_is_not_lost_when_the_newer_kinds_cannot_be_listed(
    cluster: Cluster, looking: Looking, monkeypatch: pytest.MonkeyPatch
):
    """A list that could not be had is no list without them."""
    cluster.create_topic("kept", partitions=1, replication=1)
    send(cluster.address, "kept", ["a", "b"])
    member = StreamsMember(cluster.address, "kept-app", "kept")
    wait_until(lambda: member.beat() or member.partitions, bool, what="tasks for the member", timeout=30, every=0.5)
    member.commit(2)
    loop = looking(ADMIN, TOPIC)
    seen(loop, "kept-app", lambda one: one.partition_count == 1, member.beat)
    monkeypatch.setattr(loop.looker.asker.share, "groups", lambda: None)
    loop.looker.look()
    loop.view.publish()
    member.leave()

    assert "kept-app" in loop.view.by_name


def test_a_table_in_the_terminal_lives_until_it_is_interrupted(cluster: Cluster):
    cluster.create_topic("shown", partitions=1, replication=1)
    send(cluster.address, "shown", list("abc"))
    rewind(cluster.address, "watched", "shown", 1)
    ours, theirs = pty.openpty()
    words = ["lag", "watch", "--bootstrap", cluster.address.bootstrap, "--every", "0.3", "--all"]
    large = os.environ | {"TERM": "xterm", "COLUMNS": "150", "LINES": "40"}
    watching = subprocess.Popen(
        [TRIAL, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=large, start_new_session=True
    )
    os.close(theirs)
    shown = ""

    def screen() -> str:
        nonlocal shown
        with suppress(OSError):  # how a terminal says that nobody writes any more
            while select.select([ours], [], [], 0)[0]:
                shown += os.read(ours, 65_536).decode(errors="replace")
        return shown

    try:
        row = re.compile(r"watched +2 +.*2 records behind")
        wait_until(screen, lambda seen: len(row.findall(seen)) > 2, what="the group, again and again", timeout=40)
        watching.send_signal(signal.SIGINT)
        wait_until(lambda: (screen(), watching.poll())[1], lambda code: code is not None, what="its end", timeout=20)
    finally:
        watching.kill()
        watching.wait()
        os.close(ours)

    assert watching.returncode == 0
