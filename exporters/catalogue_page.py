"""docs/metrics.md, written from the catalogue. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from kernel.metric_tables.left_out import LEFT_OUT
from kernel.metrics import EVERY_ROLE, Kind, Metric, Scope

HEAD = """\
# Metrics

Written by `kafka-trial catalogue page` from the catalogue in `kernel/metric_tables/`; a test holds the two together.

Names are those of jmx_exporter's own examples and of Strimzi (family A). Everything the exporter shows of a node carries
`cluster` and `node`. A counter's name ends in `_total`; a summary has `quantile`, `_count` and `_sum`. ★ marks what Kafka's
documents and every book single out. With `aliases` in its configuration the exporter shows the names of family B (Confluent,
Grafana Cloud) and family C (Bitnami) as well.

How a value may be added up depends on its scope. What is repeated by every **controller**, standby too, is a `max`, never a
`sum`; so is what only the **active controller** tells, for in an election there may be two.

"""
_PARTS: Mapping[str, Callable[[Metric], bool]] = {
    "Singled out": lambda metric: metric.star,
    "From Kafka's beans": lambda metric: bool(metric.bean),
    "Of the exporter itself": lambda metric: metric.scope is Scope.EXPORTER,
    "Of producers and consumers in Python": lambda metric: metric.scope is Scope.CLIENT,
    "Of the probe": lambda metric: metric.scope is Scope.PROBE,
    "Of the lag monitor": lambda metric: metric.scope is Scope.GROUP,
    "Of the audit": lambda metric: metric.scope is Scope.AUDIT,
    "Of trials": lambda metric: metric.scope is Scope.TRIAL,
}


def page(metrics: Sequence[Metric]) -> str:
    rest = list(metrics)
    text = HEAD
    for title, belongs in _PARTS.items():
        rows, rest = [row for row in rest if belongs(row)], [row for row in rest if not belongs(row)]
        text += f"## {title}\n{_table(rows)}\n"
    assert not rest, rest  # noqa: S101  (a part that is missing here would be missing on the page)
    return text + _omissions()


def _table(metrics: Iterable[Metric]) -> str:
    lines = ["| metric | kind | meaning | scope | bean |", "| --- | --- | --- | --- | --- |"]
    for _, same in groupby(metrics, key=lambda metric: (metric.name, metric.help)):
        rows = list(same)
        first = rows[0]
        beans = "<br>".join(f"`{row.bean}` {row.attribute}" for row in rows if row.bean)
        lines.append(f"| {_name(rows)} | {_kind(first)} | {_meaning(first)} | {_scope(first)} | {beans} |")
    return "\n".join(lines) + "\n"


def _name(rows: Sequence[Metric]) -> str:
    labels = sorted({label for row in rows for label in row.label_names})
    aliases = [f"<br>B: `{rows[0].confluent}`"] if rows[0].confluent else []
    aliases += [f"<br>C: `{rows[0].bitnami}`"] if rows[0].bitnami else []
    return f"{'★ ' if rows[0].star else ''}`{rows[0].name}{'{' + ', '.join(labels) + '}' if labels else ''}`" + "".join(
        aliases
    )


def _kind(metric: Metric) -> str:
    words = "gauge, 1 with the word as a label" if metric.kind is Kind.STATE else str(metric.kind)
    return f"{words}, {metric.unit}" if metric.unit else words


def _meaning(metric: Metric) -> str:
    parts = [metric.help, metric.note]
    versions = [f"since {metric.since}"] if metric.since != "3.9" else []
    versions += [f"gone with {metric.until}"] if metric.until else []
    parts += [f"Kafka: {', '.join(versions)}."] if versions else []
    parts += [f"Appears {metric.appears}."] if metric.appears else []
    parts += [] if metric.everyday else [_on_request(metric)]
    return " ".join(part for part in parts if part).replace("|", "\\|")


def _on_request(metric: Metric) -> str:
    if metric.scope is not Scope.PARTITION:
        return "Only with `details = true`."
    return 'Only with `partitions = "each"`' + (f', or its {metric.by_topic} with `"topic"`.' if metric.by_topic else ".")


def _scope(metric: Metric) -> str:
    if not metric.bean or metric.roles == EVERY_ROLE:
        return str(metric.scope)
    return f"{metric.scope}, on {'s, '.join(sorted(metric.roles))}s" if metric.scope is not Scope.BROKER else "broker"


def _omissions() -> str:
    lines = ["## Left out", "Beans that are known and not exported. `kafka-trial catalogue verify` names any other.", ""]
    lines += ["| beans | why |", "| --- | --- |"]
    lines += [f"| `kafka.{pattern}` | {why} |" for pattern, why in LEFT_OUT.items()]
    return "\n".join(lines) + "\n"
