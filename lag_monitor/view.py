"""What the monitor knows, for whoever asks: our verdicts and Burrow's, of all clusters. Answers from memory alone."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from lag_monitor.answers import (
    BurrowCluster,
    BurrowGroup,
    BurrowWindow,
    ClusterSummary,
    Disagreement,
)
from lag_monitor.burrow.evaluating import evaluate, stored
from lag_monitor.judge.grouping import Judged, Since, order, partition_verdicts, summaries
from lag_monitor.looking import Looker
from lag_monitor.store.table import I64
from lag_monitor.verdict import Burrow, GroupVerdict, Status

T = TypeVar("T")
MOST = 1_000  # disagreements that are listed


class ClusterView:
    """One cluster. `publish` is called after each look, in the thread that looked."""

    def __init__(self, looker: Looker) -> None:
        self.looker = looker
        self.judged: Judged | None = None
        self.groups: list[GroupVerdict] = []
        self.by_name: Mapping[str, GroupVerdict] = {}
        self.disagreements: list[Disagreement] = []
        self.disagreeing = 0  # group-partitions, listed or not
        self.since: Since = {}  # of groups: how they are, and since when
        self.has_been_ready = False

    @property
    def ready(self) -> bool:
        return self.judged is not None and self.looker.caught_up and self.looker.up

    def resume(self, since: Since) -> None:
        """What was so before a restart is so since then, and not since the restart."""
        self.since = since

    def publish(self) -> None:
        looker = self.looker
        if looker.looked is None:
            return
        with looker.lock:
            judged = order(looker.store, looker.looked, looker.status)
            groups = summaries(looker.store, judged, looker.watch.patience, looker.watch.name, self.since)
            self.disagreeing, self.disagreements = self._disagreements(judged)
        self.judged, self.groups, self.by_name = judged, groups, {one.group: one for one in groups}
        self.has_been_ready = self.has_been_ready or self.ready

    def group(self, name: str) -> GroupVerdict | None:
        summary, judged, looker = self.by_name.get(name), self.judged, self.looker
        if summary is None or judged is None:
            return None
        with looker.lock:
            known = looker.store.groups.get(name)
            if known is None:
                return None
            which = self._rows_of(judged, known.place)
            all_of = partition_verdicts(
                looker.store, judged, looker.watch.patience, judged.rows[which], judged.status[which], judged.burrow[which]
            )
        return replace(summary, partitions=tuple(all_of))

    def summary(self) -> ClusterSummary:
        looker, judged = self.looker, self.judged
        return ClusterSummary(
            name=looker.watch.name,
            bootstrap=looker.watch.address.bootstrap,
            ready=self.ready,
            up=looker.up,
            trouble=looker.trouble,
            judged_at=judged.looked.now if judged else None,
            groups=len(self.groups),
            partitions=len(judged.rows) if judged else 0,
            by_status=Counter(one.status for one in self.groups),
            sources=looker.watch.sources,
            disagreements=len({one.group for one in self.disagreements}),
        )

    def _rows_of(self, judged: Judged, place: int) -> I64:
        """Those of a group that still are what they were when they were judged."""
        windows = self.looker.store.windows
        which: I64 = np.nonzero((windows.group[judged.rows] == place) & (windows.since[judged.rows] >= 0))[0]
        return which

    def _disagreements(self, judged: Judged) -> tuple[int, list[Disagreement]]:
        """Where one finds it bad and the other well; see `differ`."""
        looker = self.looker
        bad, seen = judged.status > Status.UNKNOWN, judged.status != Status.UNKNOWN
        differs = np.nonzero((bad != (judged.burrow >= Burrow.WARN)) & seen)[0]
        some = differs[:MOST]
        told = partition_verdicts(
            looker.store, judged, looker.watch.patience, judged.rows[some], judged.status[some], judged.burrow[some]
        )
        names = [looker.store.by_place[place] for place in looker.store.windows.group[judged.rows[some]].tolist()]
        return len(differs), [
            Disagreement(group.name, one.topic, one.partition, one.status, one.burrow, one.reason)
            for group, one in zip(names, told, strict=True)
            if group is not None
        ]


class Answers:
    """Both ports, for all clusters. Which there are may change while it is asked."""

    def __init__(self, views: Callable[[], Mapping[str, ClusterView]], wall: Callable[[], float] = time.time) -> None:
        self._views, self._wall = views, wall

    # ---- ours ----------------------------------------------------------------------------------------------------------

    def clusters(self) -> list[ClusterSummary]:
        return [view.summary() for view in self._views().values()]

    def groups(self, cluster: str) -> list[GroupVerdict]:
        view = self._views().get(cluster)
        return view.groups if view else []

    def group(self, cluster: str, group: str) -> GroupVerdict | None:
        view = self._views().get(cluster)
        return view.group(group) if view else None

    def disagreements(self, cluster: str) -> list[Disagreement]:
        view = self._views().get(cluster)
        return view.disagreements if view else []


class BurrowAnswers:
    """What Burrow would answer."""

    def __init__(self, views: Callable[[], Mapping[str, ClusterView]], wall: Callable[[], float] = time.time) -> None:
        self._views, self._wall = views, wall

    def clusters(self) -> list[str]:
        return list(self._views())

    def cluster(self, cluster: str) -> BurrowCluster | None:
        view = self._views().get(cluster)
        if view is None:
            return None
        watch = view.looker.watch
        return BurrowCluster(
            servers=tuple(watch.address.bootstrap.split(",")),
            client_id=str(watch.settings.get("client.id", "rdkafka")),
            tls=watch.address.protocol.endswith("SSL"),
            sasl=watch.address.sasl_mechanism or "",
            topic_refresh=int(watch.topics_every),
            offset_refresh=int(watch.patience.interval),
        )

    def topics(self, cluster: str) -> list[str] | None:
        return self._of(cluster, lambda looker: list(looker.store.heads.rows))

    def heads(self, cluster: str, topic: str) -> list[int] | None:
        return self._of(
            cluster, lambda looker: looker.store.heads.listed(topic) if topic in looker.store.heads.rows else None
        )

    def consumers(self, cluster: str) -> list[str] | None:
        return self._of(cluster, lambda looker: list(looker.store.groups))

    def consumers_of(self, cluster: str, topic: str) -> list[str] | None:
        return self._of(
            cluster, lambda looker: [name for name, group in looker.store.groups.items() if topic in group.topics]
        )

    def consumer(self, cluster: str, group: str) -> dict[str, list[BurrowWindow]] | None:
        def windows(looker: Looker) -> dict[str, list[BurrowWindow]] | None:
            known = looker.store.groups.get(group)
            if known is None or looker.store.expired(group, int(self._wall())):
                return None
            return stored(looker.store, known)

        return self._of(cluster, windows)

    def status(self, cluster: str, group: str) -> BurrowGroup | None:
        return self._of(cluster, lambda looker: evaluate(looker.store, group, int(self._wall())))

    def delete(self, cluster: str, group: str, topic: str | None = None) -> None:
        def forget(looker: Looker) -> None:
            if topic is None:
                looker.store.delete_group(group)
            else:
                looker.store.delete_group_topic(group, topic)

        self._of(cluster, forget)

    def _of(self, cluster: str, ask: Callable[[Looker], T]) -> T | None:
        view = self._views().get(cluster)
        if view is None:
            return None
        with view.looker.lock:
            return ask(view.looker)
