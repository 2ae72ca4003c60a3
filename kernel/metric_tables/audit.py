"""The audit: which records arrived from tier to tier, and how well the auditor knows. Never per bucket."""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import Kind, Metric, Scope


def _audit(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    return own(f"kafka_audit_{name}", kind, help, *labels, scope=Scope.AUDIT, **more)


_FLOW = ("topic", "source", "tier")

ROWS = (
    _audit("up", Kind.GAUGE, "1 if the cluster with the audit topic answered, else 0."),
    _audit("ready", Kind.GAUGE, "1 once the audit topic was read to its end, else 0."),
    _audit("judged_timestamp_seconds", Kind.GAUGE, "When the books were last judged.", unit="seconds"),
    _audit(
        "records",
        Kind.GAUGE,
        "Records by what became of them between two tiers: complete, missing, extra, late, pending, uncertain, unknown.",
        *_FLOW,
        "outcome",
        note="A gauge: what was missing may come to light, and what is a day old is forgotten.",
    ),
    _audit("buckets", Kind.GAUGE, "Buckets of time by verdict, over all partitions.", *_FLOW, "verdict"),
    _audit(
        "complete_timestamp_seconds",
        Kind.GAUGE,
        "The end of the newest bucket that is complete, by the records' own timestamps.",
        *_FLOW,
        unit="seconds",
    ),
    _audit("counted_records_total", Kind.COUNTER, "Records that a tier has counted.", "topic", "tier"),
    _audit("unaudited_records_total", Kind.COUNTER, "Records that a tier could not count.", "tier"),
    _audit(
        "latency_seconds",
        Kind.GAUGE,
        "Until the acknowledgement (a producer), or from the record's timestamp until it was read (a consumer).",
        "topic",
        "tier",
        "percentile",
        unit="seconds",
        note="Since the beginning of the audit topic; at most 41 % above the true one.",
    ),
    _audit("reports_total", Kind.COUNTER, "Reports by tier.", "tier"),
    _audit("duplicate_reports_total", Kind.COUNTER, "Reports that came again, and were dropped."),
    _audit("missed_reports", Kind.GAUGE, "Reports that never came, though later ones did.", "tier"),
    _audit("malformed_total", Kind.COUNTER, "Messages in the audit topic that are no reports."),
    _audit("clients", Kind.GAUGE, "Clients by state: alive, closed, or lost without a last report.", "tier", "state"),
    _audit("dropped_rows_total", Kind.COUNTER, "Buckets that were forgotten early, as there were too many."),
)
