"""Client metrics against the truth: what was sent, what is behind, who reaches whom, on real brokers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, DeserializingConsumer, KafkaException, Producer, TopicPartition
from confluent_kafka.serialization import StringDeserializer
from prometheus_client import REGISTRY, CollectorRegistry

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Latency
from exporters.clients import ClientMetrics
from kernel.waiting import wait_until
from tests.cluster.traffic import send
from tests.pure.snippets import blocks

OFTEN = {"statistics.interval.ms": 200, "log_level": 0}
QUICK = {"group.consumer.min.heartbeat.interval.ms": "1000", "group.consumer.heartbeat.interval.ms": "1000"}
Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(provider="processes", config=QUICK) as cluster:
        yield cluster


class Page:
    """What stands on it is fresh for ever, unless time goes on: a machine that stands still must not age it."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.metrics, self.registry = ClientMetrics(clock=clock), CollectorRegistry()
        self.registry.register(self.metrics)
        self.address = cluster.address.librdkafka()

    def config(self, callbacks: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        settings = {name.replace("_", "."): value for name, value in more.items()}
        return self.metrics.watched(self.address | OFTEN | settings | (callbacks or {}))

    def figures(self) -> Figures:
        """Without the label of the client: each test has one of a kind."""
        found = (sample for family in self.registry.collect() for sample in family.samples)
        return {(sample.name, frozenset(sample.labels.items() - _client(sample.labels))): sample.value for sample in found}

    def wait(self, poll: Callable[[float], Any], name: str, wanted: float | None, **labels: str) -> None:
        """Until the figure has the value; None: until it is not there."""
        figure = (f"kafka_client_{name}", frozenset(labels.items()))

        def look() -> float | None:
            poll(0.1)
            return self.figures().get(figure)

        wait_until(look, lambda seen: seen == wanted, what=f"{figure} is {wanted}", timeout=30)

    def value(self, name: str, **labels: str) -> float | None:
        return self.figures().get((f"kafka_client_{name}", frozenset(labels.items())))


def _client(labels: dict[str, str]) -> set[tuple[str, str]]:
    return {item for item in labels.items() if item[0] == "client"}


@pytest.fixture
def page(cluster: Cluster) -> Page:
    return Page(cluster)


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")[:200]
    cluster.create_topic(name, partitions=2)
    return name


def nothing(_: float) -> None:
    """An application that does not poll."""


def test_what_was_sent_is_what_is_told(page: Page, topic: str):
    producer = Producer(page.config())
    for value in range(300):
        producer.produce(topic, b"x" * 10, partition=value % 2)
    producer.flush(30)

    page.wait(producer.poll, "queue_records", 0)
    assert (page.value("records_sent_total"), page.value("bytes_sent_total")) == (300, 3000)
    assert page.value("deliveries_total", topic=topic, outcome="ok") == 300
    assert page.value("delivery_seconds_count", topic=topic) == 300
    assert page.value("callback_errors_total") == 0
    assert page.value("transaction_state", state="Init") is None


def test_the_queue_is_seen_to_fill_while_the_brokers_are_frozen_and_to_empty(page: Page, topic: str, cluster: Cluster):
    producer = Producer(page.config(queue_buffering_max_messages=50, socket_timeout_ms=1000))
    producer.produce(topic, b"reaches its leader", partition=0)
    producer.flush(30)

    with frozen(cluster):
        for _ in range(50):
            producer.produce(topic, b"waits", partition=0)
        with pytest.raises(BufferError):
            producer.produce(topic, b"one too many", partition=0)
        page.wait(producer.poll, "queue_records", 50)
        assert (page.value("queue_bytes"), page.value("queue_max_records")) == (250, 50)
        page.wait(producer.poll, "connected_brokers", 0)

    page.wait(producer.poll, "deliveries_total", 51, topic=topic, outcome="ok")
    page.wait(producer.poll, "queue_records", 0)
    assert (page.value("records_sent_total") or 0) >= 51, "what is sent again counts again"


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    try:
        for broker in cluster.brokers:
            cluster.pause(broker)
        yield
    finally:
        for broker in cluster.brokers:
            cluster.resume(broker)


def test_a_client_that_reaches_nobody_says_so_and_its_records_fail_by_name(page: Page, topic: str):
    lost = Producer(page.config(bootstrap_servers="127.0.0.1:1", message_timeout_ms=500))
    lost.produce(topic, b"x")

    page.wait(lost.poll, "deliveries_total", 1, topic=topic, outcome="_MSG_TIMED_OUT")
    page.wait(lost.poll, "connected_brokers", 0)
    assert page.value("records_sent_total") == 0


def test_a_slow_broker_is_seen_in_its_longest_request_and_never_as_a_median_of_0(page: Page, topic: str, cluster: Cluster):
    leader = str(cluster.leader_of(topic))
    longest: list[float] = []
    medians: list[float] = []

    def look(_: str) -> None:
        for seen, quantile in ((longest, "1"), (medians, "0.5")):
            figure = page.value("request_latency_seconds", broker=leader, quantile=quantile)
            seen += [] if figure is None else [figure]

    producer = Producer(page.config({"stats_cb": look}, linger_ms=0))
    producer.produce(topic, b"connects", partition=0)
    producer.flush(30)
    page.wait(producer.poll, "records_sent_total", 1)
    total = lambda: page.value("request_latency_seconds_sum", broker=leader) or 0.0  # noqa: E731
    before = total()  # on a busy machine a first request may have been as slow
    with cluster.broken(Latency(ms=900), Link("client", int(leader))):
        longest.clear()
        producer.produce(topic, b"slow", partition=0)
        wait_until(
            lambda: (producer.poll(0.1), total() - before, max(longest, default=0.0)),
            lambda seen: min(seen[1:]) >= 0.9,
            what="a request of 0.9 s, in the sum and as the longest",
            timeout=30,
        )

    assert medians and min(medians) > 0


def test_a_transaction_goes_through_its_states(page: Page, topic: str):
    producer = Producer(page.config(transactional_id=topic))
    page.wait(producer.poll, "transaction_state", 1, state="Init")
    producer.init_transactions(30)
    producer.begin_transaction()
    page.wait(producer.poll, "transaction_state", 1, state="InTransaction")
    producer.produce(topic, b"kept", partition=0)
    producer.commit_transaction(30)
    page.wait(producer.poll, "transaction_state", 1, state="Ready")
    assert page.value("idempotence_state", state="Assigned") == 1
    assert page.value("broker_up", broker="transaction-coordinator") == 1

    other = Producer(page.address | {"transactional.id": topic, "log_level": 0})
    other.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"fenced", partition=0)
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)

    page.wait(producer.poll, "transaction_state", 1, state="FatalError")
    assert page.value("transaction_state", state="Ready") is None


def test_an_aborted_transactions_records_are_told_apart_from_failures(page: Page, topic: str):
    producer = Producer(page.config(transactional_id=topic, linger_ms=30000))
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"sent", partition=0)
    producer.flush(30)
    producer.produce(topic, b"still in the queue", partition=0)
    producer.abort_transaction(30)

    page.wait(producer.poll, "deliveries_total", 1, topic=topic, outcome="_PURGE_QUEUE")
    assert page.value("deliveries_total", topic=topic, outcome="ok") == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_lag_is_the_end_less_the_position(page: Page, topic: str, cluster: Cluster, protocol: str):
    for partition in (0, 1):
        send(cluster.address, topic, [str(value) for value in range(400)], partition=partition)
    consumer = Consumer(page.config(group_id=topic, group_protocol=protocol, auto_offset_reset="earliest"))
    consumer.subscribe([topic])
    page.wait(consumer.poll, "records_received_total", 800)
    consumer.pause(consumer.assignment())

    positions = {place.partition: max(0, place.offset) for place in consumer.position(consumer.assignment())}

    assert 0 < sum(positions.values()) < 800
    for partition, position in positions.items():
        page.wait(consumer.poll, "consumer_lag", 400 - position, topic=topic, partition=str(partition))
    assert page.value("fetch_queue_records") == 0, "what was fetched of a paused partition is thrown away"
    send(cluster.address, topic, ["one more"], partition=0)
    consumer.resume(consumer.assignment())
    for partition in (0, 1):
        page.wait(lambda _: consumer.consume(1000, 0.1), "consumer_lag", 0, topic=topic, partition=str(partition))
    consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_rebalance_is_seen_by_who_gives_and_by_who_is_given(page: Page, topic: str, cluster: Cluster, protocol: str):
    other = Page(cluster)
    settings = {"group_id": topic, "group_protocol": protocol, "auto_offset_reset": "earliest"}
    first, second = Consumer(page.config(**settings)), Consumer(other.config(**settings))
    first.subscribe([topic])
    page.wait(first.poll, "assigned_partitions", 2)
    page.wait(first.poll, "group_join_state", 1, state="steady")
    alone = page.value("rebalances_total") or 0
    assert alone >= 1
    assert page.value("broker_up", broker="coordinator") == 1

    second.subscribe([topic])
    for each in (page, other):
        each.wait(lambda seconds: (first.poll(seconds), second.poll(seconds)), "assigned_partitions", 1)

    assert (page.value("rebalances_total") or 0) > alone
    assert (other.value("rebalances_total") or 0) >= 1
    assert page.value("rebalance_age_seconds") is not None
    first.close()
    second.close()


def test_a_deserializing_consumer_is_watched_too(page: Page, topic: str, cluster: Cluster):
    send(cluster.address, topic, ["a", "b"])
    deserializer = {"value.deserializer": StringDeserializer()}
    consumer = DeserializingConsumer(page.config(group_id=topic, auto_offset_reset="earliest") | deserializer)
    consumer.assign([TopicPartition(topic, 0, 0)])

    page.wait(consumer.poll, "consumer_lag", 0, topic=topic, partition="0")
    assert page.value("records_received_total") == 2
    consumer.close()


def test_an_application_that_stops_polling_is_told_apart_and_comes_back(cluster: Cluster):
    page = Page(cluster, time.monotonic)
    producer = Producer(page.config())
    page.wait(producer.poll, "queue_records", 0)

    page.wait(nothing, "up_to_date", 0)
    assert page.value("queue_records") is None
    assert (page.value("statistics_age_seconds") or 0) > 0.6

    page.wait(producer.poll, "queue_records", 0)


def test_a_consumer_that_was_closed_goes_stale_and_is_gone_with_its_last_reference(topic: str, cluster: Cluster):
    page = Page(cluster, time.monotonic)
    consumer = Consumer(page.config(group_id=topic))
    consumer.subscribe([topic])
    page.wait(consumer.poll, "up_to_date", 1)

    consumer.close()
    page.wait(nothing, "up_to_date", 0)
    del consumer

    page.wait(nothing, "up_to_date", None)


def test_the_first_snippet_of_the_page_does_what_the_page_says(cluster: Cluster, topic: str):
    """Run as it is printed, but for the address, the topic and the port."""
    snippet = blocks("clients.md", "python")[0].replace("localhost:9092", cluster.address.bootstrap).replace("orders", topic)

    exec(compile(snippet.replace("8000", "0"), "docs/clients.md", "exec"), {"__name__": "docs"})  # noqa: S102

    assert REGISTRY.get_sample_value("kafka_client_deliveries_total", {"topic": topic, "outcome": "ok"}) == 1
