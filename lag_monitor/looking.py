"""One look at one cluster: ask, remember, judge. In one thread a cluster; whoever wants to know reads what it left."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kernel.errors import CollectionFailed
from lag_monitor.asking import Asker, Shards
from lag_monitor.judge.ladder import rungs, seconds_behind
from lag_monitor.judge.observing import Looked, ends_of, observe, position_of
from lag_monitor.judge.rules import judge
from lag_monitor.peeking import Peeking
from lag_monitor.sources.admin import Partition
from lag_monitor.sources.reader import OffsetsReader
from lag_monitor.sources.taking import Taker
from lag_monitor.sources.times import ask_ladder, refine
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.store.table import F64, I8, I64
from lag_monitor.store.windows import GONE_TOPIC, OWN
from lag_monitor.watch import TOPIC, Watch

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Figures:
    """Of the monitor's own work, since the start."""

    looks: int = 0
    failed: int = 0
    seconds: float = 0.0  # the last look took
    mismatches: int = 0  # commits of which the two sources told different things, twice in a row
    peeked: int = 0
    clock_jumps: int = 0
    errors: Counter[str] = field(default_factory=Counter)


class Looker:
    """`wall` is the clock of verdicts and commits, `steady` the one that nobody sets."""

    def __init__(
        self,
        watch: Watch,
        store: ClusterStore,
        *,
        since: Mapping[int, int] | None = None,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.watch, self.store = watch, store
        self.lock = threading.RLock()
        self.figures = Figures()
        self.looked: Looked | None = None
        self.status: I8 = np.zeros(0, np.int8)
        self.trouble = ""
        self.up = False
        self.shards: Shards | None = None  # None: everything is ours
        self._mine: Shards | None = None  # as they were when the look began, for all of it
        self._saw_all = False
        self._wall, self._steady = wall, steady
        self._last: tuple[float, float] | None = None
        self.asker = Asker(watch, store, self.lock, since or {}, wall=wall, steady=steady)
        self._peeking = Peeking(watch, store, self.lock)
        self._suspects: dict[int, int] = {}  # row → what the topic of commits had when the coordinator had otherwise
        self._generation = store.generation

    @property
    def reader(self) -> OffsetsReader:
        return self.asker.reader

    @property
    def taker(self) -> Taker:
        return self.asker.taker

    @property
    def caught_up(self) -> bool:
        return self.asker.caught_up

    @property
    def offsets_partitions(self) -> int:
        """Of the topic of commits; 0 if there is none yet."""
        return self.asker.offsets_partitions

    def start(self) -> None:
        if TOPIC in self.watch.sources:
            self.reader.start()

    def stop(self) -> None:
        self.reader.stop()

    def close(self) -> None:
        """When no look is under way any more."""
        self.asker.close()

    def look(self) -> None:
        """Once. Whatever is not answered is not seen, and judged as such."""
        began, now = self._steady(), self._now()
        self._mine, self._saw_all = self.shards, False
        with self.lock:
            self.store.begin_look()
        try:
            confirmed = self.asker.ask(now, self._mine)
            self.up, self.trouble = True, self.reader.trouble
        except CollectionFailed as failed:
            confirmed = {}
            self.up, self.trouble = False, failed.message
            self.figures.failed += 1
        self._conclude(confirmed, now)
        self._saw_all = self.up and (self.asker.reached or not self.asker.reads_topic)
        self.figures.looks += 1
        self.figures.errors = Counter(self.asker.admin.errors)
        self.figures.peeked = self._peeking.peeked
        self.figures.seconds = self._steady() - began

    @property
    def whole(self) -> bool:
        """Everything that is ours has been read and judged. Not for whoever was given other shards since the look began, be
        they the same again."""
        return self._saw_all and self._mine is self.shards

    # ---- concluding ------------------------------------------------------------------------------------------------

    def _conclude(self, confirmed: Mapping[int, int], now: float) -> None:
        with self.lock:
            committed, made = self._committed(confirmed, now)
            for group in self.store.groups.values():
                group.slo = self.watch.promised(group.name)
            wanted = self._behind(committed)
        climbed = self._climb(wanted, now) if self.up else {}
        with self.lock:
            new = self.store.windows.used - len(committed)  # rows that came to be while Kafka was asked have nothing yet
            committed = np.concatenate([committed, np.full(new, NONE, np.int64)])
            made = np.concatenate([made, np.full(new, np.nan)])
            seconds = self._seconds(committed, climbed)
            self.looked = observe(self.store, now, committed, seconds, self.watch.patience, made)
            self.status = judge(self.store, self.looked, self.watch.patience)
        if self.up and self.watch.read_markers:
            self._peeking.peek(self.looked)

    def _committed(self, confirmed: Mapping[int, int], now: float) -> tuple[I64, F64]:
        """What each row has committed, and when, where the topic of commits told it."""
        windows = self.store.windows
        used = windows.used
        seen = ((windows.flags[:used] & OWN) > 0) & (windows.filled[:used] > 0)
        gone = (windows.flags[:used] & GONE_TOPIC) > 0
        for group in self.store.groups.values():
            for rows, _ in group.gone.values():
                seen_before = rows[windows.first_seen[rows] >= 0]
                windows.flags[seen_before] |= np.uint8(GONE_TOPIC)
                gone[rows] = True
        told = np.where(seen & ~gone, windows.offsets[:used, -1], NONE)
        told = np.where(gone, windows.committed[:used], told)
        if not self.asker.reads_topic:
            self._imitate(confirmed, now)
            made = np.full(used, np.nan)
        else:
            made = np.where(seen, windows.timestamps[:used, -1] / 1000, np.nan)
            self._compare(confirmed, told)
        for row, offset in confirmed.items():
            told[row] = offset
        for row, lag in self.asker.shared_lag.items():
            told[row] = max(told[row], int(self.store.heads.ends[windows.head[row], -1]) - lag)
        return told, made

    def _imitate(self, confirmed: Mapping[int, int], now: float) -> None:
        """Without the topic of commits Burrow's judge gets those that we saw change."""
        rows = np.fromiter(confirmed, np.int32, len(confirmed))
        offsets = np.fromiter(confirmed.values(), np.int64, len(confirmed))
        new = (self.store.windows.offsets[rows, -1] != offsets) | (self.store.windows.filled[rows] == 0)
        rows, offsets = rows[new], offsets[new]
        order = np.full(len(rows), int(now * 1000), np.int64)
        if len(rows):
            self.store.commits(rows, offsets, order, order, int(now))

    def _compare(self, confirmed: Mapping[int, int], told: I64) -> None:
        """A difference that is there twice with the topic standing still is one; once, it is only that one was earlier."""
        if self._generation != self.store.generation:  # a row may be another's now
            self._suspects, self._generation = {}, self.store.generation
        for row, offset in confirmed.items():
            ours = int(told[row])
            if ours in (offset, NONE):
                self._suspects.pop(row, None)
            elif self._suspects.get(row) == ours:
                self.figures.mismatches += 1
            else:
                self._suspects[row] = ours

    def _behind(self, committed: I64) -> dict[int, tuple[Partition, int, int]]:
        """By head: the partition, how far back somebody is, and its end."""
        store = self.store
        end, _ = ends_of(store, committed)
        position = position_of(store, committed)
        head = store.windows.head[: store.windows.used]
        late = np.nonzero((position >= 0) & (position < end) & (head >= 0) & (committed >= 0))[0]
        found: dict[int, tuple[Partition, int, int]] = {}
        for row in late.tolist():
            at = int(head[row])
            lowest = min(int(position[row]), found[at][1]) if at in found else int(position[row])
            found[at] = (store.heads.named(at), lowest, int(store.heads.ends[at, -1]))
        return found

    def _climb(self, wanted: Mapping[int, tuple[Partition, int, int]], now: float) -> dict[int, tuple[F64, I64]]:
        """Rungs, and where each log was then, by head."""
        if not wanted:
            return {}
        partitions, lowest, ends = zip(*wanted.values(), strict=True)
        try:
            back, end = np.array(lowest), np.array(ends)
            found = ask_ladder(self.asker.admin, partitions, back, end, self._ladder, now)
            times, offsets = refine(self.asker.admin, partitions, back, end, self._ladder, found, now)
        except CollectionFailed:
            return {}
        return dict(zip(wanted, zip(times, offsets, strict=True), strict=True))

    @property
    def _ladder(self) -> tuple[float, ...]:
        return rungs(tuple(promise.seconds for promise in self.watch.promises))

    def _seconds(self, committed: I64, climbed: Mapping[int, tuple[F64, I64]]) -> F64:
        store, used = self.store, self.store.windows.used
        seconds = np.full(used, np.nan)
        head = store.windows.head[:used]
        rows = np.nonzero(np.isin(head, list(climbed)))[0] if climbed else np.empty(0, np.int64)
        if len(rows):
            end, _ = ends_of(store, committed)
            times, offsets = (np.stack(part) for part in zip(*(climbed[at] for at in head[rows].tolist()), strict=True))
            position = position_of(store, committed)[rows]
            seconds[rows] = seconds_behind(position, end[rows], times, offsets)
        return seconds

    # ---- time --------------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        """A clock that was set must not make anybody look stopped."""
        wall, steady = self._wall(), self._steady()
        if self._last is not None:
            jump = (wall - self._last[0]) - (steady - self._last[1])
            if abs(jump) > max(2.0, self.watch.patience.interval / 2):
                log.warning("the clock jumped by %.1f s; what is remembered is moved along", jump)
                with self.lock:
                    self.store.clock_jumped(jump)
                self.asker.clock_jumped(jump)
                self.figures.clock_jumps += 1
        self._last = (wall, steady)
        return wall
