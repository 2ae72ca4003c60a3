"""What is known of metrics: from the catalogue, from scrape pages, from a Prometheus. Plain values, pure.

The catalogue knows a metric by all its names: ours (family A), Confluent's (B) and Bitnami's (C), which hold Kafka's own
numbers without a type. What it says of a name goes before what a page declares: there, most are untyped or a gauge.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kernel.metrics import Kind, Metric, Scope

Labels = Mapping[str, str]
OF_PROMETHEUS = frozenset(  # what Prometheus tells of its own work: on no page
    {"up", "ALERTS", "ALERTS_FOR_STATE", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_series_added"}
    | {"scrape_samples_post_metric_relabeling"}
)
REPLICATED = (Scope.CONTROLLERS, Scope.ACTIVE)
_PERCENTILE = re.compile(r"^kafka_.*_(50|75|95|98|99|999)thpercentile$")


@dataclass(frozen=True, slots=True)
class Fact:
    """Of the series of one name."""

    kind: str  # counter, gauge, quantile, bucket or unknown
    unit: str | None = None  # bytes, seconds, ms, us, ratio, percent; empty: a plain number; None: nobody knows
    factor: float = 1.0  # the value times this is in that unit
    labels: frozenset[str] = frozenset()
    replicated: bool = False
    metric: str = ""  # our name for the same series
    total_and_parts: bool = False  # under one name, the total without a topic and the parts with one
    until: str = ""
    note: str = ""
    appears: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    facts: Mapping[str, Fact] = field(default_factory=dict)
    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # our name → all names of the same
    names: frozenset[str] | None = None  # that exist; None: nobody looked
    series: Mapping[str, tuple[Labels, ...]] = field(default_factory=dict)  # of scrape pages
    page_labels: frozenset[str] = frozenset()  # that these pages have; all others are Prometheus' to add

    def fact(self, name: str) -> Fact:
        """Kafka's own capitals, which some exporters leave in, make no other metric of it."""
        return self.facts.get(name) or self.facts.get(name.lower()) or _by_its_name(name)

    def exists(self, name: str) -> bool:
        return self.names is None or name in self.names


def of_catalogue(metrics: Iterable[Metric]) -> Known:
    facts: dict[str, Fact] = {}
    families: dict[str, tuple[str, ...]] = {}
    rows = list(metrics)
    for metric in rows:
        for name, fact in _facts(metric):
            facts[name] = _both(facts[name], fact) if name in facts else fact
    for family in ("confluent", "bitnami"):  # after all of ours, whose names come first
        ours = set(facts)
        for metric in rows:
            alias = getattr(metric, family)
            if alias and alias not in ours:
                fact = replace(_plain(metric), factor=metric.factor)
                facts[alias] = _both(facts[alias], fact) if alias in facts else fact
    for name, fact in facts.items():
        if fact.metric:
            families[fact.metric] = (*families.get(fact.metric, ()), name)
    return Known(facts, families)


def with_names(known: Known, names: Iterable[str], types: Mapping[str, str]) -> Known:
    """And what a Prometheus or a page has; `types` are of families, as a page declares them."""
    declared = {name: fact for family, kind in types.items() for name, fact in _declared(family, kind)}
    return replace(known, facts=declared | dict(known.facts), names=frozenset(names) | (known.names or frozenset()))


def with_series(known: Known, series: Mapping[str, tuple[Labels, ...]], types: Mapping[str, str]) -> Known:
    both = {name: (*known.series.get(name, ()), *series.get(name, ())) for name in {*known.series, *series}}
    labels = known.page_labels.union(label for many in series.values() for one in many for label in one)
    return replace(with_names(known, series, types), series=both, page_labels=labels)


def _facts(metric: Metric) -> Iterable[tuple[str, Fact]]:
    """The series of a family, by the name each has in a query."""
    plain = _plain(metric)
    count = replace(plain, kind="counter", unit="", metric=f"{metric.name}_count")
    total = replace(plain, kind="counter", metric=f"{metric.name}_sum")
    if metric.kind is Kind.SUMMARY:
        quantiles = not metric.total  # those of Yammer; what has a sum of its own has no quantiles
        yield metric.name, replace(plain, kind="quantile" if quantiles else "unknown", labels=plain.labels | {"quantile"})
        yield count.metric, count
        yield total.metric, total
    elif metric.kind is Kind.HISTOGRAM:
        bucket = f"{metric.name}_bucket"
        yield bucket, replace(plain, kind="bucket", labels=plain.labels | {"le"}, metric=bucket)
        yield count.metric, count
        yield total.metric, total
    else:
        yield metric.name, plain


def _plain(metric: Metric) -> Fact:
    kinds = {Kind.COUNTER: "counter", Kind.GAUGE: "gauge", Kind.STATE: "gauge"}
    return Fact(
        kind=kinds.get(metric.kind, "unknown"),
        unit=_unit(metric),
        labels=frozenset(metric.label_names),
        replicated=metric.scope in REPLICATED,
        metric=metric.name,
        until=metric.until,
        note=metric.note,
        appears=metric.appears,
    )


def _unit(metric: Metric) -> str | None:
    """None where the name tells of a unit that the catalogue does not."""
    if metric.name.endswith("byte_rate"):
        return "bytes/s"
    rate_like = r"(_rate|_percent|_time|fetchrate|loadaverage|_ratio)$"
    return None if not metric.unit and re.search(rate_like, metric.name) else metric.unit


def _both(one: Fact, other: Fact) -> Fact:
    """Of a name that stands for all and for each."""
    split = one.total_and_parts or ("topic" in one.labels) != ("topic" in other.labels)
    return replace(one, labels=one.labels | other.labels, total_and_parts=split, appears="")


def _declared(family: str, kind: str) -> Iterable[tuple[str, Fact]]:
    if kind in ("counter", "gauge"):  # OpenMetrics declares a counter without its _total, which then tells enough
        yield family, Fact(kind)
    elif kind == "summary":
        yield family, Fact("quantile" if family.startswith("kafka_") else "unknown")
    if kind in ("summary", "histogram"):
        yield f"{family}_count", Fact("counter", "")
        yield f"{family}_sum", Fact("counter")
    if kind == "histogram":
        yield f"{family}_bucket", Fact("bucket")


def _by_its_name(name: str) -> Fact:
    """The little that a name promises."""
    if _PERCENTILE.match(name):
        return Fact("quantile")
    return Fact("counter") if name.endswith("_total") else Fact("bucket") if name.endswith("_bucket") else Fact("unknown")
