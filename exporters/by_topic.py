"""One series for each topic in place of one for each partition. Pure.

Only where a sum or a maximum says something: the sum of log ends, say, does not, and is left out.
"""

from collections.abc import Callable, Iterable

from exporters.translate import Family, Labels
from kernel.metrics import Scope

_HOW: dict[str, Callable[[float, float], float]] = {"sum": lambda one, other: one + other, "max": max}


def by_topic(family: Family) -> Family | None:
    if family.metric.scope is not Scope.PARTITION:
        return family
    if not family.metric.by_topic:
        return None
    together = _HOW[family.metric.by_topic]
    topics: dict[tuple[str, Labels], float] = {}
    for suffix, labels, value in family.samples:
        where = suffix, tuple(pair for pair in labels if pair[0] != "partition")
        topics[where] = together(topics[where], value) if where in topics else value
    return Family(family.metric, [(suffix, labels, value) for (suffix, labels), value in topics.items()])


def all_by_topic(families: Iterable[Family]) -> list[Family]:
    return [made for family in families if (made := by_topic(family)) is not None]
