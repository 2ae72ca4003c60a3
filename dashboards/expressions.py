"""PromQL from the catalogue: how a metric may be added up is taken from its scope, so that no panel can get it wrong.

Everything is first brought to one series per node and label (`max by`), so that two exporters that watch the same cluster
count once, and only then added up: the greatest of a node's partitions is not what the node has.
Nothing here is about Grafana but its variables `$cluster` and `$__rate_interval`.
"""

import re
from collections.abc import Iterable
from functools import cache

from kernel.metric_tables import METRICS
from kernel.metrics import Kind, Metric, Scope

REPEATED = (Scope.CONTROLLERS, Scope.ACTIVE)  # of the cluster, told by several
BY_NODE = (Scope.NODE, Scope.BROKER, Scope.TOPIC, Scope.PARTITION, Scope.JVM, Scope.OS, Scope.EXPORTER, *REPEATED)
CLUSTER = 'cluster=~"$cluster"'
WINDOW = "$__rate_interval"
SUFFIXES = ("_count", "_sum", "_bucket")


@cache
def known(name: str) -> Metric:
    """The catalogue's row. Of a name that stands for all topics and for each, the one for all."""
    for row in METRICS:
        if row.name == name or (row.kind in (Kind.SUMMARY, Kind.HISTOGRAM) and name in _parts(row)):
            return row
    raise LookupError(f"{name} is not in the catalogue")


def select(name: str, where: str = "", *, cluster: str = CLUSTER) -> str:
    """The metric with its matchers. Of what is told of all topics and of each, that of all unless `where` names topics."""
    known(name)
    matchers = [matcher for matcher in (cluster, _all_topics(name, where), where) if matcher]
    return f"{name}{{{', '.join(matchers)}}}" if matchers else name


def labels(name: str, by: str = "") -> str:
    """`cluster, node` of what nodes tell; of clients `instance`, for two processes may name their clients alike."""
    scope = known(name).scope
    node = ["node"] if scope in BY_NODE else ["instance"] if scope is Scope.CLIENT else []
    return ", ".join(dict.fromkeys(["cluster", *node, *(label.strip() for label in by.split(",") if label.strip())]))


def each(name: str, where: str = "", by: str = "") -> str:
    """Of each node, as it is; of labels not asked for, the greatest. A counter is refused: its height says nothing."""
    _is_a_level(name)
    return f"max by ({labels(name, by)}) ({select(name, where)})"


def each_rate(name: str, where: str = "", by: str = "", window: str = WINDOW) -> str:
    """Of each node, by the second; what is counted apart by labels that are not asked for is added up."""
    inner = _counted("rate", name, where, by, window)
    apart = _apart(name, where, by)
    return inner if not apart or known(name).scope in REPEATED else f"sum by ({labels(name, by)}) ({inner})"


def total(name: str, where: str = "", by: str = "") -> str:
    """Of the cluster: the sum over nodes, or, of what every controller repeats, the greatest."""
    return _of_the_cluster(name, each(name, where, _all(by, _apart(name, where, by))), by)


def total_rate(name: str, where: str = "", by: str = "", window: str = WINDOW) -> str:
    """Of the cluster, by the second."""
    return _of_the_cluster(name, _counted("rate", name, where, by, window), by)


def increase(name: str, where: str = "", by: str = "", window: str = "$__range") -> str:
    """How much a counter rose over the window, in the cluster."""
    return _of_the_cluster(name, _counted("increase", name, where, by, window), by)


def quantile(name: str, of: str, where: str = "", by: str = "") -> str:
    """A summary's, of each node, while there is traffic: Kafka's percentiles stand still when it stops."""
    row = known(name)
    if row.kind is not Kind.SUMMARY or row.total:
        raise ValueError(f"{name} has no quantiles")
    sides = labels(name, by)
    matcher = f'quantile="{of}"' + (f", {where}" if where else "")
    return f"max by ({sides}) ({select(name, matcher)}) and on ({sides}) ({each_rate(f'{name}_count', where, by)} > 0)"


def mean(name: str, where: str = "", by: str = "") -> str:
    """A summary's or a histogram's, over the window: where nothing happened there is none."""
    return f"{each_rate(f'{name}_sum', where, by)} / {each_rate(f'{name}_count', where, by)} > -1"


def percentile(name: str, of: str, where: str = "", by: str = "") -> str:
    """Of a real histogram, over all that tell it: these may be added up."""
    if known(name).kind is not Kind.HISTOGRAM:
        raise ValueError(f"{name} is no histogram")
    sides = ", ".join(dict.fromkeys(["cluster", *(label.strip() for label in by.split(",") if label.strip()), "le"]))
    inner = f"sum by ({sides}) (rate({select(f'{name}_bucket', where)}[{WINDOW}]))"
    return f"histogram_quantile({of}, {inner}) > -1"  # NaN, while nothing is counted, is no point on a line


def described(*names: str) -> str:
    """What the catalogue says of them."""
    said = dict.fromkeys(f"{known(name).help} {known(name).note}".strip() for name in names)
    return "\n\n".join(said)


def _counted(how: str, name: str, where: str, by: str, window: str) -> str:
    _is_a_count(name)
    sides = labels(name, _all(by, _apart(name, where, by)))
    return f"max by ({sides}) ({how}({select(name, where)}[{window}]))"


def _apart(name: str, where: str, by: str) -> list[str]:
    """Labels by which the catalogue tells its series apart, and which neither `where` pins nor `by` names."""
    row = known(name)
    topic = ("topic",) if name in _told_twice() and "topic" in where else ()
    named = {label.strip() for label in by.split(",")}
    return [one for one in (*row.label_names, *topic) if one not in named and not re.search(rf'\b{one}="', where)]


def _all(by: str, more: Iterable[str]) -> str:
    return ", ".join([*([by] if by else []), *more])


def _of_the_cluster(name: str, inner: str, by: str) -> str:
    sides = ", ".join(dict.fromkeys(["cluster", *(label.strip() for label in by.split(",") if label.strip())]))
    row = known(name)
    how = "max" if row.scope in REPEATED or row.by_topic == "max" else "sum"
    return f"{how} by ({sides}) ({inner})"


def _all_topics(name: str, where: str) -> str:
    return 'topic=""' if known(name).scope is Scope.BROKER and name in _told_twice() and "topic" not in where else ""


@cache
def _told_twice() -> frozenset[str]:
    found: dict[str, set[Scope]] = {}
    for row in METRICS:
        found.setdefault(row.name, set()).add(row.scope)
    return frozenset(name for name, scopes in found.items() if {Scope.BROKER, Scope.TOPIC} <= scopes)


def _parts(row: Metric) -> tuple[str, ...]:
    return tuple(row.name + suffix for suffix in SUFFIXES)


def _counts(name: str) -> bool:
    row = known(name)
    return row.kind is Kind.COUNTER or name != row.name


def _is_a_count(name: str) -> None:
    if not _counts(name):
        raise ValueError(f"{name} is a {known(name).kind}: its rate means nothing")


def _is_a_level(name: str) -> None:
    if _counts(name):
        raise ValueError(f"{name} is counted up: show its rate")
    if known(name).kind in (Kind.SUMMARY, Kind.HISTOGRAM):
        raise ValueError(f"{name} is a {known(name).kind}: show a quantile or its mean")
