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
        self._known: dict[str, list[_Fed]] = {}  # beans of the last time: most come again

    def wanted(self, bean: str) -> list[tuple[Metric, dict[str, str]]]:
        """The metrics that this bean feeds, each with the labels that the bean's name gives."""
        name = parse(bean)
        labelled = ((metric, _labels(metric, name)) for metric in self._candidates(name))
        return [(metric, labels) for metric, labels in labelled if labels is not None]

    def translate(self, readings: Iterable[Reading]) -> Translated:
        beans: dict[str, dict[str, Value]] = defaultdict(dict)
        for reading in readings:
            beans[reading.bean][reading.attribute] = reading.value
        families: dict[str, Family] = {}
        seen: set[str] = set()
        unusable = 0
        known = self._known = {bean: self._fed(bean) for bean in beans}
        for bean, values in beans.items():
            for fed in known[bean]:
                if values.keys().isdisjoint(fed.needed):
                    continue
                seen.add(fed.key)
                samples, bad = fed.samples(values)
                unusable += bad
                if samples:
                    families.setdefault(fed.metric.name, Family(fed.metric)).samples += samples
        ordered = dict(sorted(families.items(), key=lambda item: self._order[item[0]]))
        return Translated(ordered, unusable, frozenset(seen))

    def _fed(self, bean: str) -> "list[_Fed]":
        known = self._known.get(bean)
        return [_Fed(metric, labels) for metric, labels in self.wanted(bean)] if known is None else known

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


class _Fed:
    """A metric that a bean feeds, with all that is known of it before its values come."""

    __slots__ = ("key", "metric", "needed", "sorted", "suffix", "varying")

    def __init__(self, metric: Metric, labels: dict[str, str]) -> None:
        self.metric, self.key = metric, metric.key
        self.varying, self.sorted = labels, _sorted(labels)
        self.needed = (metric.attribute, metric.total) if metric.total else (metric.attribute,)
        self.suffix = "_total" if metric.kind is Kind.COUNTER else ""

    def samples(self, values: dict[str, Value]) -> tuple[list[Sample], int]:
        """And how many of the values were of no use."""
        metric = self.metric
        if metric.kind is Kind.SUMMARY:
            return _summary(metric, self.varying, values)
        told = values.get(metric.attribute)
        if metric.kind is Kind.STATE:
            return ([("", _sorted(self.varying | {metric.word: str(told)}), 1.0)], 0) if told not in (None, "") else ([], 1)
        number = usable(metric, told)
        return ([(self.suffix, self.sorted, number * metric.factor)], 0) if number is not None else ([], 1)


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
