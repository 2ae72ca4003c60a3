"""Topic by topic: who is loud, who fails, who grows."""

from typing import Any

from dashboards.board import Board, Panel, Query, Row, Variable
from dashboards.boards.names import TOPIC
from dashboards.expressions import total, total_rate
from dashboards.panels import ANY, SOME, cluster_level, cluster_rates, lines, table

CHOSEN = 'topic=~"$topic", topic!=""'
LOG, PARTITION = "kafka_log_log_", "kafka_cluster_partition_"
NO_PARTITIONS = 'The exporter looks at no partitions: partitions = "topic" in its file.'


def _loudest(title: str, name: str, empty: str) -> Panel:
    """Of each cluster, so that a loud one does not hide another."""
    ten = Query(f"topk by (cluster) (10, {total_rate(name, CHOSEN, 'topic')})", "{{cluster}} {{topic}}")
    return lines(title, ten, of=(name,), unit="Bps", width=12, empty=empty)


def _rates(title: str, *names: str, empty: str) -> Panel:
    return cluster_rates(title, *(f"{TOPIC}{name}_total" for name in names), where=CHOSEN, by="topic", empty=empty)


def _levels(title: str, *names: str, **more: Any) -> Panel:
    return cluster_level(title, *names, where=CHOSEN, by="topic", empty=NO_PARTITIONS, **more)


LOUDEST = Row(
    "The ten loudest",
    (
        _loudest("Most bytes in", f"{TOPIC}bytesin_total", "No topic was written to."),
        _loudest("Most bytes out", f"{TOPIC}bytesout_total", "No topic was read."),
    ),
)

TRAFFIC = Row(
    "Traffic",
    (
        _rates("Records in", "messagesin", empty="No topic was written to."),
        _rates("Bytes in", "bytesin", empty="No topic was written to."),
        _rates("Bytes out", "bytesout", empty="No topic was read."),
        _rates("Requests", "totalproducerequests", "totalfetchrequests", empty="No topic was asked for."),
        _rates("Failed produce requests", "failedproducerequests", empty="No request failed."),
        _rates("Bytes refused", "bytesrejected", empty="No batch was too large."),
    ),
)

LOGS = Row(
    "Logs and replicas",
    (
        _levels("Size, all replicas", f"{LOG}size"),
        _levels("Segments, all replicas", f"{LOG}numlogsegments"),
        _levels("Records held back by open transactions", f"{PARTITION}laststableoffsetlag"),
        _levels("Partitions that are under-replicated", f"{PARTITION}underreplicated", steps=SOME),
        _levels("Partitions under min ISR", f"{PARTITION}underminisr", steps=ANY),
        _levels(
            "Followers behind their leader", "kafka_server_fetcherlagmetrics_consumerlag", why="The furthest, in records."
        ),
        table(
            "All topics",
            Query(total(f"{LOG}size", CHOSEN, "topic"), column="bytes, all replicas", unit="bytes"),
            Query(total(f"{LOG}numlogsegments", CHOSEN, "topic"), column="segments"),
            Query(total(f"{PARTITION}underreplicated", CHOSEN, "topic"), column="under-replicated"),
            Query(total(f"{PARTITION}atminisr", CHOSEN, "topic"), column="at min ISR"),
            of=(f"{LOG}size", f"{LOG}numlogsegments", f"{PARTITION}underreplicated", f"{PARTITION}atminisr"),
            empty=NO_PARTITIONS,
        ),
    ),
)

BOARD = Board(
    uid="kafka-trial-topics",
    title="Kafka: topics",
    description=__doc__,
    rows=(LOUDEST, TRAFFIC, LOGS),
    variables=(
        Variable("cluster", "Cluster", "kafka_jmx_up"),
        Variable("topic", "Topic", f"{TOPIC}bytesin_total"),
    ),
)
