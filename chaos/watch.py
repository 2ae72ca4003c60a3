"""Watches a cluster during a run and writes down every change: leaders, ISR, ELR, live brokers, the active controller.

Two threads with a view each: while the active controller hangs, a question about the quorum hangs with it, and the
partitions must still be seen.
"""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from chaos.evidence.events import EventLog
from compose.view import ClusterView
from kernel.cluster import PartitionState
from kernel.errors import NotReady

EVERY = 0.1  # seconds between two looks


class CanBeWatched(Protocol):
    def observer(self) -> ClusterView: ...


class Watch:
    def __init__(self, cluster: CanBeWatched, events: EventLog, topics: Callable[[], list[str]]) -> None:
        self._events, self._topics = events, topics
        self._views = [cluster.observer(), cluster.observer()]
        self._stop = threading.Event()
        self._partitions: dict[tuple[str, int], PartitionState] = {}
        self._brokers: frozenset[int] | None = None
        self._controller: tuple[int, int] | None = None
        looks = (self._look_at_partitions, self._look_at_nodes)
        self._threads = [
            threading.Thread(target=self._watch, args=(view, look), daemon=True)
            for view, look in zip(self._views, looks, strict=True)
        ]

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(5)
        for view in self._views:
            view.close()

    def _watch(self, view: ClusterView, look: Callable[[ClusterView], None]) -> None:
        while not self._stop.wait(EVERY):
            try:
                look(view)
            except NotReady:  # nobody answers right now; what nobody tells cannot be written down
                continue

    def _look_at_partitions(self, view: ClusterView) -> None:
        topics = self._topics()
        if topics:
            for state in view.partitions(*topics):
                if self._partitions.get((state.topic, state.partition)) != state:
                    self._partitions[state.topic, state.partition] = state
                    self._events.write("partition", **facts_of(state))

    def _look_at_nodes(self, view: ClusterView) -> None:
        alive = view.brokers()
        if alive != self._brokers:
            self._brokers = alive
            self._events.write("brokers", alive=sorted(alive))
        quorum = view.quorum()
        if (quorum.leader, quorum.epoch) != self._controller:
            self._controller = (quorum.leader, quorum.epoch)
            self._events.write("controller", node=quorum.leader, epoch=quorum.epoch)


def facts_of(state: PartitionState) -> dict[str, Any]:
    return {
        "topic": state.topic,
        "partition": state.partition,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": sorted(state.isr),
        "elr": sorted(state.elr),
        "replicas": list(state.replicas),
    }
