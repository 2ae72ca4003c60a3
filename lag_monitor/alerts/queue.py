"""Notices on their way, one row for each channel: what may go next, what is tried again, what is let go. Pure.

- Of one incident and channel, rows leave in the order they came: a close never before its open.
- A row counts as tried from the moment it is about to be sent. If nothing of an incident was ever tried on a channel when
  its close is due, the receiver knows nothing of it, and neither is sent. If anything was tried, it may have arrived
  although no answer came: the rows stay, in order, and the close behind them.
- When there is no room, the oldest refreshes go first, then the oldest repeats; only when there are none left, the oldest
  incident goes, on that channel, with all its rows.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from lag_monitor.alerts.notices import Kind, Notice

RESULTS = ("sent", "failed", "given_up", "dropped", "withdrawn")
REMEMBERED = 1000  # incidents that are over, of which is remembered how far they were told
LONGEST_REQUEST = 3600.0  # of a receiver that asks not to be troubled for so many seconds, no more is believed

Chain = tuple[str, str]  # incident, channel


@dataclass(frozen=True, slots=True)
class Patience:
    first: float = 1.0  # seconds after a first failure; each further one doubles it
    longest: float = 300.0
    max_age: float = 86_400.0  # seconds after which a notice is given up

    def wait(self, tries: int, chance: Callable[[], float]) -> float:
        """Between half and the whole of it, so that many who failed together do not come back together."""
        return min(self.longest, self.first * 2.0 ** min(max(tries, 1) - 1, 30)) * (0.5 + 0.5 * chance())


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    channel: str
    notice: Notice
    queued_at: float
    tries: int = 0
    next_try: float = 0.0

    @property
    def chain(self) -> Chain:
        return self.notice.incident, self.channel


@dataclass(frozen=True, slots=True)
class Done:
    """Up to which notice a channel was told of an incident, or was tried in vain."""

    seq: int
    at: float


@dataclass(slots=True)
class Queue:
    most: int = 10_000
    patience: Patience = field(default_factory=Patience)
    chance: Callable[[], float] = random.random
    rows: dict[int, Row] = field(default_factory=dict)  # oldest first
    done: dict[Chain, Done] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)  # by channel and result, since the start
    last: int = 0
    released: int | None = None  # the last that may be sent; None: all may

    # ---- in ---------------------------------------------------------------------------------------------------

    def add(self, notices: Iterable[Notice], now: float) -> None:
        chains: dict[Chain, list[Row]] = {}
        for row in self.rows.values():
            chains.setdefault(row.chain, []).append(row)
        for notice in notices:
            for channel in notice.channels:
                self._add(notice, channel, now, chains.setdefault((notice.incident, channel), []))
        self._make_room()

    def take_over(self, rows: Iterable[Row]) -> None:
        """From another instance: as tried, if it had tried them, and without what is known to have arrived."""
        for row in rows:
            done = self.done.get(row.chain)
            if done is None or row.notice.seq > done.seq:
                self._put(replace(row, number=self.last + 1, next_try=0.0))
        self._make_room()

    def _add(self, notice: Notice, channel: str, now: float, before: list[Row]) -> None:
        """`before`: those of the same incident that wait for the same channel."""
        if notice.kind is Kind.REFRESH and before:
            return  # what is still to be sent says as much
        tried = (notice.incident, channel) in self.done or any(row.tries for row in before)
        if notice.kind is Kind.CLOSE and not tried:
            self._remove(before, "withdrawn")
            self.counts[channel, "withdrawn"] += 1
        else:
            before.append(self._put(Row(self.last + 1, channel, notice, now)))

    def _put(self, row: Row) -> Row:
        self.last = row.number
        self.rows[row.number] = row
        return row

    def _make_room(self) -> None:
        while len(self.rows) > self.most:
            oldest = next(self._of(Kind.REFRESH), None) or next(self._of(Kind.REPEAT), None)
            if oldest is not None:
                self._remove([oldest], "dropped")
                continue
            chain = next(iter(self.rows.values())).chain
            self._remove([row for row in self.rows.values() if row.chain == chain], "dropped")

    def _of(self, kind: Kind) -> Iterator[Row]:
        return (row for row in self.rows.values() if row.notice.kind is kind)

    # ---- out --------------------------------------------------------------------------------------------------

    def claim(self, channel: str, now: float) -> Row | None:
        """The oldest that may be sent now. It counts as tried from here on."""
        old = [row for row in self.rows.values() if now - row.queued_at > self.patience.max_age and row.channel == channel]
        self._remove(old, "given_up")
        for row in self._heads(channel):
            if self._due_at(row, now) <= now:
                tried = replace(row, tries=row.tries + 1)
                tried = replace(tried, next_try=now + self.patience.wait(tried.tries, self.chance))
                self.rows[row.number] = tried
                return tried
        return None

    def next_due(self, channel: str, now: float) -> float | None:
        return min((self._due_at(row, now) for row in self._heads(channel)), default=None)

    def delivered(self, row: Row, now: float) -> None:
        self._note(row, now)
        self._remove([self._as_it_is(row)], "sent")

    def failed(self, row: Row, now: float, retry_after: float | None = None) -> float:
        """How many seconds the next try is away."""
        self.counts[row.channel, "failed"] += 1
        wait = self.patience.wait(row.tries, self.chance) if retry_after is None else min(retry_after, LONGEST_REQUEST)
        if row.number in self.rows:
            self.rows[row.number] = replace(self.rows[row.number], next_try=now + wait)
        return wait

    def give_up(self, row: Row, now: float) -> None:
        self._note(row, now)
        self._remove([self._as_it_is(row)], "given_up")

    def wake(self, channel: str) -> None:
        """Its receiver is back: what failed meanwhile need not wait its time out."""
        waiting = [row for row in self.rows.values() if row.channel == channel and row.next_try]
        self.rows |= {row.number: replace(row, next_try=0.0) for row in waiting}

    def keep_only(self, channels: Collection[str]) -> list[Row]:
        """What is left behind for channels that are no more: dropped, and handed back."""
        gone = [row for row in self.rows.values() if row.channel not in channels]
        self._remove(gone, "dropped")
        return gone

    def forget(self, open_ids: Collection[str]) -> None:
        """Of incidents that are over, only the last are remembered; of those that are open, or on their way, all."""
        needed = {row.notice.incident for row in self.rows.values()} | set(open_ids)
        over = [chain for chain in self.done if chain[0] not in needed]
        for chain in over[: max(0, len(over) - REMEMBERED)]:
            del self.done[chain]

    def queued(self, channel: str) -> int:
        return sum(row.channel == channel for row in self.rows.values())

    def _heads(self, channel: str) -> Iterator[Row]:
        """The first row of each incident, oldest first."""
        begun: set[str] = set()
        for row in list(self.rows.values()):
            if row.channel == channel and row.notice.incident not in begun:
                begun.add(row.notice.incident)
                if self.released is None or row.number <= self.released:
                    yield row

    def _as_it_is(self, row: Row) -> Row:
        """It may have been taken over, under another number, while it was under way."""
        same = (one for one in self.rows.values() if one.chain == row.chain and one.notice == row.notice)
        return row if row.number in self.rows else next(same, row)

    def _due_at(self, row: Row, now: float) -> float:
        # The clock was put back: a time further away than we ever set one is none that we meant.
        return row.next_try if row.next_try - now <= max(LONGEST_REQUEST, self.patience.longest) else now

    def _note(self, row: Row, now: float) -> None:
        before = self.done.pop(row.chain, None)  # and put last again: the order is that in which they are forgotten
        self.done[row.chain] = Done(max(row.notice.seq, before.seq if before else 0), now)

    def _remove(self, rows: Iterable[Row], result: str) -> None:
        for row in rows:
            self.counts[row.channel, result] += 1
            removed = self.rows.pop(row.number, None)
            if removed is not None and removed.tries and row.chain not in self.done:
                self.done[row.chain] = Done(row.notice.seq, row.queued_at)  # it may have arrived: its close is owed
