"""Which metrics of the catalogue a node is asked for, and which of them it ought to have. Pure."""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from exporters.translate import Translated
from kernel.metrics import EVERY_ROLE, Metric, Scope

VERSION = "kafka_server_app_version"
ACTIVE = "kafka_controller_kafkacontroller_activecontrollercount"


class Partitions(StrEnum):
    """What is told of single partitions. Kafka has eleven beans for each: thousands of series that few look at."""

    OFF = "off"
    TOPIC = "topic"  # summed up for each topic
    EACH = "each"


def selected(
    metrics: Iterable[Metric], *, partitions: Partitions = Partitions.OFF, details: bool = False
) -> tuple[Metric, ...]:
    """`details`: what there is for each network thread and for each kind of client."""

    def wanted(metric: Metric) -> bool:
        if metric.scope is Scope.PARTITION:
            return partitions is Partitions.EACH or (partitions is Partitions.TOPIC and bool(metric.by_topic))
        return metric.everyday or details

    return tuple(metric for metric in metrics if metric.bean and wanted(metric))


def roles_of(metrics: Iterable[Metric], seen: Collection[str]) -> frozenset[str]:
    """What a node is, told from what it has: one bean that only controllers have makes it a controller. No single bean is
    trusted to be there, since its loss is what we are looking for."""
    return frozenset(
        role for metric in metrics if metric.key in seen and metric.roles != EVERY_ROLE for role in metric.roles
    )


def missing(metrics: Sequence[Metric], told: Translated, version: tuple[int, ...]) -> list[Metric]:
    """What this version has on a node of these roles from its start, and this node did not answer with. A node that does
    not tell its version lacks that, and of the rest nothing can be said."""
    if not version:
        return [metric for metric in metrics if metric.name == VERSION]
    return [metric for metric in not_told(metrics, told, version) if not comes_later(metric, told)]


def not_told(metrics: Sequence[Metric], told: Translated, version: tuple[int, ...]) -> list[Metric]:
    """What a node of these roles and this version may have, and this one has not, or not yet."""
    roles = roles_of(metrics, told.seen)
    return [
        metric for metric in metrics if metric.key not in told.seen and metric.roles & roles and metric.in_version(version)
    ]


def comes_later(metric: Metric, told: Translated) -> bool:
    """It takes an event; or an office, for what the active controller alone tells no standby owes."""
    return bool(metric.appears) or (metric.scope is Scope.ACTIVE and not _is_active(told))


def _is_active(told: Translated) -> bool:
    return ACTIVE in told.families and any(value == 1 for _, _, value in told.families[ACTIVE].samples)
