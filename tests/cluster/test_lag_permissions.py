"""With which rights the lag monitor sees what, on a cluster with ACLs: each is taken away alone, and its loss is told."""

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from compose.cluster import Cluster
from kernel.waiting import wait_until
from lag_monitor.judge.settings import Patience
from lag_monitor.monitor import ClusterLoop
from lag_monitor.verdict import GroupVerdict, Status
from lag_monitor.watch import Watch
from tests.cluster.lag_situations import rewind
from tests.cluster.traffic import send

PATIENCE = Patience(interval=0.5, quiet=3, slow=2, blind=15)
USERS = count()
Right = tuple[ResourceType, str, ResourcePatternType, AclOperation]

ANY = ResourcePatternType.LITERAL
CLUSTER: Right = (ResourceType.BROKER, "kafka-cluster", ANY, AclOperation.DESCRIBE)
GROUPS: Right = (ResourceType.GROUP, "*", ANY, AclOperation.DESCRIBE)
TOPICS: Right = (ResourceType.TOPIC, "*", ANY, AclOperation.DESCRIBE)
COMMITS: Right = (ResourceType.TOPIC, "__consumer_offsets", ANY, AclOperation.READ)
DATA: Right = (ResourceType.TOPIC, "ledger", ANY, AclOperation.READ)
ALL = (CLUSTER, GROUPS, TOPICS, COMMITS, DATA)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A group that has read everything, in a topic that ends in a marker; and one that is 5 behind."""
    few = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
    with Cluster(brokers=1, security="sasl_ssl", config=few, provider="processes") as made:
        for topic in ("ledger", "plain"):
            made.create_topic(topic, partitions=1, replication=1)
        producer = Producer(made.address.librdkafka() | {"transactional.id": "once", "log_level": 0})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("ledger", b"a record", partition=0)
        producer.commit_transaction(10)
        send(made.address, "plain", list("abcdef"))
        rewind(made.address, "once", "ledger", 1)
        rewind(made.address, "late", "plain", 1)
        yield made


@pytest.fixture
def as_user(cluster: Cluster) -> Iterator[Callable[..., ClusterLoop]]:
    admin = AdminClient(cluster.address.librdkafka() | {"log_level": 0})
    loops: list[ClusterLoop] = []

    def begin(*rights: Right) -> ClusterLoop:
        name = f"watcher-{next(USERS)}"
        cluster.create_user(name, "a password")
        bindings = [
            AclBinding(kind, what, pattern, f"User:{name}", "*", operation, AclPermissionType.ALLOW)
            for kind, what, pattern, operation in rights
        ]
        for made in admin.create_acls(bindings).values() if bindings else ():
            made.result(10)
        wait_until(lambda: _bound(admin, name), lambda found: found == len(bindings), what="the rights", timeout=20)
        address = cluster.address_for(name, "a password")
        watch = Watch("trial", address, patience=PATIENCE, topics_every=1, groups_every=1, timeout=5)
        loops.append(ClusterLoop(watch, None, 1e9, lambda view: None))
        loops[-1].looker.start()
        return loops[-1]

    yield begin
    for loop in loops:
        loop.looker.stop()
        loop.looker.reader.join(5)
        loop.looker.close()


def _bound(admin: AdminClient, name: str) -> int:
    mine = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{name}", None, AclOperation.ANY, AclPermissionType.ANY
    )
    return len(admin.describe_acls(mine).result(10))


def verdict(loop: ClusterLoop, group: str, good: Callable[[GroupVerdict], bool]) -> GroupVerdict:
    def look() -> GroupVerdict | None:
        loop.looker.look()
        loop.view.publish()
        return loop.view.group(group)

    found = wait_until(look, lambda one: one is not None and good(one), what=f"a verdict on {group}", timeout=40, every=0.3)
    assert found is not None
    return found


def test_with_every_right_everything_is_seen(as_user: Callable[..., ClusterLoop]):
    loop = as_user(*ALL)
    late = verdict(loop, "late", lambda one: one.status is Status.STOPPED)
    once = verdict(loop, "once", lambda one: one.lag == 0)

    assert (late.lag, late.partitions[0].end) == (5, 6)
    assert once.status in (Status.OK, Status.EMPTY_GROUP)
    assert (loop.view.ready, loop.looker.trouble) == (True, "")


def test_without_the_topic_of_commits_the_admin_calls_do_alone_and_that_is_told(as_user: Callable[..., ClusterLoop]):
    loop = as_user(CLUSTER, GROUPS, TOPICS, DATA)
    late = verdict(loop, "late", lambda one: one.status is Status.STOPPED)

    assert late.lag == 5
    assert loop.view.ready
    assert loop.looker.trouble.startswith("__consumer_offsets cannot be read")


def test_without_reading_a_topic_markers_cannot_be_told_from_records(as_user: Callable[..., ClusterLoop]):
    loop = as_user(CLUSTER, GROUPS, TOPICS, COMMITS)
    once = verdict(loop, "once", lambda one: one.status is Status.UNKNOWN)

    assert "the monitor may not read the topic to tell" in once.reason


def test_without_describing_a_topic_nothing_is_said_of_it(as_user: Callable[..., ClusterLoop]):
    described: Right = (ResourceType.TOPIC, "plain", ANY, AclOperation.DESCRIBE)
    internal: Right = (ResourceType.TOPIC, "__consumer_offsets", ANY, AclOperation.DESCRIBE)
    loop = as_user(CLUSTER, GROUPS, described, internal, COMMITS)
    verdict(loop, "late", lambda one: one.status is Status.STOPPED)

    assert "ledger" not in loop.looker.store.heads.rows
    assert not [one for one in loop.view.groups if one.group == "once" and one.partition_count]


def test_without_any_right_nothing_is_seen_and_nobody_is_accused(as_user: Callable[..., ClusterLoop]):
    loop = as_user()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        loop.looker.look()
        loop.view.publish()

    assert loop.view.groups == []
