"""What to ask a node for: object-name patterns and attributes, as few as cover the metrics that are wanted. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from kernel.metrics import Metric


@dataclass(frozen=True, slots=True)
class Ask:
    pattern: str  # an object name; `*` for a value that varies
    attributes: tuple[str, ...]  # none: all that there are

    @property
    def is_pattern(self) -> bool:
        return "*" in self.pattern


EVERYTHING = (Ask("kafka.*:*", ()), Ask("java.lang:*", ()), Ask("java.nio:*", ()))


def asks(metrics: Iterable[Metric]) -> list[Ask]:
    wanted: dict[str, dict[str, None]] = {}  # a dict keeps the order and drops what is asked for twice
    for metric in metrics:
        if metric.bean:
            for pattern in patterns(metric):
                wanted.setdefault(pattern, {}).update(dict.fromkeys(metric.attributes))
    return [Ask(pattern, tuple(attributes)) for pattern, attributes in wanted.items()]


def patterns(metric: Metric) -> list[str]:
    """One name for each combination of the values that are wanted by name; `*` where any will do."""
    choices = [[f"{key}={value}" for value in _choices(metric, wanted)] for key, wanted in metric.keys.items()]
    return [f"{metric.domain}:{','.join(pairs)}" for pairs in product(*choices)]


def _choices(metric: Metric, wanted: str) -> tuple[str, ...]:
    if not wanted.startswith("{"):
        return (wanted,)
    return metric.only.get(wanted[1:-1], ("*",))
