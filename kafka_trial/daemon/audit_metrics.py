"""The auditor's figures as Prometheus reads them. Pure, but for asking the reader what it has met."""

import time
from collections.abc import Iterable, Iterator

from exporters.exposition import CONTENT_TYPES, end, join, render, wanted_format
from exporters.translate import Family
from interceptors.audit.auditor import Auditor
from interceptors.audit.books import TierBooks
from interceptors.audit.latency import quantile
from interceptors.audit.reading import Reader
from interceptors.audit.reconcile import Verdict, is_over
from kernel.metric_tables import METRICS
from kernel.metrics import Kind, Scope

_OWN = {metric.name: metric for metric in METRICS if metric.scope is Scope.AUDIT}
Figure = tuple[str, tuple[tuple[str, str], ...], float]
QUANTILES = (0.5, 0.95, 0.99)


def figures(auditor: Auditor, reader: Reader, ready: bool, now_ms: int) -> list[Figure]:
    return [
        ("kafka_audit_up", (), float(reader.up)),
        ("kafka_audit_ready", (), float(ready)),
        ("kafka_audit_judged_timestamp_seconds", (), time.time()),
        ("kafka_audit_malformed_total", (), float(reader.malformed)),
        ("kafka_audit_duplicate_reports_total", (), float(auditor.books.duplicates)),
        ("kafka_audit_dropped_rows_total", (), float(auditor.books.dropped_rows)),
        *_of_flows(auditor),
        *_of_tiers(auditor, now_ms),
    ]


def page(told: Iterable[Figure], accept: str) -> tuple[str, bytes]:
    found: dict[str, Family] = {}
    for name, labels, value in told:
        suffix = "_total" if _OWN[name].kind is Kind.COUNTER else ""
        found.setdefault(name, Family(_OWN[name])).samples.append((suffix, labels, value))
    form = wanted_format(accept)
    return CONTENT_TYPES[form], join([render(list(found.values()), {})], form) + end(form)


def _of_flows(auditor: Auditor) -> Iterator[Figure]:
    for (topic, source, tier), found in sorted(auditor.sums().items()):
        labels = (("topic", topic), ("source", source), ("tier", tier))
        for verdict in Verdict:
            yield "kafka_audit_records", (*labels, ("outcome", verdict.value)), float(found.outcomes.get(verdict, 0))
            yield "kafka_audit_buckets", (*labels, ("verdict", verdict.value)), float(found.verdicts.get(verdict, 0))
        if found.complete_ms:
            yield "kafka_audit_complete_timestamp_seconds", labels, found.complete_ms / 1000


def _of_tiers(auditor: Auditor, now_ms: int) -> Iterator[Figure]:
    together: dict[str, list[TierBooks]] = {}
    for (name, _), tier in sorted(auditor.books.tiers.items()):
        together.setdefault(name, []).append(tier)  # one that reads and writes under one name
    for name, tiers in together.items():
        labels = (("tier", name),)
        lives = [life for tier in tiers for life in tier.lives.values()]
        states = [_state(life.closed, is_over(life, now_ms, auditor.patience)) for life in lives]
        for state in ("alive", "closed", "lost"):
            yield "kafka_audit_clients", (*labels, ("state", state)), float(states.count(state))
        yield "kafka_audit_reports_total", labels, float(sum(tier.reports for tier in tiers))
        yield "kafka_audit_missed_reports", labels, float(sum(life.missed for life in lives))
        yield "kafka_audit_unaudited_records_total", labels, float(sum(tier.unaudited for tier in tiers))
        for tier in tiers:
            yield from _of_topics(tier, name)


def _of_topics(tier: TierBooks, name: str) -> Iterator[Figure]:
    for topic, count in sorted(tier.records.items()):
        labels = (("topic", topic), ("tier", name))
        yield "kafka_audit_counted_records_total", labels, float(count)
        for share in QUANTILES:
            if (seconds := quantile(tier.latencies.get(topic, {}), share)) is not None:
                yield "kafka_audit_latency_seconds", (*labels, ("percentile", f"{100 * share:g}")), seconds


def _state(closed: bool, over: bool) -> str:
    return "closed" if closed else "lost" if over else "alive"
