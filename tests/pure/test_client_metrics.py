"""One line in a program: what it counts, what it leaves alone, and that nothing old passes for new.

The producers are real. They reach nobody, so purging them brings delivery reports at once.
"""

import gc
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, SerializingProducer
from confluent_kafka.serialization import StringSerializer
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

import exporters.clients
from exporters.clients import ClientMetrics
from exporters.clients.deliveries import MOST_TOPICS, OTHERS, Deliveries
from exporters.clients.samples import FRESH_FOR
from exporters.clients.watching import FORGET_AFTER_S, INTERVAL_MS
from kernel.errors import UsageError
from kernel.metric_tables import METRICS
from kernel.waiting import wait_until
from tests.promtool import linted
from tests.pure.recorded_statistics import told

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
STALE = FRESH_FOR * INTERVAL_MS / 1000 + 1
CONSUMER = {"client": "group_consumer#consumer-4"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Page:
    """A registry of one's own, and what stands on its page."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.metrics = ClientMetrics(clock=self.clock)
        self.registry = CollectorRegistry()
        self.registry.register(self.metrics)
        self.clients: dict[str, Callable[[str], None]] = {}  # a client holds its callback, and nobody else does

    def value(self, name: str, labels: dict[str, str]) -> float | None:
        return self.registry.get_sample_value(name, labels)

    def names(self) -> set[str]:
        return {sample.name for family in self.registry.collect() for sample in family.samples}

    def deliveries(self) -> dict[tuple[str, str], float]:
        return {
            (sample.labels["topic"], sample.labels["outcome"]): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "kafka_client_deliveries_total"
        }

    def hear(self, name: str) -> dict[str, str]:
        """A client that was recorded speaks. Returns the label it goes by."""
        client = self.clients.setdefault(name, self.metrics.watched({})["stats_cb"])
        client(json.dumps(told(name)))
        return {"client": told(name)["name"]}


@pytest.fixture
def page() -> Page:
    return Page()


def purge(producer: Any) -> None:
    producer.purge()
    producer.flush(10)


def poll_until(heard: threading.Event, client: Any) -> None:
    wait_until(lambda: client.poll(0.1), lambda _: heard.is_set(), what="statistics of a real client", timeout=30)


# ---- statistics -------------------------------------------------------------------------------------------------------


def test_a_consumers_figures_are_on_the_page(page: Page):
    page.hear("group_consumer")

    assert page.value("kafka_client_up_to_date", CONSUMER) == 1
    assert page.value("kafka_client_consumer_lag", CONSUMER | {"topic": "orders", "partition": "0"}) == 95
    assert page.value("kafka_client_fetch_queue_records", CONSUMER) == 195
    assert page.value("kafka_client_records_received_total", CONSUMER) == 200
    assert page.value("kafka_client_assigned_partitions", CONSUMER) == 2
    assert page.value("kafka_client_rebalances_total", CONSUMER) == 1
    assert page.value("kafka_client_group_join_state", CONSUMER | {"state": "steady"}) == 1
    assert page.value("kafka_client_connected_brokers", CONSUMER) == 3
    assert page.value("kafka_client_request_latency_seconds_count", CONSUMER | {"broker": "coordinator"}) == 7
    assert not any("queue_max" in name or "internal_latency" in name for name in page.names())


def test_a_producers_figures_are_on_the_page(page: Page):
    of = page.hear("transactional_producer")

    assert page.value("kafka_client_records_sent_total", of) == 20
    assert page.value("kafka_client_queue_max_records", of) == 100_000
    assert page.value("kafka_client_transaction_state", of | {"state": "InTransaction"}) == 1
    assert page.value("kafka_client_epoch_changes_total", of) == 1
    assert not any("lag" in name or "group" in name for name in page.names())


def test_a_broker_that_was_never_needed_is_not_down(page: Page):
    of = page.hear("transactional_producer")

    assert page.value("kafka_client_broker_up", of | {"broker": "1"}) is None
    assert page.value("kafka_client_broker_up", of | {"broker": "2"}) == 1


def test_a_slow_broker_shows_its_longest_request_and_no_median_of_0(page: Page):
    of = page.hear("slow_producer") | {"broker": "3"}

    assert page.value("kafka_client_request_latency_seconds", of | {"quantile": "1"}) == pytest.approx(0.91859)
    assert page.value("kafka_client_request_latency_seconds", of | {"quantile": "0.5"}) is None


def test_what_was_measured_by_intervals_adds_up(page: Page):
    page.hear("group_consumer")
    page.hear("group_consumer")

    assert page.value("kafka_client_request_latency_seconds_count", CONSUMER | {"broker": "coordinator"}) == 14
    assert page.value("kafka_client_records_received_total", CONSUMER) == 200, "librdkafka adds these up by itself"


def test_figures_go_when_the_statistics_stop_and_their_age_stays(page: Page):
    page.hear("group_consumer")
    page.clock.now += STALE

    assert page.value("kafka_client_up_to_date", CONSUMER) == 0
    assert page.value("kafka_client_statistics_age_seconds", CONSUMER) == STALE
    assert page.names() == {
        "kafka_client_up_to_date",
        "kafka_client_statistics_age_seconds",
        "kafka_client_callback_errors_total",
    }


def test_figures_come_back_with_the_statistics(page: Page):
    page.hear("group_consumer")
    page.clock.now += STALE
    page.hear("group_consumer")

    assert page.value("kafka_client_up_to_date", CONSUMER) == 1
    assert page.value("kafka_client_records_received_total", CONSUMER) == 200


def test_how_long_is_fresh_follows_the_interval(page: Page):
    callback = page.metrics.watched({"statistics.interval.ms": "60000"})["stats_cb"]
    callback(json.dumps(told("group_consumer")))
    page.clock.now += STALE

    assert page.value("kafka_client_up_to_date", CONSUMER) == 1


def test_the_age_of_a_rebalance_grows_between_statistics(page: Page):
    page.hear("group_consumer")
    page.clock.now += 3

    assert page.value("kafka_client_rebalance_age_seconds", CONSUMER) == pytest.approx(3.407)


def test_a_client_that_is_no_more_is_gone_at_once(page: Page):
    page.hear("group_consumer")
    assert page.value("kafka_client_up_to_date", CONSUMER) == 1
    page.clients.clear()

    assert page.value("kafka_client_up_to_date", CONSUMER) is None


def test_a_client_that_is_silent_for_long_is_forgotten(page: Page):
    page.hear("group_consumer")
    page.clock.now += FORGET_AFTER_S + 1

    assert page.value("kafka_client_up_to_date", CONSUMER) is None


def test_clients_that_come_and_go_are_forgotten_though_nobody_looks(page: Page):
    page.hear("group_consumer")
    page.clients.clear()
    page.hear("slow_producer")

    assert list(page.metrics._clients) == ["slow_producer#producer-5"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"name": "a", "type": "producer", "txmsgs": "many"}'])
def test_odd_statistics_never_raise_and_are_counted(page: Page, text: str):
    heard: list[str] = []
    page.metrics.watched({"stats_cb": heard.append})["stats_cb"](text)

    assert heard == [text]
    assert page.value("kafka_client_callback_errors_total", {}) == 1


def test_good_statistics_are_no_trouble(page: Page):
    page.hear("group_consumer")

    assert page.value("kafka_client_callback_errors_total", {}) == 0


@pytest.mark.slow
def test_a_real_client_is_gone_with_its_producer(page: Page):
    heard = threading.Event()
    producer = Producer(page.metrics.watched(NOWHERE | {"statistics.interval.ms": 20, "stats_cb": lambda _: heard.set()}))
    poll_until(heard, producer)
    assert "kafka_client_queue_records" in page.names()

    producer.close()
    del producer
    gc.collect()

    assert "kafka_client_up_to_date" not in page.names()


# ---- the configuration ------------------------------------------------------------------------------------------------


def test_the_configuration_is_left_as_it_was_and_a_new_one_is_made(page: Page):
    given = dict(NOWHERE)

    made = page.metrics.watched(given)

    assert given == NOWHERE
    assert made["statistics.interval.ms"] == INTERVAL_MS
    assert page.metrics.watched({"statistics.interval.ms": 100})["statistics.interval.ms"] == 100


@pytest.mark.parametrize("interval", [0, "0", -1, "often", None])
def test_an_interval_that_brings_no_statistics_is_refused(page: Page, interval: Any):
    with pytest.raises(UsageError, match="leave it out for 5000, or give milliseconds above 0"):
        page.metrics.watched({"statistics.interval.ms": interval})


def test_a_consumer_is_given_no_delivery_callback_which_it_would_refuse(page: Page):
    config = page.metrics.watched(NOWHERE | {"group.id": "readers"})

    assert "on_delivery" not in config
    Consumer(config).close()


def test_a_producer_whose_settings_name_a_group_is_counted_when_it_has_a_callback(page: Page):
    assert "on_delivery" in page.metrics.watched({"group.id": "shared", "on_delivery": print})


# ---- deliveries -------------------------------------------------------------------------------------------------------


def test_deliveries_are_counted_by_topic_and_outcome(page: Page):
    producer = Producer(page.metrics.watched(NOWHERE))
    for topic in ("orders", "orders", "bills"):
        producer.produce(topic, b"x")
    purge(producer)

    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 2, ("bills", "_PURGE_QUEUE"): 1}


def test_what_was_acknowledged_is_counted_with_its_time():
    deliveries = Deliveries()
    deliveries.add("orders", "ok", 0.003)
    deliveries.add("orders", "_MSG_TIMED_OUT", 300.0)

    found = {(name, suffix, *labels.values()): value for name, suffix, labels, value in deliveries.samples()}

    assert found["deliveries_total", "_total", "orders", "ok"] == 1
    assert found["deliveries_total", "_total", "orders", "_MSG_TIMED_OUT"] == 1
    assert found["delivery_seconds", "_bucket", "orders", "0.0025"] == 0
    assert found["delivery_seconds", "_bucket", "orders", "0.005"] == 1
    assert found["delivery_seconds", "_count", "orders"] == 1, "a record that failed has no time to its acknowledgement"


def test_topics_without_end_are_counted_together():
    deliveries = Deliveries()
    for number in range(MOST_TOPICS + 5):
        deliveries.add(f"topic-{number}", "ok", None)

    counted = {labels["topic"]: value for name, _, labels, value in deliveries.samples() if name == "deliveries_total"}

    assert counted.pop(OTHERS) == 5
    assert len(counted) == MOST_TOPICS and set(counted.values()) == {1}


def test_the_applications_own_callbacks_are_called_as_before(page: Page):
    heard: list[str] = []
    config = NOWHERE | {"on_delivery": lambda error, message: heard.append(message.topic())}
    producer = Producer(page.metrics.watched(config))
    producer.produce("orders", b"x")
    purge(producer)

    assert heard == ["orders"]
    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 1}


@pytest.mark.parametrize("callback", ["stats_cb", "on_delivery"])
def test_an_exception_of_the_applications_own_callback_comes_out_of_its_poll_as_before(page: Page, callback: str):
    def fails(*_: Any) -> None:
        raise ZeroDivisionError("the application's own")

    producer = Producer(page.metrics.watched(NOWHERE | {"statistics.interval.ms": 20, callback: fails}))
    producer.produce("orders", b"x")
    producer.purge()

    with pytest.raises(ZeroDivisionError, match="own"):
        poll_until(threading.Event(), producer)
    assert page.value("kafka_client_callback_errors_total", {}) == 0


def test_an_odd_report_never_raises_and_reaches_the_application(page: Page):
    heard: list[Any] = []

    page.metrics.delivery(lambda *report: heard.append(report))(None, "no message")

    assert heard == [(None, "no message")]
    assert page.value("kafka_client_callback_errors_total", {}) == 1


def test_a_callback_given_to_produce_takes_the_place_of_the_one_that_counts(page: Page):
    """The reason for `watched(Producer)` and for `delivery`."""
    producer = Producer(page.metrics.watched(NOWHERE))
    producer.produce("orders", b"x", on_delivery=lambda *_: None)
    purge(producer)
    assert page.deliveries() == {}

    producer.produce("orders", b"x", on_delivery=page.metrics.delivery(lambda *_: None))
    purge(producer)
    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 1}


SENDING: dict[str, Callable[[Any, Callable[..., None]], Any]] = {
    "no callback": lambda producer, _: producer.produce("orders", b"x"),
    "on_delivery": lambda producer, mine: producer.produce("orders", b"x", on_delivery=mine),
    "callback": lambda producer, mine: producer.produce("orders", b"x", callback=mine),
    "by position": lambda producer, mine: producer.produce("orders", b"x", None, -1, mine, 0),
    "all by name": lambda producer, mine: producer.produce(topic="orders", value=b"x", on_delivery=mine),
    "none": lambda producer, _: producer.produce("orders", b"x", on_delivery=None),
    "none by position": lambda producer, _: producer.produce("orders", b"x", None, -1, None),
    "a batch": lambda producer, _: producer.produce_batch("orders", [{"value": b"x"}]),
    "a batch's": lambda producer, mine: producer.produce_batch("orders", [{"value": b"x"}], on_delivery=mine),
    "each of a batch": lambda producer, mine: producer.produce_batch("orders", [{"value": b"x", "callback": mine}]),
}


@pytest.mark.parametrize("sending", SENDING)
def test_a_watched_class_counts_every_record_once_whatever_callback_it_has(page: Page, sending: str):
    heard: list[Any] = []
    producer = page.metrics.watched(Producer)(NOWHERE)
    SENDING[sending](producer, lambda *report: heard.append(report))
    purge(producer)

    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 1}
    assert len(heard) == (0 if sending in ("no callback", "none", "none by position", "a batch") else 1)


def test_a_batch_that_is_sent_again_is_the_applications_own_as_before(page: Page):
    heard: list[Any] = []
    batch = [{"value": b"x", "callback": lambda *report: heard.append(report)}]
    before = dict(batch[0])
    producer = page.metrics.watched(Producer)(NOWHERE)
    for _ in range(2):
        producer.produce_batch("orders", batch)
    purge(producer)

    assert batch == [before]
    assert (len(heard), page.deliveries()) == (2, {("orders", "_PURGE_QUEUE"): 2})


def test_a_serializing_producer_can_be_watched_both_ways(page: Page):
    config = NOWHERE | {"value.serializer": StringSerializer()}
    for producer in (SerializingProducer(page.metrics.watched(config)), page.metrics.watched(SerializingProducer)(config)):
        producer.produce("orders", value="x")
        purge(producer)

    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 2}


def test_a_watched_class_is_still_the_class_it_was(page: Page):
    made = page.metrics.watched(Producer)

    assert issubclass(made, Producer) and made.__name__ == "Producer"
    with pytest.raises(Exception, match="No such configuration property"):
        made(NOWHERE | {"no.such": 1})


def test_a_watched_consumer_class_speaks_too(page: Page):
    heard = threading.Event()
    config = NOWHERE | {"group.id": "readers", "statistics.interval.ms": 20, "stats_cb": lambda _: heard.set()}
    consumer = page.metrics.watched(Consumer)(config)
    poll_until(heard, consumer)

    assert "kafka_client_fetch_queue_records" in page.names()
    consumer.close()


# ---- the page ---------------------------------------------------------------------------------------------------------


def fill(page: Page) -> None:
    """With every figure there is."""
    for name in ("group_consumer", "transactional_producer", "slow_producer", "lost_producer"):
        page.hear(name)
    page.metrics._deliveries.add("orders", "ok", 0.01)
    page.metrics._deliveries.add("orders", "_MSG_TIMED_OUT", 1.0)


def test_every_figure_of_the_catalogue_is_there_and_no_other_with_the_labels_it_promises(page: Page):
    fill(page)
    ours = [metric for metric in METRICS if metric.name.startswith("kafka_client_")]
    promised = {metric.name.removesuffix("_total"): set(metric.label_names) for metric in ours}

    shown = {
        family.name: set().union(*(sample.labels for sample in family.samples)) - {"quantile", "le"}
        for family in page.registry.collect()
    }

    assert shown == promised


def test_prometheus_own_linter_has_nothing_to_say(page: Page):
    fill(page)

    assert linted(generate_latest(page.registry)) == ""


def test_the_one_line_puts_its_figures_into_prometheus_own_registry_once():
    for producer in (Producer(exporters.clients.watched(NOWHERE)), exporters.clients.watched(Producer)(NOWHERE)):
        producer.produce("one-line", b"x")
        purge(producer)

    counted = {"topic": "one-line", "outcome": "_PURGE_QUEUE"}
    assert REGISTRY.get_sample_value("kafka_client_deliveries_total", counted) == 2


def test_reports_from_many_threads_are_all_counted(page: Page):
    def send() -> None:
        producer = Producer(page.metrics.watched(NOWHERE))
        for _ in range(500):
            producer.produce("orders", b"x")
        purge(producer)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        page.names()  # scraped meanwhile

    assert page.deliveries() == {("orders", "_PURGE_QUEUE"): 2000}
