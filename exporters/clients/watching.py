"""One line in a user's program: `Producer(watched(config))`, and its figures are in Prometheus' registry.

librdkafka gives statistics only while the application polls, so their age is a figure too; and it does not count records
that failed, so delivery reports are counted here. Nothing in here may ever raise into somebody's poll().
"""

import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar, overload

from exporters.clients.counting import Callback, counting
from exporters.clients.deliveries import OK, Deliveries
from exporters.clients.samples import Client, families, samples
from exporters.clients.statistics import statistics
from kernel.errors import UsageError

INTERVAL = "statistics.interval.ms"
INTERVAL_MS = 5000
FORGET_AFTER_S = 600.0  # a client that was closed and is kept says no goodbye
C = TypeVar("C")


class ClientMetrics:
    """Collects for any number of clients of this process; `registry.register(metrics)` puts it on a page."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clients: dict[str, Client] = {}
        self._deliveries = Deliveries()
        self._troubles = 0
        self._clock, self._lock = clock, threading.Lock()

    @overload
    def watched(self, what: Mapping[str, Any]) -> dict[str, Any]: ...
    @overload
    def watched(self, what: type[C]) -> type[C]: ...
    def watched(self, what: Mapping[str, Any] | type[Any]) -> dict[str, Any] | type[Any]:
        """A configuration with our callbacks in it, or a client's class that puts them into its configuration.

        Callbacks that are there already are called as before. A producer's class also counts the records that are
        given a callback of their own in produce(), which a configuration cannot see.
        """
        if isinstance(what, type):
            producer = hasattr(what, "produce")
            return counting(what, lambda config: self._configured(config, producer=producer), self.delivery)
        # A consumer must have a group, and may not have on_delivery.
        return self._configured(what, producer="on_delivery" in what or "group.id" not in what)

    def delivery(self, callback: Callback | None = None) -> Callback:
        """A delivery callback that counts, then calls yours: for `produce(…, on_delivery=…)`."""
        return partial(self._delivered, callback)  # one may be made for each record: lighter than a closure

    def _delivered(self, callback: Callback | None, error: Any, message: Any) -> None:
        try:
            outcome, latency = OK if error is None else error.name(), message.latency()
            with self._lock:
                self._deliveries.add(message.topic(), outcome, latency)
        except Exception:  # an odd message must not keep the application's own callback from it
            self._trouble()
        if callback is not None:
            callback(error, message)

    def _configured(self, config: Mapping[str, Any], *, producer: bool) -> dict[str, Any]:
        interval, theirs = _interval(config), config.get("stats_cb")

        def on_statistics(text: str) -> None:
            self._take(text, interval, ear)
            if theirs is not None:
                theirs(text)

        ear = weakref.ref(on_statistics)
        ours = {INTERVAL: INTERVAL_MS, **config, "stats_cb": on_statistics}
        return ours | {"on_delivery": self.delivery(config.get("on_delivery"))} if producer else ours

    def _take(self, text: str, interval: float, ear: "weakref.ref[Any]") -> None:
        now = self._clock()
        try:
            told = statistics(json.loads(text))
            with self._lock:
                client = self._clients.setdefault(told.client, Client(told, now, interval, ear))
                client.take(told, now)
                self._forget(now)
        except Exception:  # statistics that cannot be read: their age tells of it, and the application polls on
            self._trouble()

    def _forget(self, now: float) -> None:
        """Those that are no more, at once; those that are silent for long, too."""
        gone = [name for name, client in self._clients.items() if client.ear() is None or now - client.at > FORGET_AFTER_S]
        for name in gone:
            del self._clients[name]

    def _trouble(self) -> None:
        with self._lock:
            self._troubles += 1

    # ---- for prometheus_client --------------------------------------------------------------------------------

    def describe(self) -> list[Any]:
        return []  # known only once clients have spoken

    def collect(self) -> Iterator[Any]:
        now = self._clock()
        with self._lock:
            self._forget(now)
            found = [sample for client in self._clients.values() for sample in samples(client, now)]
            found += self._deliveries.samples()
            found.append(("callback_errors_total", "_total", {}, self._troubles))
        yield from families(found)


def _interval(config: Mapping[str, Any]) -> float:
    """In seconds."""
    given = config.get(INTERVAL, INTERVAL_MS)
    try:
        milliseconds = float(given)
    except (TypeError, ValueError):
        milliseconds = 0.0
    if not milliseconds > 0:
        raise UsageError(
            f"{INTERVAL} is {given!r}, and librdkafka would give no statistics: "
            f"leave it out for {INTERVAL_MS}, or give milliseconds above 0.",
            given=given,
        )
    return milliseconds / 1000


_default: ClientMetrics | None = None
_first = threading.Lock()


@overload
def watched(what: Mapping[str, Any]) -> dict[str, Any]: ...
@overload
def watched(what: type[C]) -> type[C]: ...
def watched(what: Mapping[str, Any] | type[Any]) -> dict[str, Any] | type[Any]:
    """`Producer(watched({…}))`, `Consumer(watched({…}))` or `watched(Producer)({…})`: its figures appear in
    prometheus_client's own registry.
    """
    from prometheus_client import REGISTRY

    global _default
    with _first:
        if _default is None:
            _default = ClientMetrics()
            REGISTRY.register(_default)
    return _default.watched(what)
