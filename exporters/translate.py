"""From what beans say to what Prometheus is told: names, labels, units, and nothing that is not a number. Pure.

A value that means "nothing yet" (NaN, a sentinel, an absurd negative) is counted and left out: a gap is honest.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from exporters.object_names import ObjectName, parse
from exporters.readings import Reading, Value
from kernel.metrics import QUANTILES, Kind, Metric

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]  # what its kind adds to the name: _total, _count, _sum or nothing; labels; value


@dataclass(slots=True)
class Family:
    """All samples of one name."""

    metric: Metric
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Translated:
    families: dict[str, Family]  # by name, in the order of the catalogue
    unusable: int  # values that were no numbers, or meant nothing yet
    seen: frozenset[str]  # keys of the metrics whose beans answered, usable or not

    @property
    def series(self) -> int:
        return sum(len(family.samples) for family in self.families.values())


class Translator:
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._order = {metric.name: place for place, metric in reversed(list(enumerate(metrics)))}
        self._by_bean: dict[tuple[str, str, str, frozenset[str]], list[Metric]] = defaultdict(list)
        for metric in metrics:
            if metric.bean:
                self._by_bean[_shape(metric.domain, metric.keys)].append(metric)
        self._known: dict[str, list[tuple[Metric, dict[str, str]]]] = {}  # beans of the last time: most come again

    def wanted(self, bean: str) -> list[tuple[Metric, dict[str, str]]]:
        """The metrics that this bean feeds, each with the labels that the bean's name gives."""
        if (known := self._known.get(bean)) is not None:
            return known
        name = parse(bean)
        found = []
        for metric in self._candidates(name):
            labels = _labels(metric, name)
            if labels is not None:
                found.append((metric, labels))
        return found

    def translate(self, readings: Iterable[Reading]) -> Translated:
        beans: dict[str, dict[str, Value]] = defaultdict(dict)
        for reading in readings:
            beans[reading.bean][reading.attribute] = reading.value
        families: dict[str, Family] = {}
        seen: set[str] = set()
        unusable = 0
        known = {bean: self.wanted(bean) for bean in beans}
        self._known = known
        for bean, values in beans.items():
            for metric, labels in known[bean]:
                if not any(attribute in values for attribute in _needed(metric)):
                    continue
                seen.add(metric.key)
                samples, bad = _samples(metric, labels, values)
                unusable += bad
                if samples:
                    families.setdefault(metric.name, Family(metric)).samples += samples
        ordered = dict(sorted(families.items(), key=lambda item: self._order[item[0]]))
        return Translated(ordered, unusable, frozenset(seen))

    def _candidates(self, name: ObjectName) -> list[Metric]:
        keys = dict(name.keys)
        exact = self._by_bean.get(_shape(name.domain, keys), [])
        varying = self._by_bean.get(_shape(name.domain, keys | {"name": "{name}"}), []) if "name" in keys else []
        return exact + varying


def _shape(domain: str, keys: dict[str, str]) -> tuple[str, str, str, frozenset[str]]:
    """What two names must share to be worth comparing. A name that varies is one shape for all."""
    name = keys.get("name", "")
    return domain, keys.get("type", ""), "" if name.startswith("{") else name, frozenset(keys)


def _labels(metric: Metric, name: ObjectName) -> dict[str, str] | None:
    given = dict(name.keys)
    labels: dict[str, str] = {}
    for key, wanted in metric.keys.items():
        value = given.get(key, "")
        if not wanted.startswith("{"):
            if value != wanted:
                return None
            continue
        label = wanted[1:-1]
        if label in metric.only and value not in metric.only[label]:
            return None
        labels[label] = value
    return labels | dict(metric.fixed)


def _needed(metric: Metric) -> tuple[str, ...]:
    return (metric.attribute, metric.total) if metric.total else (metric.attribute,)


def _samples(metric: Metric, labels: dict[str, str], values: dict[str, Value]) -> tuple[list[Sample], int]:
    if metric.kind is Kind.STATE:
        word = values.get(metric.attribute)
        return ([("", _sorted(labels | {metric.word: str(word)}), 1.0)], 0) if word not in (None, "") else ([], 1)
    if metric.kind is Kind.SUMMARY:
        return _summary(metric, labels, values)
    number = usable(metric, values.get(metric.attribute))
    if number is None:
        return [], 1
    return [("_total" if metric.kind is Kind.COUNTER else "", _sorted(labels), number * metric.factor)], 0


def _summary(metric: Metric, labels: dict[str, str], values: dict[str, Value]) -> tuple[list[Sample], int]:
    count = usable(metric, values.get(metric.attribute))
    if count is None:
        return [], 1
    if metric.total:
        total = usable(metric, values.get(metric.total))
    else:
        mean = usable(metric, values.get("Mean"))
        total = None if mean is None else count * mean
    quantiles = {} if metric.total else {label: usable(metric, values.get(name)) for label, name in QUANTILES.items()}
    samples = [
        ("", _sorted(labels | {"quantile": label}), value * metric.factor)
        for label, value in quantiles.items()
        if value is not None
    ]
    samples.append(("_count", _sorted(labels), count))
    if total is not None:
        samples.append(("_sum", _sorted(labels), total * metric.factor))
    return samples, (total is None) + sum(value is None for value in quantiles.values())


def usable(metric: Metric, value: Value) -> float | None:
    """The number, or None if there is none: a word, NaN, infinity, or a number that means "nothing yet"."""
    if isinstance(value, str):  # jmxquery gives bytes, shorts and enumerations as text
        try:
            value = float(value)
        except ValueError:
            return None
    if value is None or isinstance(value, bool):
        return None if value is None else float(value)
    number = float(value)
    if not math.isfinite(number) or number in metric.sentinels or (metric.least is not None and number < metric.least):
        return None
    return number


def _sorted(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
