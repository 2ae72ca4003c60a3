"""The end-to-end probe: what a client gets from the cluster right now."""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import Kind, Metric, Scope


def _probe(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    return own(f"kafka_probe_{name}", kind, help, *labels, scope=Scope.PROBE, **more)


_WHERE = ("broker", "partition")

ROWS = (
    _probe("up", Kind.GAUGE, "1 if the cluster told its brokers and the probe's topic when it was last asked, else 0."),
    _probe("sent_total", Kind.COUNTER, "Records the probe tried to send.", *_WHERE),
    _probe("acknowledged_total", Kind.COUNTER, "Records that were acknowledged.", *_WHERE),
    _probe("failed_total", Kind.COUNTER, "Records that were not acknowledged, by the error's name.", *_WHERE, "error"),
    _probe("received_total", Kind.COUNTER, "Records that came back.", *_WHERE),
    _probe("ack_seconds", Kind.HISTOGRAM, "Time from send to acknowledgement, by leader.", "broker", unit="seconds"),
    _probe(
        "roundtrip_seconds",
        Kind.HISTOGRAM,
        "Time from send until the record was read back, by leader.",
        "broker",
        unit="seconds",
    ),
    _probe("commit_seconds", Kind.HISTOGRAM, "Time to commit an offset.", unit="seconds"),
    _probe("commit_errors_total", Kind.COUNTER, "Commits that failed, by the error's name.", "error"),
    _probe(
        "late_records",
        Kind.GAUGE,
        "Acknowledged records that should have been read back by now and may still come.",
        *_WHERE,
    ),
    _probe("late_total", Kind.COUNTER, "Records that took longer than late_after to be read back, or still do.", *_WHERE),
    _probe(
        "lost_total",
        Kind.COUNTER,
        "Acknowledged records that are not in the place they were acknowledged at: never read, or read and then gone.",
        *_WHERE,
    ),
    _probe("duplicated_total", Kind.COUNTER, "Records that came back more than once.", *_WHERE),
    _probe("out_of_order_total", Kind.COUNTER, "Records that came back after a later one.", *_WHERE),
    _probe(
        "broker_available",
        Kind.GAUGE,
        "1 if a broker leads its partition and the last record sent there was acknowledged in time, else 0.",
        "broker",
    ),
    _probe(
        "partition_available",
        Kind.GAUGE,
        "1 if the last record sent to a partition was acknowledged in time, else 0.",
        *_WHERE,
    ),
    _probe(
        "availability_ratio",
        Kind.GAUGE,
        "Share of the last 60 records sent to a partition that were acknowledged in time.",
        *_WHERE,
        unit="ratio",
    ),
    _probe("partitions", Kind.GAUGE, "Partitions of the probe's topic."),
    _probe("misplaced_partitions", Kind.GAUGE, "Partitions of the probe's topic that their broker does not lead."),
    _probe("brokers_without_partition", Kind.GAUGE, "Brokers that have no partition of the probe's topic yet."),
    _probe("placement_errors_total", Kind.COUNTER, "Times the probe could not put its partitions where they belong."),
    _probe("restarts_total", Kind.COUNTER, "Times the probe's producer had failed for good and was made anew."),
    _probe(
        "certificate_expiry_timestamp_seconds",
        Kind.GAUGE,
        "When the certificate that a broker shows to clients expires.",
        "broker",
        unit="seconds",
        appears="with TLS",
        note="Not there while the broker's certificate could not be read.",
    ),
    _probe(
        "certificate_errors_total",
        Kind.COUNTER,
        "Times a broker's certificate could not be read: connect, timeout, handshake or unreadable.",
        "broker",
        "reason",
        appears="with TLS",
    ),
    _probe(
        "client_certificate_expiry_timestamp_seconds",
        Kind.GAUGE,
        "When the certificate expires that the probe itself shows to brokers.",
        unit="seconds",
        appears="if the probe has one",
    ),
)
