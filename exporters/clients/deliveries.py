"""Delivery reports, counted: librdkafka's own statistics do not say which records failed. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from exporters.clients.samples import Sample
from exporters.histogram import Histogram

OK = "ok"
MOST_TOPICS = 500
OTHERS = "(others)"  # no topic can be called that


@dataclass(slots=True)
class _Topic:
    outcomes: dict[str, int] = field(default_factory=dict)
    latencies: Histogram = field(default_factory=Histogram)


class Deliveries:
    """Of all clients of a process: a report does not say whose it is."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}

    def add(self, topic: str, outcome: str, latency: float | None) -> None:
        told = self._topics.get(topic) or self._new(topic)  # every record comes by here
        told.outcomes[outcome] = told.outcomes.get(outcome, 0) + 1
        if outcome == OK and latency is not None:
            told.latencies.add(latency)

    def _new(self, topic: str) -> _Topic:
        known = topic if len(self._topics) < MOST_TOPICS else OTHERS
        return self._topics.setdefault(known, _Topic())

    def samples(self) -> Iterator[Sample]:
        for topic, told in self._topics.items():
            for outcome, count in told.outcomes.items():
                yield "deliveries_total", "_total", {"topic": topic, "outcome": outcome}, count
            for suffix, labels, value in told.latencies.samples({"topic": topic}):
                yield "delivery_seconds", suffix, labels, value
