"""The lag monitor's figures as Prometheus reads them: written when a cluster was looked at, joined when somebody asks."""

import threading
import time
from collections.abc import Iterable

from exporters.exposition import CONTENT_TYPES, Rendered, Renderer, end, join, wanted_format
from exporters.translate import Family
from kernel.metric_tables import METRICS
from kernel.metrics import Kind, Scope
from lag_monitor.figures import Figure, of_cluster, of_monitor
from lag_monitor.monitor import Monitor
from lag_monitor.view import ClusterView

_OWN = {metric.name: metric for metric in METRICS if metric.scope is Scope.GROUP}


class LagMetrics:
    def __init__(self, monitor: Monitor, most: int) -> None:
        """`most`: group-partitions with series of their own."""
        self._monitor, self._most = monitor, most
        self._lock = threading.Lock()
        self._renderers: dict[str, Renderer] = {}
        self._rendered: dict[str, tuple[float, Rendered]] = {}  # when, and what
        self._own = Renderer({})

    def looked(self, view: ClusterView) -> None:
        name = view.looker.watch.name
        loop = self._monitor.loops.get(name)
        if loop is None:
            return
        renderer = self._renderers.setdefault(name, Renderer({}))
        rendered = renderer.render(families(of_cluster(loop, self._most)))
        with self._lock:
            self._rendered[name] = (time.monotonic(), rendered)

    def page(self, accept: str) -> tuple[str, bytes]:
        form = wanted_format(accept)
        with self._lock:
            pieces = [self._fresh(name) for name in self._monitor.views]
            own = self._own.render(families(of_monitor(self._monitor)))
        return CONTENT_TYPES[form], join([*pieces, own], form) + end(form)

    def _fresh(self, cluster: str) -> Rendered:
        """What was last seen; or, if that is so old that the look itself must hang, that the cluster is not up."""
        when, rendered = self._rendered.get(cluster, (-1e9, Rendered()))
        loop = self._monitor.loops.get(cluster)
        if loop is not None and time.monotonic() - when > loop.watch.patience.blind + 5 * loop.watch.timeout:
            return Renderer({}).render(families([("kafka_lag_up", (("cluster", cluster),), 0.0)]))
        return rendered


def families(figures: Iterable[Figure]) -> list[Family]:
    found: dict[str, Family] = {}
    for name, labels, value in figures:
        metric = _OWN[name]
        suffix = "_total" if metric.kind is Kind.COUNTER else ""
        found.setdefault(name, Family(metric)).samples.append((suffix, labels, float(value)))
    return list(found.values())
