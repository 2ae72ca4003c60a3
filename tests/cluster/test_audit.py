"""The audit on real brokers: quiet when all is well, exact when records are lost, uncertain when somebody was killed."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Blackhole, Cut
from interceptors import Consumer, Producer
from interceptors.audit.auditor import Auditor
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.audit_once import audited
from kernel.waiting import wait_until
from tests.cluster.daemons import TRIAL, daemon

TOP = Path(__file__).parent.parent.parent
# The ISR must stay complete while its followers hear nothing, or the next leader would not be elected without their records.
SETTINGS = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(config=SETTINGS) as cluster:
        yield cluster


class Stage:
    """One test's topics: its orders, and its audit."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.orders, self.audit = cluster, f"orders-{name}", f"audit-{name}"
        self.opened: list[Any] = []

    def consumer(self, config: dict[str, Any] | None = None, topic: str | None = None) -> Any:
        self.opened.append(Consumer(config or self.reader()))
        self.opened[-1].subscribe([topic or self.orders])
        return self.opened[-1]

    def producer(self, **more: Any) -> Any:
        self.opened.append(Producer(self.config(**more)))
        return self.opened[-1]

    def config(self, **more: Any) -> dict[str, Any]:
        own = {
            "interceptor.classes": ["interceptors.audit.Audit"],
            "interceptor.audit.topic": self.audit,
            "interceptor.audit.every.ms": 200,
            "interceptor.audit.close.ms": 20_000,
            "log_level": 0,
        }
        return self.cluster.address.librdkafka() | own | {key.replace("__", "."): value for key, value in more.items()}

    def reader(self, group: str = "billing", **more: Any) -> dict[str, Any]:
        return self.config(group__id=group, auto__offset__reset="earliest") | more

    def send(self, values: list[str], *, producer: Any = None, **more: Any) -> dict[str, tuple[int, int]]:
        """Where the acknowledged ones stand."""
        own = producer or self.producer(**more)
        places: dict[str, tuple[int, int]] = {}

        def told(error: Any, message: Any) -> None:
            if error is None:
                places[message.value().decode()] = (message.partition(), message.offset())

        for value in values:
            own.produce(self.orders, value, on_delivery=told)
            own.poll(0)
        own.flush(60)
        if producer is None:
            own.close()
        return places

    def read(self, count: int, *, config: dict[str, Any] | None = None, topic: str | None = None) -> list[str]:
        consumer = self.consumer(config, topic)
        values = read(consumer, count)
        consumer.close()
        return values

    def committed(self) -> int:
        """Records that the group is past, over all partitions."""
        return sum(end for (topic, _), end in self.cluster.committed("billing").items() if topic == self.orders)

    def audited(self, lateness: float = 0.0) -> Auditor:
        kafka = {"bootstrap": self.cluster.address.bootstrap}
        return audited(AuditConfig.model_validate({"kafka": kafka, "topic": self.audit, "lateness": lateness}), 60)

    def report(self, *more: str) -> tuple[int, dict[str, Any]]:
        words = [TRIAL, "audit", "report", "--bootstrap", self.cluster.address.bootstrap, "--topic", self.audit]
        told = subprocess.run([*words, "--lateness", "0", "--json", *more], capture_output=True, text=True, check=False)
        return told.returncode, json.loads(told.stdout)


def read(consumer: Any, count: int) -> list[str]:
    values: list[str] = []

    def one() -> int:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        return len(values)

    wait_until(one, lambda seen: seen >= count, what=f"{count} records", timeout=60, every=0)
    return values


@pytest.fixture
def stage(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Stage]:
    name = request.node.name.removeprefix("test_").translate(str.maketrans("[]_ ", "----"))[:60].strip("-")
    stage = Stage(cluster, name)
    yield stage
    for client in stage.opened:  # while there are brokers: librdkafka waits for ever for those of a consumer left open
        with suppress(RuntimeError):
            client.close()


def worst(auditor: Auditor) -> set[str]:
    return {str(one.verdict) for one in auditor.judgements}


def numbers(count: int, prefix: str = "") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


# ---- all is well ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", ["CreateTime", "LogAppendTime"])
def test_what_arrives_is_complete_by_whatever_timestamps(stage: Stage, clock: str):
    """With LogAppendTime the broker tells the producer its own time, so both tiers put a record into the same bucket."""
    stage.cluster.create_topic(stage.orders, partitions=3, config={"message.timestamp.type": clock})
    stage.send(numbers(3000), compression__type="zstd")
    stage.read(3000)
    assert stage.committed() == 3000

    code, told = stage.report()

    assert code == 0, told
    [flow] = told["flows"]
    assert (flow["records"]["complete"], flow["from"], flow["to"]) == (3000, "producer", "billing")
    assert told["not_complete"] == []


def test_the_daemon_tells_prometheus_and_says_the_same_after_a_restart(stage: Stage, tmp_path: Path):
    stage.cluster.create_topic(stage.orders, partitions=2)
    bootstrap = stage.cluster.address.bootstrap
    config = f'topic = "{stage.audit}"\nlateness = 0\njudge_every = 0.2\n[kafka]\nbootstrap = "{bootstrap}"\n'

    def outcomes(running: Any) -> dict[str, float]:
        found = running.series("kafka_audit_records")
        return {dict(labels)["outcome"]: value for labels, value in found.items() if value}

    with daemon("audit", config, tmp_path) as running:
        assert outcomes(running) == {}, "nobody has reported yet"
        stage.send(numbers(500))
        stage.read(500)
        wait_until(lambda: outcomes(running), lambda seen: seen == {"complete": 500.0}, what="complete", timeout=30)
        send_by_nobody(stage, ["stranger"])
        stage.read(1)
        wait_until(
            lambda: outcomes(running), lambda seen: seen == {"complete": 500.0, "extra": 1.0}, what="one extra", timeout=30
        )
        assert set(running.series("kafka_audit_missed_reports").values()) == {0.0}
        assert running.ends() == 0
    with daemon("audit", config, tmp_path) as again:
        assert outcomes(again) == {"complete": 500.0, "extra": 1.0}
        assert again.ends() == 0


def send_by_nobody(stage: Stage, values: list[str], partition: int = 0) -> list[int]:
    """By a producer that nobody audits; the offsets."""
    producer, offsets = confluent_kafka.Producer(stage.cluster.address.librdkafka()), []
    for value in values:
        producer.produce(
            stage.orders, value, partition=partition, on_delivery=lambda error, message: offsets.append(message.offset())
        )
    producer.flush(30)
    return offsets


# ---- records are lost -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "copies", "after"), [(5, 0, 20), (1, 1, 20), (4, 0, 0)], ids=["lost", "one lost one doubled", "the log is cut"]
)
def test_exactly_what_a_dead_leader_took_with_it_is_named(stage: Stage, lost: int, copies: int, after: int):
    """acks=1: the leader alone has the last records when it is killed. They were acknowledged, and are gone."""
    cluster = stage.cluster
    controller = cluster.controller()
    leader, *followers = [broker for broker in cluster.brokers if broker != controller] + [controller]
    cluster.create_topic(stage.orders, assignment=[[leader, *followers]])
    producer = stage.producer(acks=1, enable__idempotence=False, retries=100)
    live = stage.consumer(stage.reader("live"))
    before = stage.send(numbers(30), producer=producer)
    read(live, 30)
    links = [Link(follower, leader, "replication") for follower in followers]
    with cluster.broken(Blackhole(direction="downstream"), *links):
        exposed = stage.send(numbers(lost, "exposed-"), producer=producer)
        cluster.kill(leader)
        wait_until(lambda: cluster.leader_of(stage.orders), lambda now: now not in (-1, leader), what="a leader", timeout=90)
    later = stage.send(numbers(after, "later-"), producer=producer) if after else {}
    doubled = send_by_nobody(stage, numbers(copies))
    cluster.start(leader)
    cluster.wait_replicated(stage.orders)
    log = stage.read(30 + after + copies)
    read(live, after + copies)
    for client in (producer, live):
        client.close()

    assert (len(before), len(exposed), len(later)) == (30, lost, after), "all of it was acknowledged"
    assert set(exposed).isdisjoint(log), "and those are gone"
    code, told = stage.report()
    assert code == 1
    gone, more = sorted(offset for _, offset in exposed.values()), sorted(doubled)
    assert {one["to"] for one in told["not_complete"]} == {"billing", "live"}
    for tier in ("billing", "live"):
        own = [one for one in told["not_complete"] if one["to"] == tier]
        assert sorted(offset for one in own for offset in one["missing_offsets"]) == gone, own
        assert sorted(offset for one in own for offset in one["extra_offsets"]) == more, own
    assert stage.report()[1] == told, "whoever audits again finds the same"


# ---- nobody is counted twice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("commits", ["auto", "own"])
def test_rebalances_and_restarts_count_nothing_twice(stage: Stage, strategy: str, commits: str):
    stage.cluster.create_topic(stage.orders, partitions=4)
    more = {"partition.assignment.strategy": strategy, "enable.auto.commit": commits == "auto"}
    config = stage.reader() | more | {"auto.commit.interval.ms": 100}
    sent = numbers(400)
    stage.send(sent)
    seen: set[str] = set()
    alive: list[Any] = []

    def polls(until: int) -> None:
        def step() -> int:
            for one in alive:
                message = one.poll(0.02)
                if message is not None and message.error() is None:
                    seen.add(message.value().decode())
                    if commits == "own" and len(seen) % 7 == 0:
                        commit(one, message, asynchronous=len(seen) % 2 == 0)
            return len(seen)

        wait_until(step, lambda count: count >= until, what=f"{until} records", timeout=90, every=0)

    for until in (60, 150, 250):  # one more joins each time; the second time one leaves without committing what it read last
        alive.append(stage.consumer(config))
        polls(until)
        if until == 150:
            alive.pop(0).close()
    sent += numbers(100, "more-")
    stage.send(numbers(100, "more-"))
    polls(500)
    for one in alive:
        if commits == "own":
            commit(one)
        one.close()

    assert seen == set(sent)
    rest = stage.audited()
    assert worst(rest) <= {"complete", "late"}, [one for one in rest.judgements if one.verdict != "complete"]
    if worst(rest) != {"complete"}:  # what was read and never committed is read again by the next, and counts then
        finish(stage.consumer(config | {"enable.auto.commit": True}), stage)
    assert worst(stage.audited()) == {"complete"}


def commit(consumer: Any, *message: Any, asynchronous: bool = False) -> None:
    """Or not: there may be nothing to commit, and amid a rebalance it may be refused."""
    with suppress(confluent_kafka.KafkaException):
        consumer.commit(*message, asynchronous=asynchronous)


def finish(consumer: Any, stage: Stage) -> None:
    """Read on until the group has committed every end."""

    def behind() -> int:
        consumer.poll(0.2)
        return 500 - stage.committed()

    wait_until(behind, lambda left: left == 0, what="all committed", timeout=60, every=0)
    consumer.close()


def test_a_hop_in_transactions_counts_what_is_committed_and_nothing_of_what_is_aborted(stage: Stage):
    stage.cluster.create_topic(stage.orders)
    target = f"{stage.orders}-out"
    stage.cluster.create_topic(target)
    stage.send(numbers(30))
    reader = stage.consumer(stage.reader("hop", **{"enable.auto.commit": False}))
    writer = stage.producer(transactional__id=f"hop-{stage.orders}", interceptor__audit__tier="hop-out")
    writer.init_transactions(30)
    for batch, abort in enumerate((False, True, False)):
        values = read(reader, 10)
        writer.begin_transaction()
        for value in values:
            writer.produce(target, f"{batch}/{value}")
        if abort:
            writer.abort_transaction(30)
            places = reader.committed(reader.assignment(), timeout=30)
            for place in places:
                reader.seek(place)
            assert read(reader, 10) == values, "read again, and this time it is committed"
            writer.begin_transaction()
            for value in values:
                writer.produce(target, f"{batch}/again/{value}")
        writer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), 30)
        writer.commit_transaction(30)
    reader.close()
    writer.close()
    assert len(stage.read(30, topic=target)) == 30

    found = stage.audited()
    assert worst(found) == {"complete"}, found.judgements
    records = {line: sums.outcomes["complete"] for line, sums in found.sums().items()}
    assert records == {(stage.orders, "producer", "hop"): 30, (target, "hop-out", "billing"): 30}, found.alone()


# ---- somebody is killed ---------------------------------------------------------------------------------------------


@contextmanager
def process(what: str, config: dict[str, Any], topic: str, count: int) -> Iterator["subprocess.Popen[str]"]:
    """A client that has sent or read so many, and goes on until it is killed."""
    words = [sys.executable, "-m", "tests.cluster.audited", what, json.dumps(config), topic, str(count)]
    running = subprocess.Popen(words, cwd=TOP, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline().strip() == str(count)
        yield running
    finally:
        running.kill()
        running.wait()


def reported(stage: Stage, tier: str) -> int:
    """How many records a tier has told of."""
    books = stage.audited().books.tiers
    return sum(sum(one.records.values()) for (name, _), one in books.items() if name == tier)


def test_a_killed_producer_leaves_uncertainty_and_never_a_false_alarm(stage: Stage):
    stage.cluster.create_topic(stage.orders)
    stage.send(numbers(5, "first-"))
    slow = stage.config(client__id="dead", interceptor__audit__every__ms=3_600_000)
    with process("produce", slow, stage.orders, 50):
        lives = lambda: stage.audited().books.tiers["producer", "producer"].lives  # noqa: E731
        wait_until(lives, lambda seen: len(seen) == 2, what="a first report", timeout=30)
    stage.send(numbers(20), client__id="next")
    stage.read(75)

    found = stage.audited()
    assert "uncertain" in worst(found)
    assert worst(found) <= {"uncertain", "complete"}, found.judgements
    assert stage.report()[0] == 3


def test_a_killed_consumer_leaves_uncertainty_and_never_a_false_alarm(stage: Stage):
    stage.cluster.create_topic(stage.orders)
    stage.send(numbers(100))
    slow = stage.reader(**{"client.id": "dead", "interceptor.audit.every.ms": 3_600_000, "session.timeout.ms": 6000})
    with process("consume", slow, stage.orders, 50):
        pass
    stage.send(numbers(10, "more-"))
    assert stage.committed() == 50
    stage.read(60)

    found = stage.audited()
    assert "uncertain" in worst(found)
    assert worst(found) <= {"uncertain", "complete"}, found.judgements


def test_with_a_spool_nothing_of_a_killed_producer_is_lost(stage: Stage, tmp_path: Path):
    stage.cluster.create_topic(stage.orders)
    more = {
        "interceptor.audit.every.ms": 3_600_000,
        "interceptor.audit.spool": str(tmp_path),
        "interceptor.audit.save.ms": 50,
    }
    with process("produce", stage.config(client__id="dead") | more, stage.orders, 50):
        wait_until(lambda: saved(tmp_path), lambda count: count == 50, what="50 records in the spool", timeout=30)
    heir = stage.producer(interceptor__audit__spool=str(tmp_path))
    wait_until(lambda: reported(stage, "producer"), lambda count: count == 50, what="the dead one's report", timeout=30)
    stage.send(numbers(20), producer=heir)
    heir.close()
    stage.read(70)

    found = stage.audited()
    assert worst(found) == {"complete"}, found.judgements
    assert list(tmp_path.glob("*.json")) == []


def saved(folder: Path) -> int:
    found = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sum(row["count"] for one in found for row in one["rows"])


def test_what_could_not_be_reported_while_brokers_were_away_is_sent_by_the_next(stage: Stage, tmp_path: Path):
    cluster = stage.cluster
    cluster.create_topic(stage.orders)
    more = {"interceptor__audit__spool": str(tmp_path), "interceptor__audit__close__ms": 1000}
    producer = stage.producer(**(more | {"interceptor__audit__every__ms": 3_600_000}))
    stage.send(numbers(50), producer=producer)
    with cluster.broken(Cut(), *(Link("client", broker) for broker in cluster.brokers)):
        began = time.monotonic()
        producer.close()
        assert time.monotonic() - began < 10
    assert saved(tmp_path) == 50
    heir = stage.producer(**more)
    wait_until(lambda: reported(stage, "producer"), lambda count: count == 50, what="the other's reports", timeout=60)
    heir.close()
    stage.read(50)

    found = stage.audited()
    assert worst(found) == {"complete"}, found.judgements
    lives = found.books.tiers["producer", "producer"].lives.values()
    assert [(life.closed, life.missed) for life in lives] == [(True, 0), (True, 0)]
