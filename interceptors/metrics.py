"""What the interceptors of this program cost and how often they failed, for Prometheus.

    prometheus_client.REGISTRY.register(InterceptorMetrics())

Counters go on when a client is gone: its figures are added to those of the interceptors of the same name.
"""

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

from interceptors.chain import Chain, Tally
from kernel.metric_tables.clients import INTERCEPTORS


class Chains:
    """The chains of all clients of this program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: dict[int, tuple[str, list[Tally]]] = {}
        self._past: dict[tuple[str, str, str], list[int]] = {}
        self._numbers = itertools.count()
        # A chain may be collected as garbage at any time, also while this thread holds the lock.
        self._gone: deque[int] = deque()

    def add(self, chain: Chain) -> None:
        number = next(self._numbers)
        with self._lock:
            self._bury()
            self._alive[number] = (chain.client, chain.tallies)
        weakref.finalize(chain, self._gone.append, number).atexit = False

    def _bury(self) -> None:
        while self._gone:
            client, tallies = self._alive.pop(self._gone.popleft())
            _add(self._past, client, tallies)

    def totals(self) -> dict[tuple[str, str, str], list[int]]:
        """(interceptor, hook, client.id) → calls, errors, nanoseconds."""
        with self._lock:
            self._bury()
            totals = {key: list(figures) for key, figures in self._past.items()}
            for client, tallies in self._alive.values():
                _add(totals, client, tallies)
        return totals


def _add(totals: dict[tuple[str, str, str], list[int]], client: str, tallies: list[Tally]) -> None:
    for tally in list(tallies):
        figures = totals.setdefault((tally.interceptor, tally.hook, client), [0, 0, 0])
        figures[0] += tally.calls
        figures[1] += tally.errors
        figures[2] += tally.ns


chains = Chains()


class InterceptorMetrics:
    """A collector for prometheus_client."""

    def __init__(self, of: Chains = chains) -> None:
        self._chains = of

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily

        calls, errors, seconds = (CounterMetricFamily(row.name, row.help, labels=row.label_names) for row in INTERCEPTORS)
        for key, (called, failed, ns) in sorted(self._chains.totals().items()):
            calls.add_metric(key, called)
            errors.add_metric(key, failed)
            seconds.add_metric(key, ns / 1e9)
        yield from (calls, errors, seconds)
