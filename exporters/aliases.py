"""The names that other people's dashboards ask for, beside our own. Pure.

Family B (Confluent, Grafana Cloud) and family C (Bitnami) hold the numbers as Kafka has them, nanoseconds for one, under
other names and without a type.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from enum import StrEnum

from exporters.translate import Family
from kernel.metrics import Kind


class Alias(StrEnum):
    CONFLUENT = "confluent"
    BITNAMI = "bitnami"


def aliased(families: Iterable[Family], wanted: Collection[Alias]) -> list[Family]:
    """The families under their other names. A counter is an untyped value there: its name lacks the `_total`."""
    made: dict[str, Family] = {}
    for alias in wanted:
        for family in families:
            if name := getattr(family.metric, alias.value):
                metric = replace(family.metric, name=name, kind=Kind.UNTYPED, star=False, help=f"As {family.metric.name}.")
                into = made.setdefault(name, Family(metric))
                into.samples += [("", labels, value / family.metric.factor) for _, labels, value in family.samples]
    return list(made.values())
