"""What an auditor has been told: all reports added up, each once, and who has told it.

No clock of its own: every report comes with the moment at which the audit topic received it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from interceptors.audit.report import Report, Stretch, Unsure
from interceptors.audit.sketch import Sketch, added
from interceptors.audit.spans import Spans

Where = tuple[str, int]
Tier = tuple[str, str]  # name, role
MOST_ROWS = 300_000  # about 500 MB


@dataclass(slots=True)
class Life:
    """Of one client. Its reports are numbered from 0; `waiting` are stretches whose report is not whole yet."""

    tier: Tier
    every_ms: int
    first_ms: int  # received
    last_ms: int
    seen: Spans = field(default_factory=Spans)  # the numbers of its reports
    closed: bool = False
    left: bool = False
    spans: dict[Where, Spans] = field(default_factory=dict)
    waiting: list[tuple[int, int, tuple[Stretch, ...]]] = field(default_factory=list)
    gap_ms: tuple[int, int] | None = None  # when reports were lost, from the last that came to the next

    @property
    def missed(self) -> int:
        """Reports that never came, as far as later ones tell."""
        return sum(end - begin for begin, end in self.seen.gaps())


@dataclass(slots=True)
class Entry:
    sketch: Sketch
    touched_ms: int  # when it was last added to


@dataclass(slots=True)
class TierBooks:
    entries: dict[Where, dict[int, Entry]] = field(default_factory=dict)  # by the start of the bucket
    covered: dict[Where, Spans] = field(default_factory=dict)
    lowest: dict[Where, int] = field(default_factory=dict)  # the lowest offset ever counted
    unsure: dict[Where, list[Unsure]] = field(default_factory=dict)
    latencies: dict[str, dict[int, int]] = field(default_factory=dict)  # by topic
    lives: dict[str, Life] = field(default_factory=dict)
    shapes: set[tuple[int, str]] = field(default_factory=set)  # bucket_ms, identity
    reports: int = 0
    records: dict[str, int] = field(default_factory=dict)  # counted ever, by topic
    unaudited: int = 0

    @property
    def topics(self) -> set[str]:
        return {topic for topic, _ in (*self.entries, *self.covered)} | set(self.records)


class Books:
    def __init__(self) -> None:
        self.tiers: dict[Tier, TierBooks] = {}
        self.duplicates = 0
        self.dropped_rows = 0

    def add(self, report: Report, received_ms: int) -> bool:
        """False if it was known already."""
        name = (report.tier, report.role)
        tier = self.tiers.setdefault(name, TierBooks())
        life = tier.lives.get(report.life)
        if life is None:
            life = tier.lives[report.life] = Life(name, report.every_ms, received_ms, received_ms)
        if report.seq in life.seen:
            self.duplicates += 1
            return False
        self._keep_time(life, report, received_ms)
        life.seen.add(report.seq, report.seq + 1)
        tier.reports += 1
        tier.unaudited += report.unaudited
        tier.shapes.add((report.bucket_ms, report.identity))
        self._rows(tier, report, received_ms)
        for doubt in report.unsure:
            tier.unsure.setdefault((doubt.topic, doubt.partition), []).append(doubt)
        self._account(tier, life, report)
        return True

    def settle(self, done: Iterable[tuple[Where, int]]) -> None:
        """Forget buckets that are alike in all tiers: as much is taken from either side, so no difference is lost."""
        for where, start in done:
            for tier in self.tiers.values():
                tier.entries.get(where, {}).pop(start, None)

    def forget(self, before_ms: int) -> None:
        """What is too old to be of interest; and the oldest, if there is too much of it."""
        for tier in self.tiers.values():
            for where, entries in tier.entries.items():
                tier.entries[where] = {start: entry for start, entry in entries.items() if start >= before_ms}
            for where, doubts in tier.unsure.items():
                tier.unsure[where] = [doubt for doubt in doubts if doubt.to_ms >= before_ms]
            over = [
                name for name, life in tier.lives.items() if life.closed and life.last_ms < before_ms and not life.missed
            ]
            for name in over:
                tier.lives[name].spans.clear()
        if (count := sum(1 for _ in self._all())) > MOST_ROWS:
            oldest = sorted(start for _, start in self._all())[count - MOST_ROWS]
            self.dropped_rows += count - MOST_ROWS
            self.forget(oldest + 1)

    def _all(self) -> Iterator[tuple[Where, int]]:
        for tier in self.tiers.values():
            for where, entries in tier.entries.items():
                for start in entries:
                    yield where, start

    def _rows(self, tier: TierBooks, report: Report, received_ms: int) -> None:
        for (topic, partition, start), sketch in report.rows.items():
            where = (topic, partition)
            entries = tier.entries.setdefault(where, {})
            known = entries.get(start)
            whole = known.sketch + sketch if known else sketch
            entries[start] = Entry(whole, max(received_ms, known.touched_ms if known else 0))
            tier.lowest[where] = min(sketch.first, tier.lowest.get(where, sketch.first))
            tier.latencies[topic] = added(tier.latencies.get(topic, {}), sketch.latencies)
            tier.records[topic] = tier.records.get(topic, 0) + sketch.count

    def _account(self, tier: TierBooks, life: Life, report: Report) -> None:
        """Stretches count when the whole report is there: their rows may stand in an earlier part."""
        life.waiting.append((report.begins, report.seq, report.stretches))
        for begins, seq, stretches in life.waiting:
            if life.seen.covers(begins, seq + 1):
                for topic, partition, begin, end in stretches:
                    for spans in (tier.covered, life.spans):
                        spans.setdefault((topic, partition), Spans()).add(begin, end)
        life.waiting = [one for one in life.waiting if not life.seen.covers(one[0], one[1] + 1)]

    def _keep_time(self, life: Life, report: Report, received_ms: int) -> None:
        if life.seen and report.seq > life.seen.end:
            begin, end = life.gap_ms or (life.last_ms, received_ms)
            life.gap_ms = (min(begin, life.last_ms), max(end, received_ms))
        life.first_ms = min(life.first_ms, received_ms)
        life.last_ms = max(life.last_ms, received_ms) if not report.left else life.last_ms
        life.every_ms = report.every_ms
        life.closed = life.closed or report.closed
        life.left = life.left or report.left


def of_tiers(tiers: Iterable[TierBooks], where: Where, start: int) -> Sketch:
    found = Sketch()
    for tier in tiers:
        if (entry := tier.entries.get(where, {}).get(start)) is not None:
            found = found + entry.sketch
    return found


def roles(books: Mapping[Tier, TierBooks], role: str) -> list[Tier]:
    return sorted(tier for tier in books if tier[1] == role)
