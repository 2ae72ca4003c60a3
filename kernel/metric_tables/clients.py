"""Producers and consumers in Python: what librdkafka's statistics, delivery reports and interceptors tell."""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import Kind, Metric, Scope


def _client(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    return own(f"kafka_client_{name}", kind, help, "client", *labels, scope=Scope.CLIENT, **more)


def _all(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    """Of all clients of a process: a delivery report does not say whose it is."""
    return own(f"kafka_client_{name}", kind, help, *labels, scope=Scope.CLIENT, **more)


def _interceptor(name: str, help: str, **more: Any) -> Metric:  # noqa: A002
    labels = ("interceptor", "hook", "client")
    return own(f"kafka_interceptor_{name}", Kind.COUNTER, help, *labels, scope=Scope.CLIENT, **more)


INTERCEPTORS = (
    _interceptor("calls_total", "How often a hook of an interceptor was called."),
    _interceptor("errors_total", "How often a hook of an interceptor failed and was passed over."),
    _interceptor("seconds_total", "Time spent in a hook of an interceptor.", unit="seconds"),
)

ROWS = (
    _client("up_to_date", Kind.GAUGE, "1 while statistics come in, 0 when the application has stopped polling."),
    _client(
        "statistics_age_seconds",
        Kind.GAUGE,
        "Age of the last statistics; librdkafka gives them only while the application polls.",
        unit="seconds",
    ),
    _client("queue_records", Kind.GAUGE, "Records in the producer's queue."),
    _client("queue_bytes", Kind.GAUGE, "Bytes in the producer's queue.", unit="bytes"),
    _client("queue_max_records", Kind.GAUGE, "Records the producer's queue can hold."),
    _client("queue_max_bytes", Kind.GAUGE, "Bytes the producer's queue can hold.", unit="bytes"),
    _client("records_sent_total", Kind.COUNTER, "Records sent; one that is sent again counts again."),
    _client("bytes_sent_total", Kind.COUNTER, "Bytes of records sent.", unit="bytes"),
    _client("records_received_total", Kind.COUNTER, "Records fetched; one that is fetched again counts again."),
    _client("bytes_received_total", Kind.COUNTER, "Bytes of records fetched.", unit="bytes"),
    _client("fetch_queue_records", Kind.GAUGE, "Records fetched and not yet polled."),
    _client("connected_brokers", Kind.GAUGE, "Brokers the client is connected to."),
    _client(
        "broker_up",
        Kind.GAUGE,
        "1 if the client is connected to a broker, else 0.",
        "broker",
        note="Absent for a broker that was never needed; brokers end connections that are idle for long.",
    ),
    _client("requests_total", Kind.COUNTER, "Requests sent to a broker.", "broker"),
    _client("request_errors_total", Kind.COUNTER, "Requests that could not be sent.", "broker"),
    _client("request_retries_total", Kind.COUNTER, "Requests that were sent again.", "broker"),
    _client("request_timeouts_total", Kind.COUNTER, "Requests without an answer in time.", "broker"),
    _client("connects_total", Kind.COUNTER, "Attempts to connect to a broker.", "broker"),
    _client("disconnects_total", Kind.COUNTER, "Times a connection to a broker ended.", "broker"),
    _client(
        "request_latency_seconds",
        Kind.SUMMARY,
        "Time from request to answer; a consumer's includes the wait for records.",
        "broker",
        unit="seconds",
        note="Quantiles are of the last statistics interval. 1 is the longest; the others are left out if one was too long "
        "for librdkafka's histogram, which at first ends at half a second.",
    ),
    _client(
        "outbuf_latency_seconds",
        Kind.SUMMARY,
        "Time a request waits in the client before it is sent.",
        "broker",
        unit="seconds",
    ),
    _client(
        "internal_latency_seconds",
        Kind.SUMMARY,
        "Time a record waits in the producer before it is put in a request.",
        "broker",
        unit="seconds",
    ),
    _client("throttle_seconds", Kind.SUMMARY, "Time a broker held the client back.", "broker", unit="seconds"),
    _all(
        "deliveries_total",
        Kind.COUNTER,
        "Records whose delivery was reported, by outcome: ok or the error's name.",
        "topic",
        "outcome",
        note="The record-error-rate: rate of every outcome other than ok. librdkafka's statistics have none.",
    ),
    _all("delivery_seconds", Kind.HISTOGRAM, "Time from produce() to the acknowledgement.", "topic", unit="seconds"),
    _client(
        "consumer_lag",
        Kind.GAUGE,
        "Records between the consumer's stored position and the end of a partition; for read_committed, its stable end.",
        "topic",
        "partition",
        note="Absent while it is not known where the consumer stands.",
    ),
    _client("group_state", Kind.STATE, "How the consumer stands with its group.", word="state"),
    _client("group_join_state", Kind.STATE, "Which step of joining the consumer is at.", word="state"),
    _client(
        "rebalances_total",
        Kind.COUNTER,
        "Times the consumer was given partitions or gave them up.",
        note="Who gives up and is given again in one rebalance counts two.",
    ),
    _client("rebalance_age_seconds", Kind.GAUGE, "Time since the last rebalance.", unit="seconds"),
    _client("assigned_partitions", Kind.GAUGE, "Partitions assigned to the consumer."),
    _client("idempotence_state", Kind.STATE, "State of the idempotent producer.", word="state"),
    _client("transaction_state", Kind.STATE, "State of the transactional producer.", word="state"),
    _client("epoch_changes_total", Kind.COUNTER, "Times the producer was given an id or a new epoch."),
    _all(
        "callback_errors_total",
        Kind.COUNTER,
        "Statistics or delivery reports that could not be counted; 0, or a bug of ours.",
    ),
    *INTERCEPTORS,
)
