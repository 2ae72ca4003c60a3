"""The rows of the metric catalogue, one file per part of Kafka; those the documents single out come first."""

from kernel.metric_tables import (
    audit,
    clients,
    connections,
    controllers,
    coordinators,
    exporter,
    host,
    lag,
    logs,
    metadata,
    probe,
    replication,
    requests,
    topics,
    trials,
)
from kernel.metrics import Metric

_TABLES = (
    replication.ROWS,
    controllers.ROWS,
    requests.ROWS,
    topics.ROWS,
    metadata.ROWS,
    logs.ROWS,
    coordinators.ROWS,
    connections.ROWS,
    host.ROWS,
    exporter.ROWS,
    clients.ROWS,
    probe.ROWS,
    lag.ROWS,
    audit.ROWS,
    trials.ROWS,
)

METRICS: tuple[Metric, ...] = tuple(
    sorted((row for table in _TABLES for row in table), key=lambda row: not row.star)  # stable: ★ first, then as written
)
FROM_JMX: tuple[Metric, ...] = tuple(metric for metric in METRICS if metric.bean)
