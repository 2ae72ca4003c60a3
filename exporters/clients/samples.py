"""What a client's statistics come to on a page. Pure: the time is handed in."""

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from exporters.clients.statistics import BrokerStatistics, Statistics, Window
from exporters.clients.totals import Totals
from kernel.metric_tables import METRICS
from kernel.metrics import Kind

FRESH_FOR = 3  # intervals
_OWN = {metric.name.removeprefix("kafka_client_"): metric for metric in METRICS if metric.name.startswith("kafka_client_")}

Sample = tuple[str, str, dict[str, str], float]  # which figure, what its kind adds to the name, labels, value


@dataclass(slots=True)
class Client:
    """What one client told so far."""

    latest: Statistics
    at: float
    interval: float
    ear: "weakref.ref[Any]"  # its stats_cb, which nobody holds but the client
    totals: dict[tuple[str, str], Totals] = field(default_factory=dict)  # figure, broker → since the first statistics

    def take(self, told: Statistics, at: float) -> None:
        self.latest, self.at = told, at
        for name, broker in told.brokers.items():
            for figure, window in _windows(told.kind, broker).items():
                self.totals.setdefault((figure, name), Totals()).add(window)

    def fresh(self, now: float) -> bool:
        return now - self.at <= FRESH_FOR * self.interval


def samples(client: Client, now: float) -> Iterator[Sample]:
    told = client.latest
    of, age = {"client": told.client}, now - client.at
    yield "up_to_date", "", of, float(client.fresh(now))
    yield "statistics_age_seconds", "", of, age
    if not client.fresh(now):  # an old value is never passed off as new
        return
    yield "connected_brokers", "", of, told.connected
    yield from _sent(of, told) if told.kind == "producer" else _received(of, told)
    for broker, figures in told.brokers.items():
        yield from _of_broker(of | {"broker": broker}, figures)
    for (figure, broker), totals in client.totals.items():
        if broker in told.brokers:
            for suffix, labels, value in totals.samples(of | {"broker": broker}):
                yield figure, suffix, labels, value
    if told.group:
        yield "group_state", "", of | {"state": told.group.state}, 1.0
        yield "group_join_state", "", of | {"state": told.group.join_state}, 1.0
        yield "rebalances_total", "_total", of, told.group.rebalances
        yield "assigned_partitions", "", of, told.group.assigned
        if told.group.rebalance_age is not None:
            yield "rebalance_age_seconds", "", of, told.group.rebalance_age + age
    if told.producer:
        yield "idempotence_state", "", of | {"state": told.producer.idempotence}, 1.0
        yield "epoch_changes_total", "_total", of, told.producer.epochs
        if told.producer.transaction is not None:
            yield "transaction_state", "", of | {"state": told.producer.transaction}, 1.0


def _sent(of: dict[str, str], told: Statistics) -> Iterator[Sample]:
    yield "queue_records", "", of, told.queue_records
    yield "queue_bytes", "", of, told.queue_bytes
    yield "queue_max_records", "", of, told.queue_max_records
    yield "queue_max_bytes", "", of, told.queue_max_bytes
    yield "records_sent_total", "_total", of, told.records_sent
    yield "bytes_sent_total", "_total", of, told.bytes_sent


def _received(of: dict[str, str], told: Statistics) -> Iterator[Sample]:
    yield "records_received_total", "_total", of, told.records_received
    yield "bytes_received_total", "_total", of, told.bytes_received
    yield "fetch_queue_records", "", of, told.fetch_queue
    for (topic, partition), lag in told.lags.items():
        yield "consumer_lag", "", of | {"topic": topic, "partition": str(partition)}, lag


def _of_broker(of: dict[str, str], told: BrokerStatistics) -> Iterator[Sample]:
    if told.connects:  # a broker that was never needed is not down
        yield "broker_up", "", of, float(told.up)
    yield "requests_total", "_total", of, told.requests
    yield "request_errors_total", "_total", of, told.errors
    yield "request_retries_total", "_total", of, told.retries
    yield "request_timeouts_total", "_total", of, told.timeouts
    yield "connects_total", "_total", of, told.connects
    yield "disconnects_total", "_total", of, told.disconnects


def _windows(kind: str, told: BrokerStatistics) -> dict[str, Window]:
    always = {
        "request_latency_seconds": told.latency,
        "outbuf_latency_seconds": told.outbuf,
        "throttle_seconds": told.throttle,
    }
    return always | {"internal_latency_seconds": told.internal} if kind == "producer" else always


def families(samples: Iterable[Sample]) -> Iterator[Any]:
    """As prometheus_client wants them: all of a name together."""
    from prometheus_client.metrics_core import Metric as Prometheus

    found: dict[str, Any] = {}
    for figure, suffix, labels, value in samples:
        metric = _OWN[figure]
        base = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
        if figure not in found:
            kind = "gauge" if metric.kind is Kind.STATE else metric.kind.value
            found[figure] = Prometheus(base, metric.help, kind)
        found[figure].add_sample(base + suffix, labels, float(value))
    yield from found.values()
