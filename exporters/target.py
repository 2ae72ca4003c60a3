"""One node, asked again and again by a thread of its own, so that a node that hangs keeps nobody else waiting.

What it publishes is a value that is replaced whole: a scrape sees one collection or the next, never parts of both.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exporters.exposition import Rendered, Renderer
from exporters.readings import Collector, Reading
from exporters.shaping import Shaper
from exporters.translate import Family
from kernel.errors import CollectionFailed, SuiteError

log = logging.getLogger(__name__)
HostFigures = Callable[[Sequence[Reading]], list[Family]]  # what the machine below tells, given what the node told


@dataclass(frozen=True, slots=True)
class Standing:
    """How the last collection went, and all of them so far. Values are there only if the last one succeeded."""

    rendered: Rendered | None = None
    asked_at: float = 0.0  # when the values were asked for, so that their age is never told too young
    seconds: float | None = None
    collections: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unusable: int = 0
    series: int = 0
    dropped: int = 0  # so far

    def age(self, now: float) -> float | None:
        return now - self.asked_at if self.rendered else None


class Target:
    def __init__(
        self,
        labels: Mapping[str, str],
        collector: Collector,
        shaper: Shaper,
        *,
        interval: float,
        host: HostFigures | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.labels = dict(labels)
        self.standing = Standing()
        self._collector, self._shaper, self._host = collector, shaper, host
        self._renderer = Renderer(self.labels)
        self._interval, self._clock = interval, clock
        self._said = ""  # the last trouble that was told, so that the log has each once and not once a round
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"collect {self.name}", daemon=True)

    @property
    def name(self) -> str:
        return "/".join(self.labels.values())

    def start(self) -> None:
        self._thread.start()

    def close(self, patience: float = 5.0) -> None:
        self._stop.set()
        self._collector.close()
        if self._thread.is_alive():
            self._thread.join(patience)

    def collect(self) -> None:
        """Once. Never raises: whatever happens becomes a standing."""
        began = self._clock()
        try:
            readings = self._collector.collect()
            took = self._clock() - began
            shaped = self._shaper.shape(readings, began, self._host(readings) if self._host else ())
            rendered = self._renderer.render(shaped.families)
        except SuiteError as trouble:
            self._failed(trouble.reason if isinstance(trouble, CollectionFailed) else "setup", trouble.message, began)
        except Exception as trouble:  # our own mistake must not end the thread, nor pass old values off as new
            log.exception("%s: %s", self.name, trouble)
            self._failed("internal", f"{type(trouble).__name__}: {trouble}", began)
        else:
            self._tell("")
            self.standing = replace(
                self.standing,
                rendered=rendered,
                asked_at=began,
                seconds=took,
                collections=self.standing.collections + 1,
                missing=tuple(metric.key for metric in shaped.missing),
                unusable=shaped.unusable,
                series=shaped.series,
                dropped=self.standing.dropped + shaped.dropped,
            )

    def _failed(self, reason: str, message: str, began: float) -> None:
        if self._stop.is_set():
            return  # it was we who ended it
        self._tell(message)
        errors = {**self.standing.errors, reason: self.standing.errors.get(reason, 0) + 1}
        gone = Standing(collections=self.standing.collections, dropped=self.standing.dropped)
        self.standing = replace(gone, errors=errors, seconds=self._clock() - began)

    def _tell(self, trouble: str) -> None:
        if trouble == self._said:
            return
        log.warning("%s: %s", self.name, trouble) if trouble else log.info("%s: answers again", self.name)
        self._said = trouble

    def _run(self) -> None:
        due = self._clock()
        while not self._stop.wait(max(0.0, due - self._clock())):
            self.collect()
            due = max(due + self._interval, self._clock())  # a slow node is not asked twice to catch up
