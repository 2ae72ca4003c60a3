"""All nodes together, and the answer to a scrape: made of what is there already, so that nobody waits for Kafka."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from exporters.exposition import Format, Rendered, Renderer, end, join
from exporters.target import Target
from exporters.translate import Family, Labels, Sample
from kernel.metric_tables import METRICS

_OWN = {metric.name: metric for metric in METRICS if metric.name.startswith("kafka_jmx_")}


class Exporter:
    def __init__(self, targets: Sequence[Target], *, max_age: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._targets, self._max_age, self._clock = list(targets), max_age, clock
        self._joined: dict[Format, tuple[list[Rendered], bytes]] = {}
        self._renderer = Renderer({})
        self._lock = threading.Lock()

    def __enter__(self) -> "Exporter":
        for target in self._targets:
            target.start()
        return self

    def __exit__(self, *_: object) -> None:
        for target in self._targets:
            target.close()

    @property
    def ready(self) -> bool:
        """Every node was asked once, whatever it answered."""
        return all(target.standing.collections or target.standing.errors for target in self._targets)

    def metrics(self, form: Format) -> bytes:
        now = self._clock()
        fresh = [rendered for target in self._targets if (rendered := self._fresh(target, now)) is not None]
        with self._lock:
            own = join([self._renderer.render(self._own(now))], form)
            return b"".join((self._values(fresh, form), own, end(form)))

    def _values(self, fresh: list[Rendered], form: Format) -> bytes:
        """Joining megabytes takes longer than sending them, so what was joined is kept until one of its parts changes."""
        parts, text = self._joined.get(form, ([], b""))
        if len(parts) != len(fresh) or any(old is not new for old, new in zip(parts, fresh, strict=True)):
            text = join(fresh, form)
            self._joined[form] = fresh, text
        return text

    def _fresh(self, target: Target, now: float) -> Rendered | None:
        age = target.standing.age(now)
        return target.standing.rendered if age is not None and age <= self._max_age else None

    def _own(self, now: float) -> Iterable[Family]:
        samples: dict[str, list[Sample]] = {name: [] for name in _OWN}
        for target in self._targets:
            standing, labels = target.standing, tuple(target.labels.items())
            shown = self._fresh(target, now) is not None

            def tell(name: str, value: float | None, suffix: str = "", *more: tuple[str, str], of: Labels = labels) -> None:
                if value is not None:
                    samples[f"kafka_jmx_{name}"].append((suffix, (*of, *more), float(value)))

            tell("up", shown)
            tell("age_seconds", standing.age(now) if shown else None)
            tell("collection_seconds", standing.seconds)
            tell("collections_total", standing.collections, "_total")
            for reason, count in standing.errors.items():
                tell("errors_total", count, "_total", ("reason", reason))
            tell("missing", len(standing.missing) if shown else None)
            tell("unusable_values", standing.unusable if shown else None)
            tell("series", standing.series if shown else 0)
            tell("dropped_series_total", standing.dropped, "_total")
        return [Family(_OWN[name], found) for name, found in samples.items() if found]
