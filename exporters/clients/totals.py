"""Running sums of what librdkafka tells by intervals. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from exporters.clients.statistics import Window

Sample = tuple[str, dict[str, str], float]


@dataclass(slots=True)
class Totals:
    """A summary: count and sum since the beginning, quantiles of the last interval."""

    count: int = 0
    total: float = 0.0
    quantiles: Mapping[str, float] = field(default_factory=dict)

    def add(self, window: Window) -> None:
        self.count += window.count
        self.total += window.total
        self.quantiles = window.quantiles  # none for an interval without any: a quantile of nothing is no number

    def samples(self, labels: Mapping[str, str]) -> Iterator[Sample]:
        for quantile, value in self.quantiles.items():
            yield "", {**labels, "quantile": quantile}, value
        yield "_count", dict(labels), self.count
        yield "_sum", dict(labels), self.total
