"""One look at one cluster: ask, remember, judge. Everything that talks to Kafka happens here, in one thread a cluster.

The order matters: commits are asked before ends, so that a commit beyond the end means something. The store is locked only
while figures are written or judged, never while Kafka is asked.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernel.errors import CollectionFailed
from lag_monitor.judge.ladder import rungs, seconds_behind
from lag_monitor.judge.observing import Looked, ends_of, observe, position_of
from lag_monitor.judge.rules import judge
from lag_monitor.offsets_topic.keys import CLASSIC, SHARE
from lag_monitor.offsets_topic.members import Membership
from lag_monitor.offsets_topic.values import print_of
from lag_monitor.sharing.shards import partitions_of, shard_of
from lag_monitor.sources.admin import COMMITTED_READS, DEAD, EARLIEST, Described, Listed, Partition
from lag_monitor.sources.apart import AdminApart
from lag_monitor.sources.markers import Peeker
from lag_monitor.sources.membership import apply, confirm, described
from lag_monitor.sources.reader import TOPIC as OFFSETS
from lag_monitor.sources.reader import OffsetsReader
from lag_monitor.sources.share import NEWER, ShareAdmin, Shared
from lag_monitor.sources.taking import Taker, partition_of
from lag_monitor.sources.times import ask_ladder, refine
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.store.table import F64, I8, I64
from lag_monitor.store.windows import GONE_TOPIC, OWN, UNPROVED
from lag_monitor.watch import ADMIN, TOPIC, Watch

log = logging.getLogger(__name__)
CONFIRMED = 100  # groups whose commits are asked for at each look although the topic of commits tells them
PEEKED = 200  # partitions that are looked into at each look
CATCH_UP = 1.0  # seconds that the reader has to come to where the topic ended when we asked


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
        self.caught_up = TOPIC not in watch.sources
        self.shards: tuple[frozenset[int], int] | None = None  # those that are ours, of how many; None: all is
        self._mine: tuple[frozenset[int], int] | None = None  # as they were when the look began, for all of it
        self._saw_all = False
        self._wall, self._steady, self._since = wall, steady, dict(since or {})
        self._last: tuple[float, float] | None = None
        self._admin = AdminApart(watch.address, watch.settings, watch.timeout)
        self._share = ShareAdmin(watch.address, watch.timeout)
        self._peeker = Peeker(watch.address, watch.settings)
        self.taker = Taker(store)
        self.reader = OffsetsReader(watch.address, watch.settings, self.taker, self.lock, wall)
        self._reached = False  # the topic of commits was read to its end at this look
        self._read: set[int] = set()  # its partitions that the reader was asked for
        self._settled: set[int] = set()  # of these, those that were read to their end once
        self._topics: dict[str, int] = {}
        self._ids: dict[bytes, str] = {}
        self._topics_at = self._groups_at = -1e9
        self._listed: dict[str, Listed] = {}
        self._round: list[str] = []  # groups that are still to be confirmed in this round
        self._shared_lag: dict[int, int] = {}  # row of a share group → what Kafka says it has not read
        self._suspects: dict[int, int] = {}  # row → what the topic of commits had when the coordinator had otherwise
        self._full: dict[int, int] = {}  # row → position from which there is something to read

    def start(self) -> None:
        if TOPIC in self.watch.sources:
            self.reader.start()

    def stop(self) -> None:
        self.reader.stop()

    def close(self) -> None:
        """When no look is under way any more."""
        self._share.close()
        self._admin.close()

    def look(self) -> None:
        """Once. Whatever is not answered is not seen, and judged as such."""
        began, now = self._steady(), self._now()
        self._mine, self._saw_all = self.shards, False
        with self.lock:
            self.store.begin_look()
        try:
            confirmed = self._ask(now)
            self.up, self.trouble = True, self.reader.trouble
        except CollectionFailed as failed:
            confirmed = {}
            self.up, self.trouble = False, failed.message
            self.figures.failed += 1
        self._conclude(confirmed, now)
        self._saw_all = self.up and (self._reached or not self._reads_topic)
        self.figures.looks += 1
        self.figures.errors = Counter(self._admin.errors)
        self.figures.seconds = self._steady() - began

    @property
    def whole(self) -> bool:
        """Everything that is ours has been read and judged. Not for whoever was given other shards since the look began, be
        they the same again."""
        return self._saw_all and self._mine is self.shards

    # ---- asking --------------------------------------------------------------------------------------------------

    def _ask(self, now: float) -> dict[int, int]:
        """What coordinators told of commits, by row."""
        self._ask_topics(now)
        # Ends first and again: a commit is taken in only where it is known that there is such a partition.
        new = [part for part in self._partitions() if self.store.heads.find(*part) == NONE]
        self._ask_ends(new, now)
        self._read_on()
        confirmed = self._ask_groups(now) if ADMIN in self.watch.sources else {}
        self._follow(now)
        new_ones = set(new)
        self._ask_ends([part for part in self._partitions() if part not in new_ones], now)
        self._ask_bounds(now)
        return confirmed

    def _ask_topics(self, now: float) -> None:
        if now - self._topics_at < self.watch.topics_every and self._topics:
            return
        told = self._admin.topics()
        gone = sorted(self.store.heads.rows.keys() - told.keys())
        ids, missing = self._admin.topic_ids(sorted(set(told) | set(gone)))
        with self.lock:
            for topic in missing & set(gone):  # a list that lacks it may be an old one: it was asked for by name
                self.store.delete_topic(topic, now)
            for topic, count in told.items():
                rows = self.store.heads.topic_rows(topic, count)
                if topic in ids:
                    self.store.heads.print[rows] = print_of(ids[topic])
            self.store.forget_gone(now - self.watch.patience.forget)
            self.store.tidy()
        self._topics = told
        self._ids = {topic_id: topic for topic, topic_id in ids.items()}
        self._topics_at = now

    def _partitions(self) -> list[Partition]:
        return [(topic, number) for topic, count in self._topics.items() for number in range(count)]

    def _ask_ends(self, partitions: Sequence[Partition], now: float) -> None:
        if not partitions:
            return
        told = self._admin.offsets(partitions)
        with self.lock:
            rows = [self.store.heads.rows[topic][number] for topic, number in told]
            self.store.heads.told(np.array(rows, np.int32), np.fromiter(told.values(), np.int64, len(told)), now)

    def _ask_bounds(self, now: float) -> None:
        """Where committed records end and where logs begin, of partitions that somebody reads."""
        with self.lock:
            read = np.unique(self.store.windows.head[: self.store.windows.used])
            heads = self.store.heads
            wanted = {self._named(row): row for row in read[read >= 0].tolist()}
        if not wanted:
            return
        stable = self._admin.offsets(list(wanted), isolation=COMMITTED_READS)
        start = self._admin.offsets(list(wanted), EARLIEST)
        both = [(wanted[part], stable[part], start[part]) for part in wanted if part in stable and part in start]
        if both:
            rows, stables, starts = (np.array(column) for column in zip(*both, strict=True))
            with self.lock:
                heads.told_bounds(rows.astype(np.int32), stables, starts, now)

    def _named(self, head: int) -> Partition:
        heads = self.store.heads
        return heads.names[heads.topic[head]], int(heads.partition[head])

    def _ask_groups(self, now: float) -> dict[int, int]:
        everyone = self._admin.groups()  # first: if nobody answers, it says so
        newer = self._share.groups()
        everyone |= newer if newer is not None else {}
        listed = {name: one for name, one in everyone.items() if name in self.store.names and self._ours(name)}
        describing = now - self._groups_at >= self.watch.groups_every or not self._listed
        fresh = [name for name, one in listed.items() if describing or self._listed.get(name) != one]
        told = self._admin.describe([name for name in fresh if listed[name].kind in ("classic", "consumer")])
        sharing = [name for name, one in listed.items() if one.kind == SHARE]
        commits = self._admin.commits(name for name in self._to_confirm(listed) if name not in sharing)
        shared = self._share.offsets(sharing)
        gone = self._gone(listed, everyone, newer_known=newer is not None)
        found: dict[int, int] = {}
        self._shared_lag = {}
        with self.lock:
            for name in gone:
                self.store.delete_group(name)
            for name, one in told.items():
                apply(self.store, name, one)
            for name, newer_one in (newer or {}).items():
                if name in self.store.groups or name in shared:
                    self._apply_newer(name, newer_one)
            for name, places in shared.items():
                found |= self._take_shared(name, places)
                self.store.group(name).told(now)
            for name, partitions in commits.items():
                if partitions or name in self.store.groups:
                    found |= confirm(self.store, name, partitions)
                    if self._has_history(name):
                        self.store.group(name).told(now)
        self._listed = listed
        self._groups_at = now if describing else self._groups_at
        return found

    def _gone(self, listed: Mapping[str, Listed], everyone: Mapping[str, Listed], *, newer_known: bool) -> list[str]:
        """Groups to forget. A list lacks those whose coordinator is away or moves: they are asked for by name."""
        missing = {name: group.kind for name, group in self.store.groups.items() if name not in listed}
        unlisted = [name for name, kind in missing.items() if name not in everyone and kind not in NEWER]
        told = self._admin.describe(unlisted)
        dead = {name for name in unlisted if name in told and told[name].state == DEAD}
        newer = {name for name, kind in missing.items() if kind in NEWER and newer_known}
        return [name for name in missing if name in everyone or name in dead or name in newer]

    def _has_history(self, group: str) -> bool:
        """Who is judged by what its coordinator has before its commits were read seems to have committed just now, and to do
        well: an incident that was taken over with its shard would be closed."""
        partitions = self.offsets_partitions
        return not (self._reads_topic and partitions) or partition_of(group, partitions) in self._settled

    def _apply_newer(self, name: str, listed: Listed) -> None:
        """Who is in it, the topic of commits may tell; else that somebody is."""
        membership = self.taker.members.groups.get(name)
        members = len(membership.members) if membership else int(listed.state not in ("Empty", "Dead"))
        apply(self.store, name, Described(listed.state, listed.kind, members))

    def _take_shared(self, name: str, places: Mapping[Partition, Shared]) -> dict[int, int]:
        """Where a share group begins is told late, and what was acknowledged beyond it not at all; but its lag is told."""
        found = confirm(self.store, name, {part: place.start for part, place in places.items()})
        for (topic, partition), place in places.items():
            row = self.store.resolve(name, topic, partition)
            if row in found and place.lag >= 0:
                self._shared_lag[row] = place.lag
        return found

    def _ours(self, group: str) -> bool:
        if self._mine is None:
            return True
        ours, count = self._mine
        return shard_of(group, count, self.offsets_partitions) in ours

    @property
    def _reads_topic(self) -> bool:
        """Without the right to read it, the other source does alone; that it does is told as the cluster's trouble."""
        return TOPIC in self.watch.sources and not (self.reader.denied and ADMIN in self.watch.sources)

    @property
    def offsets_partitions(self) -> int:
        return self._topics.get(OFFSETS, 0)

    def _wanted(self) -> list[int]:
        """Partitions of the topic of commits that are ours to read."""
        if self._mine is None:
            return list(range(self.offsets_partitions))
        return sorted(partitions_of(*self._mine, self.offsets_partitions))

    def _to_confirm(self, listed: Mapping[str, Listed]) -> list[str]:
        """All, if there is no other source; else some, so that each has its turn."""
        if not self._reads_topic or not self.caught_up:
            return list(listed)
        if not self._round:
            self._round = sorted(listed)
        turn, self._round = self._round[:CONFIRMED], self._round[CONFIRMED:]
        return [name for name in turn if name in listed]

    def _read_on(self) -> None:
        """A partition that was given up comes again from its beginning, as its groups were forgotten: not before the reader
        has let go of it, and not from where a file that was saved earlier says."""
        if TOPIC not in self.watch.sources:
            return
        wanted = self._wanted()
        self._since = {one: place for one, place in self._since.items() if one in wanted}
        self._read = {one for one in wanted if one in self._read or one not in self.reader.positions}
        self._settled &= self._read
        self.reader.read(sorted(self._read), self._since)

    def _follow(self, now: float) -> None:
        """Groups whose part of the topic of commits was read to its end are known as of now."""
        if not self._reads_topic:
            self.caught_up = True
            return
        partitions, wanted = self.offsets_partitions, self._wanted()
        asked = [(OFFSETS, one) for one in wanted if one in self._read]
        ends = {number: end for (_, number), end in self._admin.offsets(asked, isolation=COMMITTED_READS).items()}
        deadline = self._steady() + CATCH_UP
        while len(reached := self.reader.reached(ends)) < len(ends) and self._steady() < deadline:
            time.sleep(0.02)
        self._settled |= reached
        with self.lock:
            self.taker.settle()
            for name in [name for name in self.store.groups if not self._ours(name)]:
                self.store.delete_group(name)
            for group in self.store.groups.values():
                if group.asked_at < now and partition_of(group.name, partitions or 1) in reached:
                    group.told(now)
            if ADMIN not in self.watch.sources or not self.up:
                for name, membership in list(self.taker.members.groups.items()):
                    if name in self.store.groups:
                        apply(self.store, name, described(membership, self._ids))
            if ADMIN not in self.watch.sources:
                self._apply_memberless(reached)
        self._reached = len(reached) == len(wanted)
        self.caught_up = self.caught_up or self._reached

    def _apply_memberless(self, reached: set[int]) -> None:
        """Who commits without joining leaves no record of a group: where all was read and there is none, nobody is in it."""
        for name in list(self.store.groups):
            if name not in self.taker.members.groups and partition_of(name, self.offsets_partitions or 1) in reached:
                apply(self.store, name, described(Membership(CLASSIC), {}))

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
            self._peek()

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
        if not self._reads_topic:
            self._imitate(confirmed, now)
            made = np.full(used, np.nan)
        else:
            made = np.where(seen, windows.timestamps[:used, -1] / 1000, np.nan)
            self._compare(confirmed, told)
        for row, offset in confirmed.items():
            told[row] = offset
        for row, lag in self._shared_lag.items():
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
            found[at] = (self._named(at), lowest, int(store.heads.ends[at, -1]))
        return found

    def _climb(self, wanted: Mapping[int, tuple[Partition, int, int]], now: float) -> dict[int, tuple[F64, I64]]:
        """Rungs, and where each log was then, by head."""
        if not wanted:
            return {}
        partitions, lowest, ends = zip(*wanted.values(), strict=True)
        try:
            back, end = np.array(lowest), np.array(ends)
            found = ask_ladder(self._admin, partitions, back, end, self._ladder, now)
            times, offsets = refine(self._admin, partitions, back, end, self._ladder, found, now)
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

    def _peek(self) -> None:
        """Rows that seem to stand still before the end: is there anything to read at all? Asked once for each position."""
        looked, windows, heads = self.looked, self.store.windows, self.store.heads
        if looked is None:
            return
        with self.lock:
            asked: dict[Partition, tuple[int, int]] = {}
            for row in looked.rows[(looked.lag[looked.rows] > 0) & (looked.committed[looked.rows] >= 0)].tolist():
                head, position = int(windows.head[row]), int(looked.position[row])
                still = looked.now - self.store.began - windows.moved_at[row] / 10 >= self.watch.patience.interval
                if head < 0 or not still or self._full.get(row) == position or position > heads.stable[head]:
                    continue
                part = self._named(head)
                if part not in asked and len(asked) < PEEKED and position >= heads.start[head]:
                    asked[part] = (row, position)
            self._full = {row: position for row, position in self._full.items() if row < len(looked.position)}
        if not asked:
            return
        peeked = self._peeker.peek([(part, position) for part, (_, position) in asked.items()], self.watch.timeout / 3)
        self.figures.peeked += len(asked)
        with self.lock:
            for part, (row, position) in asked.items():
                windows.flags[row] &= ~np.uint8(UNPROVED)
                if part in peeked.full:
                    self._full[row] = position
                elif part in peeked.denied:
                    windows.flags[row] |= np.uint8(UNPROVED)
                elif part in peeked.clear_to and windows.committed[row] == looked.committed[row]:
                    windows.clear_to[row] = max(peeked.clear_to[part], position)

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
                self._topics_at += jump
                self._groups_at += jump
                self.figures.clock_jumps += 1
        self._last = (wall, steady)
        return wall
