"""Everything remembered of one cluster: where logs end, what groups commit, who reads what. No clock: time is handed in.

A commit is taken in the way Burrow takes it; what our own judge needs besides is kept in the same rows.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.store.heads import NONE, Heads
from lag_monitor.store.table import I32, I64, Mask
from lag_monitor.store.windows import MADE, OWN, Placed, Windows

BEFORE = 2 * 365 * 86_400.0  # seconds: commits as old as that have a place in our count of time
_NO_ROWS: I32 = np.empty(0, np.int32)


@dataclass(slots=True, eq=False)
class Group:
    name: str
    place: int
    topics: dict[str, I32] = field(default_factory=dict)  # the row of each partition, as Burrow lists them
    gone: dict[str, tuple[I32, float]] = field(default_factory=dict)  # topics that are no more, and since when
    kind: str = ""
    state: str = ""
    members: int | None = None
    asked_at: float = 0.0  # when its commits were last known to be all there is
    dark: float = 0.0  # seconds that had gone by then without knowing
    slo: float = 0.0  # seconds it may be behind; 0 if nothing was promised

    def told(self, now: float) -> None:
        self.dark = now - self.asked_at if self.asked_at else 0.0
        self.asked_at = now


@dataclass(frozen=True, slots=True)
class Names:
    """Which groups are looked at: regular expressions that may match anywhere, as Burrow has it."""

    allow: str = ""
    deny: str = ""

    def __contains__(self, group: object) -> bool:
        name = str(group)
        return bool(re.search(self.allow, name)) and not (self.deny and re.search(self.deny, name))


class ClusterStore:
    def __init__(self, rules: BurrowRules, names: Names | None = None, now: float = 0.0) -> None:
        self.rules, self.names = rules, names or Names()
        self.began = now - BEFORE
        self.heads, self.windows = Heads(rules.intervals), Windows(rules.intervals)
        self.groups: dict[str, Group] = {}
        self.by_place: list[Group | None] = []
        self._free_places: list[int] = []
        self.last_commit: I64 = np.zeros(0, np.int64)  # by place; milliseconds
        self.owners: list[tuple[str, str]] = [("", "")]  # host, client id
        self._owner_places: dict[tuple[str, str], int] = {("", ""): 0}
        self.ticks: list[float] = []  # when the samples were taken, oldest first
        self.generation = 0  # changes whenever rows may belong to something else than before

    # ---- what is told --------------------------------------------------------------------------------------------

    def head(self, topic: str, partition: int, total: int, end: int) -> None:
        rows = self.heads.topic_rows(topic, total)
        if 0 <= partition < len(rows):
            self.heads.add(rows[partition : partition + 1], np.array([end], np.int64))

    def commit(self, group: str, topic: str, partition: int, offset: int, order: int, timestamp: int, now: int) -> None:
        """One. `timestamp` in milliseconds, `now` in whole seconds."""
        if self.too_old(np.array([timestamp]), now)[0] or group not in self.names:
            return
        row = self.resolve(group, topic, partition)
        if row != NONE:
            one, place, when = (np.array([value], np.int64) for value in (offset, order, timestamp))
            self.commits(np.array([row], np.int32), one, place, when, now)

    def too_old(self, timestamp: I64, now: int) -> Mask:
        old: Mask = timestamp < (now - self.rules.expire_group) * 1000
        return old

    def resolve(self, group: str, topic: str, partition: int) -> int:
        """The row for a commit, made if need be; −1 while it is not known where the partition's log ends."""
        head = self.heads.find(topic, partition)
        if head == NONE:
            return NONE
        return self._row(self.group(group), topic, partition)

    def commits(self, rows: I32, offset: I64, order: I64, timestamp: I64, now: int, topic_print: I64 | None = None) -> None:
        """Many, in the order in which they were made."""
        windows = self.windows
        lag = np.maximum(self.heads.latest(windows.head[rows]) - offset, 0)
        newest = windows.place(
            rows,
            Placed(offset, order, timestamp, lag),
            observed=now,
            min_distance=self.rules.min_distance * 1000,
        )
        last = rows[newest]
        if topic_print is not None:
            before = windows.print[last]
            self.unseen(last[(before != 0) & (topic_print[newest] != 0) & (before != topic_print[newest])])
            windows.print[last] = topic_print[newest]
        windows.flags[last] |= OWN
        self.last_commit[windows.group[last]] = timestamp[newest]

    def withdrawn(self, group: str, topic: str, partition: int, order: int) -> None:
        """A commit was deleted: by expiry, with its topic, or by hand. Burrow does not notice."""
        found = self.groups.get(group)
        rows = found.topics.get(topic) if found else None
        if rows is not None and partition < len(rows) and self.windows.orders[rows[partition], -1] <= order:
            self.unseen(rows[partition : partition + 1])

    def unseen(self, rows: I32) -> None:
        """Our own judge looks at these no more, until they are committed again; what it knew of the commits is void."""
        windows = self.windows
        windows.flags[rows] &= ~np.uint8(OWN)
        known = rows[windows.committed[rows] >= 0]
        for column in (windows.committed, windows.peak, windows.rewound_at, windows.clear_to):
            column[known] = NONE

    def owner(self, group: str, topic: str, partition: int, host: str, client_id: str = "") -> None:
        if group not in self.names:
            return
        known = self.group(group)
        if self.heads.find(topic, partition) != NONE:
            row = self._row(known, topic, partition)  # first, for it may make the columns anew
            self.windows.owner[row] = self.owner_place(host, client_id)

    def owner_place(self, host: str, client_id: str) -> int:
        who = (host, client_id)
        if who not in self._owner_places:
            self._owner_places[who] = len(self.owners)
            self.owners.append(who)
        return self._owner_places[who]

    def tidy(self) -> None:
        """Members come and go under ever new names: those that have nothing any more are forgotten."""
        if len(self.owners) < 1_000 + 2 * len(self.windows):
            return
        used, again = np.unique(self.windows.owner[: self.windows.used], return_inverse=True)
        kept = [0, *(place for place in used.tolist() if place)]
        self.owners = [self.owners[place] for place in kept]
        self._owner_places = {who: place for place, who in enumerate(self.owners)}
        self.windows.owner[: self.windows.used] = again + (0 if used[0] == 0 else 1)

    def clear_owners(self, group: str) -> None:
        if known := self.groups.get(group):
            for rows in known.topics.values():
                self.windows.owner[rows] = 0

    def delete_topic(self, topic: str, now: float = 0.0) -> None:
        """Burrow forgets it in every group. We remember for a while whose it was."""
        for group in self.groups.values():
            rows = group.topics.pop(topic, None)
            if rows is not None:
                self._release(group, topic)
                group.gone[topic] = (rows, now)
                self.windows.head[rows] = NONE
        self.heads.forget(topic)
        self.generation += 1

    def delete_group(self, name: str) -> None:
        group = self.groups.pop(name, None)
        if group is None:
            return
        for rows in (*group.topics.values(), *(rows for rows, _ in group.gone.values())):
            self.windows.free(rows)
        self.by_place[group.place] = None
        self.last_commit[group.place] = 0
        self._free_places.append(group.place)
        self.generation += 1

    def delete_group_topic(self, name: str, topic: str) -> None:
        group = self.groups.get(name)
        rows = group.topics.pop(topic, None) if group else None
        if rows is not None:
            self.windows.free(rows)
            self.generation += 1

    def forget_gone(self, before: float) -> None:
        """Topics that went away before then, or are there again."""
        for group in self.groups.values():
            for topic in [topic for topic, (_, when) in group.gone.items() if when < before or topic in group.topics]:
                self._release(group, topic)

    def _release(self, group: Group, topic: str) -> None:
        if topic in group.gone:
            self.windows.free(group.gone.pop(topic)[0])
            self.generation += 1

    # ---- time ------------------------------------------------------------------------------------------------------

    def begin_look(self) -> None:
        self.heads.dark[:] = 0.0
        for group in self.groups.values():
            group.dark = 0.0

    def clock_jumped(self, seconds: float) -> None:
        """The clock was set: what we remember is moved along with it, so that no span of time changes."""
        self.began += seconds
        self.ticks = [moment + seconds for moment in self.ticks]
        for times in (self.heads.asked_at, self.heads.bounds_at, self.heads.waits_since):
            times[times > 0] += seconds
        observed = self.windows.observed
        observed[observed > 0] += np.int64(seconds).astype(np.uint32)  # below zero it wraps around, and so it takes away
        for group in self.groups.values():
            group.asked_at += seconds if group.asked_at else 0.0
            group.gone = {topic: (rows, when + seconds) for topic, (rows, when) in group.gone.items()}

    # ---- who is who ----------------------------------------------------------------------------------------------

    def group(self, name: str) -> Group:
        """Made if it is not there yet."""
        if name not in self.groups:
            if not self._free_places:
                self._free_places.append(len(self.by_place))
                self.by_place.append(None)
            place = self._free_places.pop()
            if place >= len(self.last_commit):
                self.last_commit = np.concatenate([self.last_commit, np.zeros(max(16, place // 4), np.int64)])
            self.groups[name] = self.by_place[place] = Group(name, place)
        return self.groups[name]

    def expired(self, name: str, now: int) -> bool:
        """To Burrow it is as if such a group were not there, and it is forgotten when somebody asks for it."""
        return (now - self.rules.expire_group) * 1000 > int(self.last_commit[self.groups[name].place])

    def rows_of(self, group: Group, topic: str, partition: int) -> I32:
        """The rows of a topic in a group; as many as the topic has partitions now, if there are too few for this one."""
        rows = group.topics.get(topic, _NO_ROWS)
        if partition >= len(rows):
            heads = self.heads.rows[topic][len(rows) :]
            new = self.windows.allocate(len(heads))
            self.windows.group[new] = group.place
            self.windows.head[new] = heads
            rows = group.topics[topic] = np.concatenate([rows, new])
        return rows

    def _row(self, group: Group, topic: str, partition: int) -> int:
        row = int(self.rows_of(group, topic, partition)[partition])
        self.windows.flags[row] |= MADE
        return row
