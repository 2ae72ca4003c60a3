"""A cluster of values for the judge of lag: logs that grow, groups that commit, members that come and go, and a monitor that
looks every ten seconds. Time passes only when it is told to.

    world = World()
    world.join()
    world.run(12, lambda: world.produce(100) or world.commit(world.end() - 100))
    assert world.status() is Status.OK
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.grouping import Judged, Since, order, partition_verdicts, summaries
from lag_monitor.judge.observing import Looked, ends_of, observe, position_of
from lag_monitor.judge.rules import judge
from lag_monitor.judge.settings import Patience
from lag_monitor.offsets_topic.values import print_of
from lag_monitor.sources.admin import Described
from lag_monitor.sources.membership import apply
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.windows import GONE_TOPIC, OWN
from lag_monitor.verdict import GroupVerdict, PartitionVerdict, Status

NOW = 1_785_000_000.0  # 2026-07-25 17:20:00 UTC
GROUP, TOPIC = "billing", "orders"
FIRST, SECOND = b"\1" * 8 + b"first---", b"\2" * 8 + b"second--"  # ids of topics


@dataclass
class Log:
    start: int = 0
    end: int = 0
    stable: int | None = None  # where an open transaction began
    times: list[float] = field(default_factory=list)  # when each batch of records was written
    begins: list[int] = field(default_factory=list)  # and its first offset

    def written(self, offset: int) -> float:
        return self.times[bisect_right(self.begins, offset) - 1]


class World:
    def __init__(
        self,
        partitions: int = 1,
        *,
        patience: Patience | None = None,
        intervals: int = 10,
        reads_topic: bool = True,
        time_known: bool = True,
        topic_id: bytes = b"",
    ) -> None:
        self.patience, self.now, self.reads_topic, self.time_known = patience or Patience(), NOW, reads_topic, time_known
        self.store = ClusterStore(BurrowRules(intervals=intervals), now=NOW)
        self.ids = {TOPIC: topic_id}
        self.logs = {(TOPIC, number): Log() for number in range(partitions)}
        self.brokers_ahead = 0.0  # how far the brokers' clocks are ahead of ours
        self.clear: dict[int, int] = {}
        self.judged: Judged | None = None
        self.looked: Looked | None = None
        self.told: list[Status] = []  # of the first partition of the first group, at every look
        self._order, self._since = 0, Since()
        self._confirmed: dict[tuple[str, str, int], int] = {}
        for (topic, number), log in self.logs.items():
            self.store.head(topic, number, partitions, log.end)

    # ---- what happens ----------------------------------------------------------------------------------------------------

    def produce(self, count: int = 1, partition: int = 0, topic: str = TOPIC, *, written: float | None = None) -> None:
        log = self.logs[topic, partition]
        if count:
            log.times.append(self.now if written is None else written)
            log.begins.append(log.end)
            log.end += count

    def end(self, partition: int = 0, topic: str = TOPIC) -> int:
        return self.logs[topic, partition].end

    def commit(
        self, offset: int, partition: int = 0, group: str = GROUP, topic: str = TOPIC, *, made: float | None = None
    ) -> None:
        self._order += 1
        when = int((self.now + self.brokers_ahead if made is None else made) * 1000)
        if self.store.heads.find(topic, partition) < 0:
            self.store.head(topic, partition, 1, self.end(partition, topic))
        row = self.store.resolve(group, topic, partition)
        if not self.reads_topic:
            self._confirmed[group, topic, partition] = offset
            self.store.windows.flags[row] |= np.uint8(OWN)
            return
        one, place, at = (np.array([value], np.int64) for value in (offset, self._order, when))
        id_ = np.array([print_of(self.ids.get(topic, b""))], np.int64)
        self.store.commits(np.array([row], np.int32), one, place, at, int(self.now), id_)

    def withdraw(self, partition: int = 0) -> None:
        """The commit is deleted."""
        self._order += 1
        self.store.withdrawn(GROUP, TOPIC, partition, self._order)

    def join(
        self, *partitions: int, group: str = GROUP, topic: str = TOPIC, kind: str = "consumer", state: str = "Stable"
    ) -> None:
        """One member with these partitions, or with partition 0."""
        owners = {(topic, number): ("/10.0.0.7", "billing-1") for number in partitions or (0,)}
        apply(self.store, group, Described(state, kind, 1, owners))

    def leave(self, group: str = GROUP) -> None:
        apply(self.store, group, Described("Empty", "consumer", 0))

    def nothing_to_read(self, up_to: int, partition: int = 0) -> None:
        """The monitor has looked into the log: markers, or compacted away."""
        self.store.windows.clear_to[self.row(partition)] = up_to

    def recreate(self, topic_id: bytes = b"", *, noticed: bool = True) -> None:
        """So quickly that the topic was never missed."""
        self.ids[TOPIC] = topic_id
        for number in [number for topic, number in self.logs if topic == TOPIC]:
            self.logs[TOPIC, number] = Log()
        if noticed:
            self.store.heads.print[self.store.heads.rows[TOPIC]] = print_of(topic_id)

    def delete_topic(self, topic: str = TOPIC) -> None:
        self.store.delete_topic(topic, self.now)
        self.logs = {place: log for place, log in self.logs.items() if place[0] != topic}
        self._confirmed = {place: offset for place, offset in self._confirmed.items() if place[1] != topic}

    def clock_set(self, seconds: float) -> None:
        """Ours and nobody else's: what is written in the logs stays as it is, and looks older or younger."""
        self.now += seconds
        self.brokers_ahead -= seconds
        for log in self.logs.values():
            log.times = [moment + seconds for moment in log.times]  # so that the figures told in seconds stay
        self.store.clock_jumped(seconds)

    # ---- the monitor -----------------------------------------------------------------------------------------------------

    def run(self, looks: int, each: Callable[[], object] = lambda: None, *, every: float = 10.0, sees: bool = True) -> None:
        for _ in range(looks):
            self.now += every
            each()
            self.look(sees=sees)

    def look(self, *, sees: bool = True, sees_ends: bool = True, sees_bounds: bool = True) -> None:
        store = self.store
        store.begin_look()
        if sees:
            self._tell_heads(sees_ends, sees_bounds)
            for group in store.groups.values():
                group.told(self.now)
        committed, made = self._committed()
        seconds = self._seconds(committed) if sees and self.time_known else np.full(store.windows.used, np.nan)
        self.looked = observe(store, self.now, committed, seconds, self.patience, made)
        self.judged = order(store, self.looked, judge(store, self.looked, self.patience))
        if GROUP in store.groups:
            self.told.append(self.status())

    def _tell_heads(self, ends: bool, bounds: bool) -> None:
        heads = self.store.heads
        for (topic, number), log in self.logs.items():
            total = 1 + max(other for name, other in self.logs if name == topic)
            row = heads.topic_rows(topic, total)[number : number + 1]
            if self.ids.get(topic) and not heads.print[row][0]:
                heads.print[row] = print_of(self.ids[topic])
            if ends:
                heads.told(row, np.array([log.end]), self.now)
            if bounds:
                stable = log.end if log.stable is None else log.stable
                heads.told_bounds(row, np.array([stable]), np.array([log.start]), self.now)

    def _committed(self) -> tuple[np.ndarray, np.ndarray]:
        windows, used = self.store.windows, self.store.windows.used
        if not self.reads_topic:
            return self._confirmed_only()
        seen = ((windows.flags[:used] & OWN) > 0) & (windows.filled[:used] > 0)
        told = np.where(seen, windows.offsets[:used, -1], -1)
        made = np.where(seen, windows.timestamps[:used, -1] / 1000 - self.brokers_ahead, np.nan)
        for group in self.store.groups.values():
            for rows, _ in group.gone.values():
                windows.flags[rows[windows.first_seen[rows] >= 0]] |= np.uint8(GONE_TOPIC)
                told[rows] = windows.committed[rows]
        return told, made

    def _confirmed_only(self) -> tuple[np.ndarray, np.ndarray]:
        windows, used = self.store.windows, self.store.windows.used
        told = np.where(windows.head[:used] < 0, windows.committed[:used], -1)
        for (group, topic, partition), offset in self._confirmed.items():
            row = self.store.resolve(group, topic, partition)
            told[row] = offset
            if windows.offsets[row, -1] != offset:
                stamp = np.array([int(self.now * 1000)])
                self.store.commits(np.array([row], np.int32), np.array([offset]), stamp, stamp, int(self.now))
        return told, np.full(used, np.nan)

    def _seconds(self, committed: np.ndarray) -> np.ndarray:
        store = self.store
        end, position = ends_of(store, committed)[0], position_of(store, committed)
        seconds = np.full(store.windows.used, np.nan)
        for row in np.nonzero((position >= 0) & (position < end))[0].tolist():
            head = int(store.windows.head[row])
            log = self.logs[store.heads.names[store.heads.topic[head]], int(store.heads.partition[head])]
            seconds[row] = max(0.0, self.now - log.written(int(position[row])))
        return seconds

    # ---- what is said ----------------------------------------------------------------------------------------------------

    def row(self, partition: int = 0, group: str = GROUP, topic: str = TOPIC) -> int:
        known = self.store.groups[group]
        rows = known.topics[topic] if topic in known.topics else known.gone[topic][0]
        return int(rows[partition])

    def verdicts(self) -> Mapping[tuple[str, str, int], PartitionVerdict]:
        judged = self.judged
        assert judged is not None
        told = partition_verdicts(self.store, judged, self.patience, judged.rows, judged.status, judged.burrow)
        groups = [self.store.by_place[place] for place in self.store.windows.group[judged.rows].tolist()]
        return {(group.name, one.topic, one.partition): one for group, one in zip(groups, told, strict=True) if group}

    def verdict(self, partition: int = 0, group: str = GROUP, topic: str = TOPIC) -> PartitionVerdict:
        return self.verdicts()[group, topic, partition]

    def status(self, partition: int = 0, group: str = GROUP, topic: str = TOPIC) -> Status:
        found = self.verdicts().get((group, topic, partition))
        return found.status if found else Status.OK

    def reason(self, partition: int = 0, group: str = GROUP) -> str:
        return self.verdict(partition, group).reason

    def group(self, name: str = GROUP) -> GroupVerdict:
        assert self.judged is not None
        told = summaries(self.store, self.judged, self.patience, "test", self._since)
        return next(one for one in told if one.group == name)
