"""How long things took, in buckets from a millisecond to two minutes. Pure."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(slots=True)
class Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def samples(self, labels: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str], float]]:
        reached = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            reached += count
            yield "_bucket", {**labels, "le": bound}, reached
        yield "_count", dict(labels), reached
        yield "_sum", dict(labels), self.total
