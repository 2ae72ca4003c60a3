"""How a row is written down: its name follows from the bean, by the rule of the family that most dashboards ask for.

Family A (jmx_exporter's own examples, Strimzi): domain, type and name in lower case, `PerSec` becomes `_total`. Where a
name would break Prometheus' own rules it gives way: `-ms` becomes seconds, and a gauge does not end in `_count`.
Family B (Confluent, Grafana Cloud) keeps `persec` and has the running count under it; family C (Bitnami) ends every
name in the attribute and puts `total` before names without a topic. Both can be emitted beside A.
"""

import re
from typing import Any

from kernel.metrics import Kind, Metric

# Where family A runs the words of a type together, as Strimzi's rules do.
RUN_TOGETHER = {
    "raft-metrics": "raftmetrics",
    "socket-server-metrics": "socketservermetrics",
    "broker-metadata-metrics": "brokermetadatametrics",
}


def gauge(bean: str, help: str, attribute: str = "Value", **more: Any) -> Metric:  # noqa: A002
    return _row(Kind.GAUGE, bean, help, attribute, **more)


def counter(bean: str, help: str, attribute: str = "Count", **more: Any) -> Metric:  # noqa: A002
    """A meter's running count. Its rates are averages that decay for minutes; `rate()` of the count is exact."""
    return _row(Kind.COUNTER, bean, help, attribute, **more)


def summary(bean: str, help: str, attribute: str = "Count", **more: Any) -> Metric:  # noqa: A002
    """A Yammer histogram or timer. Count times Mean is its exact sum; its quantiles freeze when traffic stops."""
    return _row(Kind.SUMMARY, bean, help, attribute, **more)


def state(bean: str, help: str, attribute: str = "Value", **more: Any) -> Metric:  # noqa: A002
    return _row(Kind.STATE, bean, help, attribute, **more)


def own(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    """A metric of ours, which no bean has."""
    return Metric(name, kind, help, labels=labels, **more)


def _row(kind: Kind, bean: str, help: str, attribute: str, **more: Any) -> Metric:  # noqa: A002
    name = more.pop("name", None) or family_a(bean, attribute, kind)
    if _in_milliseconds(_word(bean, attribute)):
        more = {"unit": "seconds", "factor": 1e-3} | more
    aliases = {"confluent": family_b(bean, attribute, kind), "bitnami": family_c(bean, attribute, kind)}
    aliases = {family: alias for family, alias in aliases.items() if alias != name and kind is not Kind.SUMMARY}
    return Metric(name, kind, help, bean, attribute, **(aliases | more))


def family_a(bean: str, attribute: str, kind: Kind) -> str:
    base, name = _parts(bean)
    word = _word(bean, attribute)
    if _in_milliseconds(word):
        return _snake(f"{base}_{re.sub('-ms(?=-|$)', '', word)}_seconds")
    if kind is Kind.GAUGE and word.endswith("-count"):
        word = word.removesuffix("-count")
        return _snake(f"{base}_{word}") + ("" if word.endswith("s") else "s")
    if attribute not in ("Value", "Count"):
        return _snake(f"{base}_{name}_{attribute}" if name else f"{base}_{attribute}") + _total(kind, attribute)
    if name.endswith("PerSec"):
        name = name.removesuffix("PerSec")
    elif name.endswith("Percent"):
        name = name.removesuffix("Percent") + "_percent"
    return _snake(f"{base}_{name}") + _total(kind, name)


def family_b(bean: str, attribute: str, kind: Kind) -> str:
    """What Confluent's rules make of it; empty where they have no rule of their own."""
    base, name = _parts(bean)
    return _snake(f"{base}_{name}") if bean.startswith("kafka.") and name and attribute in ("Value", "Count") else ""


def family_c(bean: str, attribute: str, kind: Kind) -> str:
    """What Bitnami's rules make of it; empty where they have none."""
    base, name = _parts(bean)
    if attribute not in ("Value", "Count") or not name:
        return ""
    if bean.startswith("kafka.log:"):
        return _snake(f"{base}_{name}") if "partition={" in bean else ""
    if bean.startswith("kafka.server:") and "{" not in bean:
        return _snake(f"{base}_total_{name}_{attribute}")
    served = (
        "kafka.controller:",
        "kafka.network:type=RequestChannel",
        "kafka.network:type=RequestMetrics",
        "kafka.network:type=SocketServer",
        "kafka.server:type=BrokerTopicMetrics",
    )
    return _snake(f"{base}_{name}_{attribute}") if bean.startswith(served) else ""


def _word(bean: str, attribute: str) -> str:
    """The last part of the name, as Kafka writes it."""
    return _parts(bean)[1] if attribute in ("Value", "Count") else attribute


def _in_milliseconds(word: str) -> bool:
    return "-ms-" in word or word.endswith("-ms")


def _parts(bean: str) -> tuple[str, str]:
    domain, _, properties = bean.partition(":")
    keys = dict(pair.split("=", 1) for pair in properties.split(","))
    name = keys.get("name", "")
    base = f"{domain}_{RUN_TOGETHER.get(keys['type'], keys['type'])}"
    return base, "" if name.startswith("{") else name


def _total(kind: Kind, name: str) -> str:
    return "_total" if kind is Kind.COUNTER and not name.endswith(("total", "Total")) else ""


def _snake(words: str) -> str:
    return words.replace(".", "_").replace("-", "_").lower()
