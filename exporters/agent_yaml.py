"""The configuration of jmx_exporter's Java agent, written from the catalogue: the same names, and nothing that is not used.

An include list, because an agent without one reads all of a broker's ten thousand attributes at every scrape. Rules from
the first character to the last, because jmx_exporter's own are found anywhere in a name and catch what they never meant.
"""

import re
from collections.abc import Iterable, Iterator

from exporters.collectors.asks import patterns
from kernel.metrics import QUANTILES, Kind, Metric

HEAD = """\
# Written by `kafka-trial catalogue agent-yaml` from the metric catalogue; change it there.
# A summary has its quantiles, _count and _mean: the agent cannot multiply, so the _sum that the exporter shows is
# _count times _mean here. What the agent exports of the JVM by itself is not repeated.
"""


def agent_yaml(metrics: Iterable[Metric]) -> str:
    ours = [metric for metric in metrics if metric.bean and not metric.native]
    lines = ["includeObjectNames:"]
    lines += [f"  - {_text(pattern)}" for pattern in dict.fromkeys(name for metric in ours for name in patterns(metric))]
    lines.append("rules:")
    for metric in ours:
        for rule in _rules(metric):
            lines += _entry(rule)
    return HEAD + "\n".join(lines) + "\n"


def _rules(metric: Metric) -> Iterator[dict[str, object]]:
    bean, labels = _bean(metric)
    kind = {"type": "COUNTER" if metric.kind is Kind.COUNTER else "GAUGE"}
    factor = {"valueFactor": metric.factor} if metric.factor != 1.0 else {}
    if metric.kind is Kind.STATE:
        group = len(labels) + 1
        yield {
            "pattern": f"{bean}{re.escape(metric.attribute)}: (.+)$",
            "name": metric.name,
            "value": 1,
            "labels": labels | {metric.word: f"${group}"},
            **kind,
        }
        return
    # Rules that do not look at the value are remembered, which halves the time of a scrape.
    common = {"labels": labels, "cache": True}

    def rule(attribute: str, name: str, more: dict[str, str] | None = None, *, scaled: bool = True) -> dict[str, object]:
        own = common | {"labels": labels | (more or {})}
        return {"pattern": f"{bean}{re.escape(attribute)}: ", "name": name, **kind, **(factor if scaled else {}), **own}

    if metric.kind is Kind.SUMMARY:
        yield rule(metric.attribute, f"{metric.name}_count", scaled=False)
        yield rule("Mean", f"{metric.name}_mean")
        for quantile, attribute in QUANTILES.items():
            yield rule(attribute, metric.name, {"quantile": quantile})
    else:
        yield rule(metric.attribute, metric.name)


def _bean(metric: Metric) -> tuple[str, dict[str, str]]:
    """How jmx_exporter writes the bean's name, as a regular expression; and which of its groups is which label."""
    pairs: list[str] = []
    labels: dict[str, str] = {}
    for key, value in metric.keys.items():
        if value.startswith("{"):
            label = value[1:-1]
            labels[label] = f"${len(labels) + 1}"
            chosen = metric.only.get(label)
            # A value in quotes may hold anything; one without holds no comma.
            values = f"({'|'.join(chosen)})" if chosen else '"?([^,>"]+)"?'
            pairs.append(f"{re.escape(key)}={values}")
        else:
            pairs.append(f"{re.escape(key)}={re.escape(value)}")
    return f"^{re.escape(metric.domain)}<{', '.join(pairs)}><>", labels | dict(metric.fixed)


def _entry(rule: dict[str, object]) -> list[str]:
    lines: list[str] = []
    for key, value in rule.items():
        if isinstance(value, dict):
            if value:
                lines.append(f"{key}:")
                lines += [f"  {label}: {_text(str(told))}" for label, told in value.items()]
        else:
            lines.append(f"{key}: {_text(value) if isinstance(value, str) else _plain(value)}")
    return [f"  - {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: str) -> str:
    """In single quotes, in which YAML leaves backslashes alone."""
    return "'" + value.replace("'", "''") + "'"
