"""The /metrics page of jmx_exporter's agent in the broker, set up with the rules that the catalogue writes.

Its samples are traced back to the beans they came from, so that they go the same way as everybody's: one place knows what
a number means, and which numbers mean nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from exporters.collectors.http import ask
from exporters.readings import Reading, Value
from kernel.errors import CollectionFailed
from kernel.metrics import QUANTILES, Kind, Metric

if TYPE_CHECKING:
    from requests import Session


class AgentCollector:
    def __init__(self, address: str, metrics: Sequence[Metric], *, session: "Session", timeout: float = 10.0) -> None:
        self._address, self._session, self._timeout = address, session, timeout
        self._origins = Origins(metrics)

    def collect(self) -> list[Reading]:
        from prometheus_client.parser import text_string_to_metric_families

        text = ask(self._session, self._address, timeout=self._timeout)
        try:
            families = list(text_string_to_metric_families(text.decode()))
        except ValueError:
            raise CollectionFailed(f"{self._address} answered with no page of metrics.", reason="bad-answer") from None
        samples = ((sample.name, sample.labels, sample.value) for family in families for sample in family.samples)
        return list(self._origins.readings(samples))

    def close(self) -> None:
        self._session.close()


class Origins:
    """From a name and labels to the bean and attribute they were made of."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._parts: dict[str, list[tuple[Metric, str, float]]] = defaultdict(list)  # name → metric, attribute, factor
        for metric in metrics:
            for name, attribute, factor in parts(metric):
                self._parts[name].append((metric, attribute, factor))

    def readings(self, samples: Iterable[tuple[str, Mapping[str, str], float]]) -> Iterator[Reading]:
        for name, labels, value in samples:
            for metric, attribute, factor in self._parts.get(name, ()):
                if (bean := bean_of(metric, labels)) is not None:
                    quantile = labels.get("quantile", "")
                    told: Value = labels[metric.word] if metric.kind is Kind.STATE else value / factor
                    yield Reading(bean, QUANTILES.get(quantile, quantile) if quantile else attribute, told)


def parts(metric: Metric) -> list[tuple[str, str, float]]:
    """The names under which a metric's attributes stand on the agent's page, each with its attribute and factor."""
    if metric.kind is not Kind.SUMMARY:
        return [(metric.name, metric.attribute, metric.factor)]
    counted = (f"{metric.name}_count", metric.attribute, 1.0)
    if metric.total:
        return [counted, (f"{metric.name}_sum", metric.total, metric.factor)]
    return [counted, (f"{metric.name}_mean", "Mean", metric.factor), (metric.name, "", metric.factor)]


def bean_of(metric: Metric, labels: Mapping[str, str]) -> str | None:
    """The object name, if these are its labels and no others."""
    own = set(metric.label_names) | ({"quantile"} if metric.kind is Kind.SUMMARY else set())
    given = {label for label in labels if label in own}
    wanted = set(metric.label_names)
    if given != set(labels) or not wanted <= given or any(labels[key] != value for key, value in metric.fixed.items()):
        return None
    pairs = (
        f"{key}={_quoted(labels[value[1:-1]])}" if value.startswith("{") else f"{key}={value}"
        for key, value in metric.keys.items()
    )
    return f"{metric.domain}:{','.join(pairs)}"


def _quoted(value: str) -> str:
    """As an object name must write a value with a special character."""
    if not any(character in value for character in ',=:"*?\n'):
        return value
    escaped = "".join("\\" + character if character in '\\"*?' else character for character in value)
    return '"' + escaped.replace("\n", "\\n") + '"'
