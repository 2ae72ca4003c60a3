"""Everything that is asked of a cluster at a look, and written into the store: topics, ends, groups, members, commits.

The order matters: commits are asked before ends, so that a commit beyond the end means something. The store is locked only
while something is written, never while Kafka is asked.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lag_monitor.offsets_topic.keys import CLASSIC, SHARE
from lag_monitor.offsets_topic.members import Membership
from lag_monitor.offsets_topic.values import print_of
from lag_monitor.sharing.shards import partitions_of, shard_of
from lag_monitor.sources.admin import COMMITTED_READS, DEAD, EARLIEST, Described, Listed, Partition
from lag_monitor.sources.apart import AdminApart
from lag_monitor.sources.membership import apply, confirm, described
from lag_monitor.sources.reader import TOPIC as OFFSETS
from lag_monitor.sources.reader import OffsetsReader
from lag_monitor.sources.share import NEWER, ShareAdmin, Shared
from lag_monitor.sources.taking import Taker, partition_of
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.watch import ADMIN, TOPIC, Watch

CONFIRMED = 100  # groups whose commits are asked for at each look although the topic of commits tells them
CATCH_UP = 1.0  # seconds that the reader has to come to where the topic ended when we asked
Shards = tuple[frozenset[int], int]  # those that are ours, of how many


class Asker:
    """`lock` guards the store. What does not answer raises CollectionFailed; what answers in part is used in part."""

    def __init__(
        self,
        watch: Watch,
        store: ClusterStore,
        lock: threading.RLock,
        since: Mapping[int, int],
        *,
        wall: Callable[[], float],
        steady: Callable[[], float],
    ) -> None:
        self.watch, self.store, self.lock = watch, store, lock
        self._steady, self._since = steady, dict(since)
        self.admin = AdminApart(watch.address, watch.settings, watch.timeout)
        self.share = ShareAdmin(watch.address, watch.timeout)
        self.taker = Taker(store)
        self.reader = OffsetsReader(watch.address, watch.settings, self.taker, lock, wall)
        self.caught_up = TOPIC not in watch.sources  # it was read to its end once
        self.reached = False  # the topic of commits was read to its end at this look
        self.shared_lag: dict[int, int] = {}  # row of a share group → what Kafka says it has not read
        self._mine: Shards | None = None  # as they were when the look began, for all of it; None: all is ours
        self._read: set[int] = set()  # partitions of the topic of commits that the reader was asked for
        self._settled: set[int] = set()  # of these, those that were read to their end once
        self._topics: dict[str, int] = {}
        self._ids: dict[bytes, str] = {}
        self._topics_at = self._groups_at = -1e9
        self._listed: dict[str, Listed] = {}
        self._round: list[str] = []  # groups that are still to be confirmed in this round

    def close(self) -> None:
        """When nothing is asked any more."""
        self.share.close()
        self.admin.close()

    def clock_jumped(self, seconds: float) -> None:
        self._topics_at += seconds
        self._groups_at += seconds

    def ask(self, now: float, shards: Shards | None) -> dict[int, int]:
        """Everything, once. What coordinators told of commits, by row."""
        self._mine = shards
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

    @property
    def offsets_partitions(self) -> int:
        return self._topics.get(OFFSETS, 0)

    @property
    def reads_topic(self) -> bool:
        """Without the right to read it, the other source does alone; that it does is told as the cluster's trouble."""
        return TOPIC in self.watch.sources and not (self.reader.denied and ADMIN in self.watch.sources)

    def _ask_topics(self, now: float) -> None:
        if now - self._topics_at < self.watch.topics_every and self._topics:
            return
        told = self.admin.topics()
        gone = sorted(self.store.heads.rows.keys() - told.keys())
        ids, missing = self.admin.topic_ids(sorted(set(told) | set(gone)))
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
        told = self.admin.offsets(partitions)
        with self.lock:
            rows = [self.store.heads.rows[topic][number] for topic, number in told]
            self.store.heads.told(np.array(rows, np.int32), np.fromiter(told.values(), np.int64, len(told)), now)

    def _ask_bounds(self, now: float) -> None:
        """Where committed records end and where logs begin, of partitions that somebody reads."""
        with self.lock:
            read = np.unique(self.store.windows.head[: self.store.windows.used])
            heads = self.store.heads
            wanted = {heads.named(row): row for row in read[read >= 0].tolist()}
        if not wanted:
            return
        stable = self.admin.offsets(list(wanted), isolation=COMMITTED_READS)
        start = self.admin.offsets(list(wanted), EARLIEST)
        both = [(wanted[part], stable[part], start[part]) for part in wanted if part in stable and part in start]
        if both:
            rows, stables, starts = (np.array(column) for column in zip(*both, strict=True))
            with self.lock:
                heads.told_bounds(rows.astype(np.int32), stables, starts, now)

    def _ask_groups(self, now: float) -> dict[int, int]:
        everyone = self.admin.groups()  # first: if nobody answers, it says so
        newer = self.share.groups()
        everyone |= newer if newer is not None else {}
        listed = {name: one for name, one in everyone.items() if name in self.store.names and self._ours(name)}
        describing = now - self._groups_at >= self.watch.groups_every or not self._listed
        fresh = [name for name, one in listed.items() if describing or self._listed.get(name) != one]
        told = self.admin.describe([name for name in fresh if listed[name].kind in ("classic", "consumer")])
        sharing = [name for name, one in listed.items() if one.kind == SHARE]
        commits = self.admin.commits(name for name in self._to_confirm(listed) if name not in sharing)
        shared = self.share.offsets(sharing)
        gone = self._gone(listed, everyone, newer_known=newer is not None)
        found: dict[int, int] = {}
        self.shared_lag = {}
        with self.lock:
            for name in gone:
                self.store.delete_group(name)
            for name, one in told.items():
                apply(self.store, name, one)
            for name, places in shared.items():
                found |= self._take_shared(name, places)
                self.store.group(name).told(now)
            for name, partitions in commits.items():
                if partitions or name in self.store.groups:
                    found |= confirm(self.store, name, partitions)
                    if self._has_history(name):
                        self.store.group(name).told(now)
            for name, newer_one in (newer or {}).items():
                if name in self.store.groups:
                    self._apply_newer(name, newer_one)
        self._listed = listed
        self._groups_at = now if describing else self._groups_at
        return found

    def _gone(self, listed: Mapping[str, Listed], everyone: Mapping[str, Listed], *, newer_known: bool) -> list[str]:
        """Groups to forget. A list lacks those whose coordinator is away or moves: they are asked for by name."""
        missing = {name: group.kind for name, group in self.store.groups.items() if name not in listed}
        unlisted = [name for name, kind in missing.items() if name not in everyone and kind not in NEWER]
        told = self.admin.describe(unlisted)
        dead = {name for name in unlisted if name in told and told[name].state == DEAD}
        newer = {name for name, kind in missing.items() if kind in NEWER and newer_known}
        return [name for name in missing if name in everyone or name in dead or name in newer]

    def _has_history(self, group: str) -> bool:
        """Who is judged by what its coordinator has before its commits were read seems to have committed just now, and to do
        well: an incident that was taken over with its shard would be closed."""
        partitions = self.offsets_partitions
        return not (self.reads_topic and partitions) or partition_of(group, partitions) in self._settled

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
                self.shared_lag[row] = place.lag
        return found

    def _ours(self, group: str) -> bool:
        if self._mine is None:
            return True
        ours, count = self._mine
        return shard_of(group, count, self.offsets_partitions) in ours

    def _wanted(self) -> list[int]:
        """Partitions of the topic of commits that are ours to read."""
        if self._mine is None:
            return list(range(self.offsets_partitions))
        return sorted(partitions_of(*self._mine, self.offsets_partitions))

    def _to_confirm(self, listed: Mapping[str, Listed]) -> list[str]:
        """All, if there is no other source; else some, so that each has its turn."""
        if not self.reads_topic or not self.caught_up:
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
        if not self.reads_topic:
            self.caught_up = True
            return
        partitions, wanted = self.offsets_partitions, self._wanted()
        asked = [(OFFSETS, one) for one in wanted if one in self._read]
        ends = {number: end for (_, number), end in self.admin.offsets(asked, isolation=COMMITTED_READS).items()}
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
            if ADMIN not in self.watch.sources:
                for name, membership in list(self.taker.members.groups.items()):
                    if name in self.store.groups:
                        apply(self.store, name, described(membership, self._ids))
                self._apply_memberless(reached)
        self.reached = len(reached) == len(wanted)
        self.caught_up = self.caught_up or self.reached

    def _apply_memberless(self, reached: set[int]) -> None:
        """Who commits without joining leaves no record of a group: where all was read and there is none, nobody is in it."""
        for name in list(self.store.groups):
            if name not in self.taker.members.groups and partition_of(name, self.offsets_partitions or 1) in reached:
                apply(self.store, name, described(Membership(CLASSIC), {}))
