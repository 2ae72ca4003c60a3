"""With which timestamp does an acknowledged record stand in the log? Usually as its delivery report says, but not always.

A batch whose answer was lost is sent again, and a broker that has it already answers with its offsets and, as the time of
appending, with its newest timestamp: also if the topic keeps the timestamps of producers. Then all records of the batch are
reported with that one timestamp, and stand in the log with their own.

So a topic's deliveries tell which clock it keeps. With "CreateTime" they come as such. A *run* of deliveries that says one
time of appending is a duplicate's if the newest of its records is as old as that; if all of them are older, the broker has
looked at its own clock. What fits both waits until another delivery tells.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from interceptors.audit.acknowledged import APPEND, CREATE, Acknowledged
from interceptors.audit.counting import by_place
from interceptors.audit.identity import I64
from interceptors.audit.table import MANY

MOST = 1 << 62
QUIET_MS = 5_000  # after which no more of a run is awaited: delivery reports of one batch come in one breath


class Run:
    """Deliveries of one partition, one after the other, that tell one time of appending."""

    __slots__ = ("grown_ms", "newest", "oldest", "over", "parts", "place", "stamp", "told")

    def __init__(self, place: int, stamp: int) -> None:
        self.place, self.stamp = place, stamp
        self.parts: list[Acknowledged] = []  # that wait
        self.told = 0  # how many of them were told as doubts
        self.oldest, self.newest = MOST, 0  # of all its records, also of those that do not wait any more
        self.grown_ms = 0
        self.over = False  # no more will come

    def add(self, some: Acknowledged, now_ms: int) -> None:
        self.parts.append(some)
        self.oldest = min(self.oldest, int(some.created.min()))
        self.newest = max(self.newest, int(some.created.max()))
        self.grown_ms = now_ms

    def taken(self) -> list[Acknowledged]:
        parts, self.parts, self.told = self.parts, [], 0
        return parts

    @property
    def topic(self) -> int:
        return self.place // MANY

    @property
    def appended(self) -> bool:
        """It tells the broker's clock: a duplicate would tell the newest timestamp of its records."""
        return self.newest > self.stamp or (self.over and self.newest < self.stamp)


class Clocks:
    """Of the topics of one producer. Belongs to one thread at a time. Its length is how many records wait."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._known: dict[int, int] = {}  # CREATE or APPEND, by the topic's number
        self._last: dict[int, Run] = {}  # the newest of each partition, which may go on
        self._undecided: list[Run] = []

    def __len__(self) -> int:
        return sum(len(some) for run in self._undecided for some in run.parts)

    def stamped(self, them: Acknowledged) -> list[Acknowledged]:
        """Those of them (and of those that came before) whose timestamps are certain, with the timestamps of the log."""
        if not len(them):
            return []
        created = them.kinds == CREATE
        self._learn_created(them.topics[created])
        sure = them.kinds != APPEND
        if not sure.all():
            appending = [topic for topic, clock in self._known.items() if clock == APPEND]
            sure |= np.isin(them.topics, appending)
        if sure.all() and not self._last:
            return [them]
        places = {*self._last, *them.where[~sure].tolist()}
        involved = np.isin(them.where, list(places))
        found = [them[~involved]] if not involved.all() else []
        for place, own in by_place(them[involved]):
            for run in _runs(own):
                found += self._next(place, run)
        return found + self._decided()

    def settled(self) -> list[Acknowledged]:
        """What can be decided because a run has not grown for a while."""
        long_ago = self._now_ms() - QUIET_MS
        for run in self._last.values():
            run.over = run.over or run.grown_ms <= long_ago
        return self._decided()

    def ended(self) -> list[Acknowledged]:
        """What can be decided because no more comes: the transaction is over, or the client."""
        for run in self._last.values():
            run.over = True
        self._last = {}
        return self._decided()

    def untold(self) -> Iterator[Acknowledged]:
        """Undecided, each once."""
        for run in self._undecided:
            told, run.told = run.told, len(run.parts)
            yield from run.parts[told:]

    def given_up(self) -> list[tuple[Acknowledged, bool]]:
        """Everything that waits, and whether it was told as a doubt: nobody will ask for it again."""
        runs, self._undecided, self._last = self._undecided, [], {}
        return [(some, number < run.told) for run in runs for number, some in enumerate(run.parts)]

    def _learn_created(self, topics: I64) -> None:
        if len(topics):
            several = topics.min() != topics.max()
            for topic in np.unique(topics).tolist() if several else (int(topics[0]),):
                self._known[topic] = CREATE

    def _next(self, place: int, some: Acknowledged) -> list[Acknowledged]:
        """A run of a partition, or what comes after one and ends it."""
        last, stamp = self._last.get(place), int(some.timestamps[0])
        appended = some.kinds[0] == APPEND and self._known.get(place // MANY) != APPEND
        if last is not None and not (appended and last.stamp == stamp):
            last.over = True
            del self._last[place]
        if not appended:
            return [some]
        run = self._last.setdefault(place, Run(place, stamp))
        if not run.parts:
            self._undecided.append(run)
        run.add(some, self._now_ms())
        return []

    def _decided(self) -> list[Acknowledged]:
        found: list[Acknowledged] = []
        again = bool(self._undecided)
        while again:  # as long as one run tells the clock of others
            runs, self._undecided, again = self._undecided, [], False
            for run in runs:
                if self._known.get(run.topic) != APPEND and self._appends(run, runs):
                    self._known[run.topic], again = APPEND, True
                if self._known.get(run.topic) == APPEND:
                    found += run.taken()
                elif self._as_created(run):
                    found += [some.as_created() for some in run.taken()]
                else:
                    self._undecided.append(run)
        return found

    def _appends(self, run: Run, runs: list[Run]) -> bool:
        """Whether the topic keeps the broker's clock. Where it kept the producers' before, one run is not enough: threads
        that poll at once may part the reports of a batch."""
        if not run.appended or run.oldest <= 0:
            return False
        stamps = {other.stamp for other in runs if other.topic == run.topic and other.appended}
        return self._known.get(run.topic) is None or len(stamps) > 1

    def _as_created(self, run: Run) -> bool:
        """A duplicate of a topic with the producers' clock; or all of it has one timestamp, whichever that is."""
        if run.oldest <= 0 or run.newest != run.stamp:
            return False
        return self._known.get(run.topic) == CREATE or run.oldest == run.stamp


def _runs(own: Acknowledged) -> Iterator[Acknowledged]:
    """Of one partition: parts with the same kind of timestamp, of which those of appending have the same one."""
    own = own[np.argsort(own.offsets, kind="stable")]
    appended = own.kinds == APPEND
    differs = (own.kinds[1:] != own.kinds[:-1]) | (appended[1:] & (own.timestamps[1:] != own.timestamps[:-1]))
    edges = [0, *(np.flatnonzero(differs) + 1).tolist(), len(own)]
    for begin, end in pairwise(edges):
        yield own[begin:end]
