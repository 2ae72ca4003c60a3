"""What became of the probe's records: acknowledged, read back, late, lost, twice, out of order. Pure.

A record that is late may still come. It is lost only when the reader found something else in the place that the
acknowledgement promised, or has gone past it: whether it had never seen it there, or had, and the log was cut since.
"""

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field

REMEMBERED = 3_600  # records of a partition that were read, to know one that comes again, or is gone: an hour, by default
MOST_OPEN = 3_600  # records of a partition whose fate is followed; beyond, the oldest are given up
RECENT = 60  # records of a partition that its availability is told of


@dataclass(slots=True)
class _Record:
    sent: float
    acked: float | None = None
    offset: int | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class Patience:
    ack: float  # seconds within which an acknowledgement is in time
    late: float  # seconds after its acknowledgement from which a record is late
    forget: float  # seconds after which a record that was neither acknowledged nor refused is forgotten


@dataclass(slots=True)
class Tally:
    """Of one partition. Times are of one clock that only goes forward; numbers of records rise by one."""

    patience: Patience
    sent: int = 0
    acknowledged: int = 0
    received: int = 0
    late: int = 0  # so far
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    _open: dict[int, _Record] = field(default_factory=dict)  # not read back, and not given up
    _read: OrderedDict[int, int] = field(default_factory=OrderedDict)  # number → offset
    _places: dict[int, int] = field(default_factory=dict)  # the other way round
    _unpromised: set[int] = field(default_factory=set)  # of those read: not acknowledged, or not yet
    _highest: int = -1
    _forgotten: int = -1  # up to this number nothing is remembered
    _recent: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=RECENT))  # number, when it was sent
    _in_time: dict[int, bool] = field(default_factory=dict)  # of the recent ones whose answer is known

    # ---- what happens -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The reader stands at the end of a log of which it knows nothing: what was under way is not asked about."""
        self._forgotten = max(self._highest, self._forgotten, *self._open, -1)
        self._open.clear()
        self._read.clear()
        self._places.clear()
        self._unpromised.clear()

    def send(self, number: int, now: float) -> None:
        self.sent += 1
        self._open[number] = _Record(now)
        if len(self._open) > MOST_OPEN:  # nobody reads: that they are late has long been told
            del self._open[next(iter(self._open))]
        if len(self._recent) == RECENT:
            self._in_time.pop(self._recent[0][0], None)
        self._recent.append((number, now))

    def ack(self, number: int, offset: int, now: float) -> float | None:
        """The time it took; None for a record that was forgotten meanwhile."""
        self.acknowledged += 1
        self._unpromised.discard(number)
        record = self._open.get(number)
        took = None if record is None else now - record.sent
        self._answer(number, in_time=took is not None and took <= self.patience.ack)
        if record is None:
            return None
        if number in self._read:  # read before its acknowledgement came: nothing more is expected of it
            del self._open[number]
        else:
            # A record that was sent twice and kept once may be acknowledged without its place.
            record.acked, record.offset = now, offset if offset >= 0 else None
        return took

    def fail(self, number: int, error: str) -> None:
        """Not acknowledged. It may be in the log all the same, and be read."""
        self.failed[error] += 1
        self._answer(number, in_time=False)
        self._open.pop(number, None)

    def read(self, number: int | None, offset: int, now: float) -> float | None:
        """What stands at `offset`; None for somebody else's record. The time of its round trip; None if it is not known
        any more, or was read before."""
        took = self._found(number, offset, now)
        self._gone_from(offset, number)
        self._passed(offset)
        return took

    def look(self, now: float) -> None:
        """Time alone makes a record late, and in the end forgotten, if it is not known where it should be."""
        for number, record in list(self._open.items()):
            if record.acked is not None and not record.late and now - record.acked > self.patience.late:
                record.late = True
                self.late += 1
            if record.offset is None and now - record.sent > self.patience.forget:
                del self._open[number]

    def _found(self, number: int | None, offset: int, now: float) -> float | None:
        if number is None or number <= self._forgotten:
            return None
        if number in self._read:
            if self._read[number] != offset:  # the same place may be read again; two places are two copies
                self.duplicated += 1
            return None
        self._remember(number, offset)
        self.received += 1
        self.out_of_order += number < self._highest
        self._highest = max(self._highest, number)
        record = self._open.get(number)
        if record is None or record.acked is None:
            self._unpromised.add(number)
        if record is None:
            return None
        if record.acked is not None:
            del self._open[number]
        return now - record.sent

    def _remember(self, number: int, offset: int) -> None:
        self._read[number] = offset
        if len(self._read) > REMEMBERED:
            oldest, place = self._read.popitem(last=False)
            self._forgotten = max(self._forgotten, oldest)
            self._unpromised.discard(oldest)
            if self._places.get(place) == oldest:
                del self._places[place]

    def _gone_from(self, offset: int, number: int | None) -> None:
        """What was read in this place before, and is not there any more."""
        before = self._places.pop(offset, None)
        if before is not None and before != number:
            self.lost += before not in self._unpromised
        if number is not None and self._read.get(number) == offset:
            self._places[offset] = number

    def _passed(self, offset: int) -> None:
        """Whatever should have come up to here did not."""
        passed = [number for number, record in self._open.items() if record.offset is not None and record.offset <= offset]
        for number in passed:
            self.lost += 1
            del self._open[number]

    # ---- what is to be told -----------------------------------------------------------------------------------

    @property
    def late_now(self) -> int:
        return sum(record.late for record in self._open.values())

    def available(self, now: float) -> bool | None:
        """Whether the last record whose time is up, or whose answer is known, was acknowledged in time."""
        known = self._answers(now)
        return known[-1] if known else None

    def availability(self, now: float) -> float | None:
        known = self._answers(now)
        return sum(known) / len(known) if known else None

    def _answer(self, number: int, *, in_time: bool) -> None:
        if self._recent and number >= self._recent[0][0]:
            self._in_time.setdefault(number, in_time)

    def _answers(self, now: float) -> list[bool]:
        answers = []
        for number, sent in self._recent:
            if number in self._in_time:
                answers.append(self._in_time[number])
            elif now - sent > self.patience.ack:
                answers.append(False)
        return answers
