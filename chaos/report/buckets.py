"""A run in a few hundred buckets of time: what is drawn is summed here, in one pass and in memory that does not grow.

Kept per bucket: counts, a histogram of latencies, and per partition how far acknowledgements and reads had come.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chaos.report.histogram import Histogram
from chaos.report.rows import NONE, SCHEDULED, Ints, Rows

MOST_BUCKETS = 600
MOST_PARTITIONS = 500  # followed one by one; further ones count in the totals alone
MOST_CHANGES = 20_000  # of assignments
NICE_MS = [step * 10**power for power in range(7) for step in (100, 200, 500)]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(slots=True)
class Track:
    """One partition, bucket by bucket; NONE where nothing happened."""

    acked_to: Ints  # the position behind the furthest record acknowledged
    read_to: Ints
    drained: int | None = None

    @staticmethod
    def empty(buckets: int) -> "Track":
        blank = np.full(buckets, NONE, np.int64)
        return Track(blank, blank.copy())


@dataclass(frozen=True, slots=True)
class Change:
    """A partition came to a client, or left it."""

    t_ns: int
    client: str
    kind: str
    topic: str
    partition: int


@dataclass(slots=True)
class Buckets:
    begin_ns: int
    width_ns: int
    number: int
    acked: Ints = field(init=False)
    unclear: Ints = field(init=False)  # failed, or of unknown outcome
    read: Ints = field(init=False)
    latency: Histogram = field(init=False)
    delay: Histogram = field(init=False)
    tracks: dict[tuple[str, int], Track] = field(default_factory=dict)
    untracked: set[tuple[str, int]] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    rows: int = 0
    unknown: int = 0

    def __post_init__(self) -> None:
        self.acked, self.unclear, self.read = (np.zeros(self.number, np.int64) for _ in range(3))
        self.latency, self.delay = Histogram(self.number), Histogram(self.number)

    @property
    def width_s(self) -> float:
        return self.width_ns / 1e9

    @property
    def seconds(self) -> float:
        return self.number * self.width_s

    def add(self, rows: Rows) -> None:
        kind = {word: rows.mask("kind", word) for word in ("send", "poll", "drained")}
        ok, final = rows.mask("outcome", "ok"), rows.truths("final")
        began, ended = rows.ints("invoked_ns"), rows.ints("completed_ns")
        when = np.where(ended == NONE, began, ended)
        self.rows += len(began)
        acked, seen = kind["send"] & ok & (ended != NONE), kind["poll"] & ok & ~final & (rows.ints("offset") != NONE)
        self.unknown += int((kind["send"] & rows.mask("outcome", "info")).sum())
        for total, chosen in ((self.acked, acked), (self.unclear, kind["send"] & ~ok), (self.read, seen)):
            total += np.bincount(self._bucket(when[chosen & self._shown(when)]), minlength=self.number)
        self._time(rows, acked, began, ended)
        for name, chosen in (("acked_to", acked), ("read_to", seen), ("drained", kind["drained"] & ok)):
            self._follow(name, rows, chosen, when)
        self._assignments(rows, when)

    def _time(self, rows: Rows, acked: Mask, began: Ints, ended: Ints) -> None:
        """By the moment of sending: a record shows what it had to wait for from then on."""
        timed = acked & self._shown(began)
        self.latency.add(self._bucket(began[timed]), ended[timed] - began[timed])
        due = rows.ints(SCHEDULED)
        timed = self._shown(due) & (began != NONE)
        self.delay.add(self._bucket(due[timed]), began[timed] - due[timed])

    def _follow(self, name: str, rows: Rows, chosen: Mask, when: Ints) -> None:
        offset, partition = rows.ints("offset"), rows.ints("partition")
        for key, mine in self._by_partition(rows, chosen & (partition != NONE), partition):
            track = self._track(key)
            if track is None:
                continue
            bucket, reach = self._bucket(when[mine]), offset[mine]
            known = reach != NONE
            if name == "drained":
                track.drained = max([track.drained or 0, *reach[known].tolist()])
                continue
            np.maximum.at(getattr(track, name), bucket[known], reach[known] + 1)

    def _by_partition(self, rows: Rows, chosen: Mask, partition: Ints) -> Iterator[tuple[tuple[str, int], Ints]]:
        codes, words = rows.codes("topic")
        places = np.flatnonzero(chosen & (codes >= 0))
        if not len(places):
            return
        keys = codes[places] << 32 | partition[places]
        order = np.argsort(keys, kind="stable")
        places, keys = places[order], keys[order]
        cuts = np.flatnonzero(np.diff(keys)) + 1
        for mine in np.split(places, cuts):
            yield (words[codes[mine[0]]], int(partition[mine[0]])), mine

    def _track(self, key: tuple[str, int]) -> Track | None:
        if key not in self.tracks:
            if len(self.tracks) >= MOST_PARTITIONS:
                self.untracked.add(key)
                return None
            self.tracks[key] = Track.empty(self.number)
        return self.tracks[key]

    def _assignments(self, rows: Rows, when: Ints) -> None:
        codes, words = rows.codes("kind")
        wanted = [place for place, word in enumerate(words) if word in ("assign", "revoke", "lost", "crash")]
        if not wanted:
            return
        (clients, who), (topics, what) = rows.codes("client"), rows.codes("topic")
        partition = rows.ints("partition")
        for row in np.flatnonzero(np.isin(codes, wanted))[: MOST_CHANGES - len(self.changes)].tolist():
            topic = what[topics[row]] if topics[row] >= 0 else ""
            name = who[clients[row]] if clients[row] >= 0 else "?"
            self.changes.append(Change(int(when[row]), name, words[codes[row]], topic, int(partition[row])))

    def _shown(self, when: Ints) -> Mask:
        return (when >= self.begin_ns) & (when < self.begin_ns + self.number * self.width_ns)

    def _bucket(self, when: Ints) -> Ints:
        return np.clip((when - self.begin_ns) // self.width_ns, 0, self.number - 1)


def filled(begin_ns: int, end_ns: int, batches: Iterable[Rows], *, most: int = MOST_BUCKETS) -> Buckets:
    width = nice_width(end_ns - begin_ns, most)
    buckets = Buckets(begin_ns, width, max(1, -(-(end_ns - begin_ns + 1) // width)))
    for rows in batches:
        buckets.add(rows)
    return buckets


def nice_width(length_ns: int, most: int) -> int:
    """The narrowest round width of which no more than `most` are needed; never below 100 ms, where chance begins to show."""
    wanted = -(-length_ns // max(1, most - 1))
    return next((ms * 10**6 for ms in NICE_MS if ms * 10**6 >= wanted), wanted)


def reach(positions: Ints) -> Ints:
    """How far it had come by then; NONE before the first."""
    return np.maximum.accumulate(positions)
