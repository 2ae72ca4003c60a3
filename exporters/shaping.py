"""From the readings of one node to what is shown of it: names, a computed ratio, topics, aliases, and no more than fits.

All of it without a clock or a socket; the one thing it remembers is the last count of idle time.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from exporters.aliases import Alias, aliased
from exporters.budget import within
from exporters.by_topic import all_by_topic
from exporters.handler_idle import Idle, handler_idle
from exporters.readings import Reading
from exporters.selection import VERSION, Partitions, missing, roles_of
from exporters.translate import Family, Translated, Translator
from kernel.metrics import Metric, as_version


@dataclass(frozen=True, slots=True)
class Shaped:
    families: list[Family]
    missing: list[Metric]  # what this node should have answered with
    unusable: int
    dropped: int

    @property
    def series(self) -> int:
        return sum(len(family.samples) for family in self.families)


class Shaper:
    """One for each node, since it compares a reading with the one before."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        *,
        partitions: Partitions = Partitions.OFF,
        aliases: Collection[Alias] = (),
        max_series: int = 10_000,
    ) -> None:
        self._metrics, self._translator = metrics, Translator(metrics)
        self._partitions, self._aliases, self._max_series = partitions, aliases, max_series
        self._idle: Idle | None = None

    def shape(self, readings: Iterable[Reading], at: float, extra: Sequence[Family] = ()) -> Shaped:
        """`at`: when they were read, on a clock that only goes forward. `extra`: what did not come from beans."""
        told = self._translator.translate(readings)
        version, roles = version_of(told), roles_of(self._metrics, told.seen)
        ratio, self._idle = handler_idle(told.families, self._idle, at, version=version, roles=roles)
        families = [*told.families.values(), *([ratio] if ratio else []), *extra]
        families.sort(key=lambda family: not family.metric.star)  # stable: what the documents single out is cut last
        if self._partitions is Partitions.TOPIC:
            families = all_by_topic(families)
        families += aliased(families, self._aliases)
        kept, dropped = within(families, self._max_series)
        return Shaped(kept, missing(self._metrics, told, version), told.unusable, dropped)


def version_of(told: Translated) -> tuple[int, ...]:
    """Kafka's version on this node; () if it does not say."""
    family = told.families.get(VERSION)
    return as_version(dict(family.samples[0][1])["version"]) if family else ()
