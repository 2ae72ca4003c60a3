"""Producers and consumers in Python, as librdkafka tells of itself, and the interceptors in them."""

from dashboards.board import Board, Query, Row, Variable
from dashboards.boards.names import CLIENT
from dashboards.expressions import CLUSTER
from dashboards.panels import UP, cluster_rates, level, lines, percentiles, quantiles, rates, states

WHO = 'client=~"$client"'
BY = "client"
NOBODY = "No client is watched."
NO_PRODUCER = "No producer is watched."
NO_CONSUMER = "No consumer is watched."
NO_INTERCEPTOR = "No watched client has interceptors."
HOOK = "kafka_interceptor_"

EVERY = Row(
    "Every client",
    (
        states("Statistics come in", f"{CLIENT}up_to_date", UP, WHO, by=BY, empty=NOBODY),
        level("Connected brokers", f"{CLIENT}connected_brokers", where=WHO, by=BY, empty=NOBODY),
        quantiles(
            "Request latency, all but one in a hundred",
            f"{CLIENT}request_latency_seconds",
            where=WHO,
            by="client, broker",
            empty=NOBODY,
        ),
        rates("Requests", f"{CLIENT}requests_total", where=WHO, by="client, broker", empty=NOBODY),
        rates(
            "Requests that failed, were sent again, or had no answer",
            f"{CLIENT}request_errors_total",
            f"{CLIENT}request_retries_total",
            f"{CLIENT}request_timeouts_total",
            where=WHO,
            by="client, broker",
            empty=NOBODY,
        ),
        rates(
            "Connections made and lost",
            f"{CLIENT}connects_total",
            f"{CLIENT}disconnects_total",
            where=WHO,
            by="client, broker",
            empty=NOBODY,
        ),
    ),
)

PRODUCERS = Row(
    "Producers",
    (
        rates("Records sent", f"{CLIENT}records_sent_total", where=WHO, by=BY, empty=NO_PRODUCER),
        rates("Bytes sent", f"{CLIENT}bytes_sent_total", where=WHO, by=BY, empty=NO_PRODUCER),
        level("Records in the queue", f"{CLIENT}queue_records", where=WHO, by=BY, empty=NO_PRODUCER),
        cluster_rates("Deliveries, by outcome", f"{CLIENT}deliveries_total", by="topic, outcome", empty=NO_PRODUCER),
        percentiles("Until the acknowledgement", f"{CLIENT}delivery_seconds", by="topic", empty=NO_PRODUCER),
        quantiles(
            "Waiting in the producer, all but one in a hundred",
            f"{CLIENT}internal_latency_seconds",
            where=WHO,
            by="client, broker",
            empty=NO_PRODUCER,
        ),
        lines(
            "Transactions",
            Query(
                f"max by (cluster, instance, client, state) ({CLIENT}transaction_state{{{CLUSTER}, {WHO}}})",
                "{{client}} {{state}}",
            ),
            of=(f"{CLIENT}transaction_state",),
            unit="none",
            empty="No producer with transactions is watched.",
        ),
        rates(
            "New ids and epochs",
            f"{CLIENT}epoch_changes_total",
            where=WHO,
            by=BY,
            empty="No idempotent producer is watched.",
        ),
    ),
)

CONSUMERS = Row(
    "Consumers",
    (
        rates("Records received", f"{CLIENT}records_received_total", where=WHO, by=BY, empty=NO_CONSUMER),
        rates("Bytes received", f"{CLIENT}bytes_received_total", where=WHO, by=BY, empty=NO_CONSUMER),
        level("Lag", f"{CLIENT}consumer_lag", where=WHO, by="client, topic, partition", empty=NO_CONSUMER),
        level("Partitions assigned", f"{CLIENT}assigned_partitions", where=WHO, by=BY, empty=NO_CONSUMER),
        rates("Rebalances", f"{CLIENT}rebalances_total", where=WHO, by=BY, empty=NO_CONSUMER),
        lines(
            "Standing in the group",
            Query(
                f"max by (cluster, instance, client, state) ({CLIENT}group_state{{{CLUSTER}, {WHO}}})",
                "{{client}} {{state}}",
            ),
            of=(f"{CLIENT}group_state",),
            unit="none",
            empty=NO_CONSUMER,
        ),
    ),
)

INTERCEPTORS = Row(
    "Interceptors",
    (
        rates("Calls", f"{HOOK}calls_total", where=WHO, by="interceptor, hook, client", empty=NO_INTERCEPTOR),
        rates("Errors", f"{HOOK}errors_total", where=WHO, by="interceptor, hook, client", empty=NO_INTERCEPTOR),
        rates("Time spent", f"{HOOK}seconds_total", where=WHO, by="interceptor, hook, client", empty=NO_INTERCEPTOR),
    ),
)

BOARD = Board(
    uid="kafka-trial-clients",
    title="Kafka: clients",
    description=__doc__,
    rows=(EVERY, PRODUCERS, CONSUMERS, INTERCEPTORS),
    variables=(
        Variable("cluster", "Cluster", f"{CLIENT}up_to_date"),
        Variable("client", "Client", f"{CLIENT}up_to_date"),
    ),
)
