"""One line in a user's program: `Producer(watched(config))`, and its figures are in Prometheus' registry.

librdkafka gives statistics only while the application polls, so their age is a figure too; and it does not count records
that failed, so delivery reports are counted here. Nothing in here may ever raise into somebody's poll().
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporters.clients.statistics import BrokerStatistics, Statistics, statistics
from exporters.clients.totals import Totals
from exporters.histogram import Histogram
from kernel.metric_tables import METRICS
from kernel.metrics import Kind

INTERVAL_MS = 5000
FORGET_AFTER_S = 600.0  # a client that was closed says no goodbye
_OWN = {metric.name.removeprefix("kafka_client_"): metric for metric in METRICS if metric.name.startswith("kafka_client_")}


@dataclass(slots=True)
class _Client:
    latest: Statistics
    at: float
    interval: float
    totals: dict[tuple[str, str], Totals] = field(default_factory=dict)  # figure, broker → since the first statistics


class ClientMetrics:
    """Collects for any number of clients of this process; `registry.register(metrics)` puts it on a page."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients: dict[str, _Client] = {}
        self._deliveries: dict[tuple[str, str], int] = {}  # topic, outcome
        self._latencies: dict[str, Histogram] = {}  # topic
        self._troubles = 0
        self._clock, self._lock = clock, threading.Lock()

    def watched(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration with our callbacks in it; callbacks that are there already are called as before."""
        ours = {"statistics.interval.ms": INTERVAL_MS, **config}
        interval = float(ours["statistics.interval.ms"]) / 1000
        theirs, delivered = ours.get("stats_cb"), ours.get("on_delivery")

        def on_statistics(text: str) -> None:
            self._take(text, interval)
            if theirs is not None:
                theirs(text)

        ours["stats_cb"] = on_statistics
        if not {"group.id", "group.protocol"} & ours.keys():  # a producer
            ours["on_delivery"] = self.delivery(delivered)
        return ours

    def delivery(self, callback: Callable[[Any, Any], None] | None = None) -> Callable[[Any, Any], None]:
        """For `produce(…, on_delivery=…)`, which takes the place of the one in the configuration."""

        def on_delivery(error: Any, message: Any) -> None:
            try:
                self._count(error, message)
            except Exception:  # an odd message must not keep the application's own callback from it
                self._troubles += 1
            if callback is not None:
                callback(error, message)

        return on_delivery

    def _count(self, error: Any, message: Any) -> None:
        topic, outcome = str(message.topic()), "ok" if error is None else str(error.name())
        latency = message.latency()
        with self._lock:
            self._deliveries[topic, outcome] = self._deliveries.get((topic, outcome), 0) + 1
            if error is None and latency is not None:
                self._latencies.setdefault(topic, Histogram()).add(float(latency))

    def _take(self, text: str, interval: float) -> None:
        try:
            told = statistics(json.loads(text))
        except Exception:  # statistics that cannot be read: their age tells of it, and the application polls on
            self._troubles += 1
            return
        with self._lock:
            client = self._clients.setdefault(told.client, _Client(told, 0.0, interval))
            client.latest, client.at = told, self._clock()
            for name, broker in told.brokers.items():
                for figure, window in _windows(broker).items():
                    client.totals.setdefault((figure, name), Totals()).add(window)

    # ---- for prometheus_client --------------------------------------------------------------------------------

    def describe(self) -> list[Any]:
        return []  # known only once clients have spoken

    def collect(self) -> Iterator[Any]:
        now = self._clock()
        with self._lock:
            for name in [name for name, client in self._clients.items() if now - client.at > FORGET_AFTER_S]:
                del self._clients[name]
            samples = [sample for name, client in self._clients.items() for sample in _told(name, client, now)]
            samples += [
                ("deliveries_total", "_total", {"topic": topic, "outcome": outcome}, count)
                for (topic, outcome), count in self._deliveries.items()
            ]
            for topic, latencies in self._latencies.items():
                samples += [("delivery_seconds", *sample) for sample in latencies.samples({"topic": topic})]
            samples.append(("callback_errors_total", "_total", {}, self._troubles))
        yield from _families(samples)


Sample = tuple[str, str, dict[str, str], float]  # which figure, what its kind adds to the name, labels, value


def _told(name: str, client: _Client, now: float) -> Iterator[Sample]:
    of, age, told = {"client": name}, now - client.at, client.latest
    fresh = age <= 3 * client.interval
    yield "up_to_date", "", of, float(fresh)
    yield "statistics_age_seconds", "", of, age
    if not fresh:  # an old value is never passed off as new
        return
    if told.kind == "producer":
        yield "queue_records", "", of, told.queue_records
        yield "queue_bytes", "", of, told.queue_bytes
        yield "queue_max_records", "", of, told.queue_max_records
        yield "records_sent_total", "_total", of, told.records_sent
        yield "bytes_sent_total", "_total", of, told.bytes_sent
    else:
        yield "records_received_total", "_total", of, told.records_received
        yield "bytes_received_total", "_total", of, told.bytes_received
    for broker, figures in told.brokers.items():
        yield from _of_broker(of | {"broker": broker}, figures)
    for (figure, broker), totals in client.totals.items():
        if broker in told.brokers:
            for suffix, labels, value in totals.samples(of | {"broker": broker}):
                yield figure, suffix, labels, value
    for (topic, partition), place in told.partitions.items():
        where = of | {"topic": topic, "partition": str(partition)}
        yield "fetch_queue_records", "", where, place.fetched
        if place.lag is not None:
            yield "consumer_lag", "", where, place.lag
    if told.group:
        yield "group_state", "", of | {"state": told.group.state}, 1.0
        yield "group_join_state", "", of | {"state": told.group.join_state}, 1.0
        yield "rebalances_total", "_total", of, told.group.rebalances
        yield "assigned_partitions", "", of, told.group.assigned
        if told.group.rebalance_age is not None:
            yield "rebalance_age_seconds", "", of, told.group.rebalance_age + age
    if told.producer:
        yield "idempotence_state", "", of | {"state": told.producer.idempotence}, 1.0
        yield "transaction_state", "", of | {"state": told.producer.transaction}, 1.0
        yield "epoch_changes_total", "_total", of, told.producer.epochs


def _of_broker(of: dict[str, str], told: BrokerStatistics) -> Iterator[Sample]:
    yield "broker_up", "", of, float(told.up)
    yield "requests_total", "_total", of, told.requests
    yield "request_errors_total", "_total", of, told.errors
    yield "request_retries_total", "_total", of, told.retries
    yield "request_timeouts_total", "_total", of, told.timeouts
    yield "disconnects_total", "_total", of, told.disconnects


def _windows(told: BrokerStatistics) -> dict[str, Any]:
    return {
        "request_latency_seconds": told.latency,
        "outbuf_latency_seconds": told.outbuf,
        "internal_latency_seconds": told.internal,
        "throttle_seconds": told.throttle,
    }


def _families(samples: list[Sample]) -> Iterator[Any]:
    from prometheus_client.metrics_core import Metric as Prometheus

    families: dict[str, Any] = {}
    for figure, suffix, labels, value in samples:
        metric = _OWN[figure]
        base = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
        if figure not in families:
            kind = "gauge" if metric.kind is Kind.STATE else metric.kind.value
            families[figure] = Prometheus(base, metric.help, kind)
        families[figure].add_sample(base + suffix, labels, float(value))
    yield from families.values()


_default: ClientMetrics | None = None
_first = threading.Lock()


def watched(config: Mapping[str, Any]) -> dict[str, Any]:
    """`Producer(watched({…}))` or `Consumer(watched({…}))`: its figures appear in prometheus_client's own registry."""
    from prometheus_client import REGISTRY

    global _default
    with _first:
        if _default is None:
            _default = ClientMetrics()
            REGISTRY.register(_default)
    return _default.watched(config)
