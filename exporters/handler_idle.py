"""How idle the request handlers were, as the ratio everybody expects. Pure.

Kafka calls it a percentage, registers a meter, and counts nanoseconds in it; its own rates are averages over minutes or
since the start. The difference of two counts over the time between them is the truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.translate import Family
from kernel.metric_tables import METRICS
from kernel.metrics import EVERY_ROLE

_BY_NAME = {metric.name: metric for metric in METRICS}
RATIO = _BY_NAME["kafka_server_kafkarequesthandlerpool_requesthandleravgidle_ratio"]
SECONDS = _BY_NAME["kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total"]
APART = (4, 2)  # since then the pools of a combined node are counted apart (KAFKA-19606)


@dataclass(frozen=True, slots=True)
class Idle:
    """The last look at the count, to compare the next one with."""

    seconds: float
    at: float


def handler_idle(
    families: Mapping[str, Family], before: Idle | None, at: float, *, version: tuple[int, ...], roles: frozenset[str]
) -> tuple[Family | None, Idle | None]:
    """The ratio since the look before, None after the first and after a restart (the count fell); and this look."""
    if SECONDS.name not in families:
        return None, None
    (_, _, seconds), *_ = families[SECONDS.name].samples
    now = Idle(seconds, at)
    if before is None or at <= before.at or seconds < before.seconds:
        return None, now
    pools = 2 if roles == EVERY_ROLE and version < APART else 1
    ratio = (seconds - before.seconds) / (at - before.at) / pools
    return Family(RATIO, [("", (), min(1.0, ratio))]), now
