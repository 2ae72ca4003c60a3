"""Are the tiers' books alike? By bucket: complete, missing, extra, late, pending, uncertain, unknown.

Judged by offsets and not by clocks: what a consumer has accounted for beyond a producer's last offset can be compared. Time
decides only how long to wait before something is called late, or extra. Pure; docs/audit.md states the rules.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from interceptors.audit.books import Books, Life, Tier, TierBooks, Where, of_tiers, roles
from interceptors.audit.cells import Item
from interceptors.audit.sketch import Difference, difference
from interceptors.audit.spans import EVER, Span, Spans


class Verdict(StrEnum):
    """From the best to the worst."""

    COMPLETE = "complete"
    UNKNOWN = "unknown"  # only one side tells of it, and the other had not begun
    PENDING = "pending"  # too early to say
    UNCERTAIN = "uncertain"  # somebody was killed, a report was lost: there is a difference, and it may be nothing
    LATE = "late"
    EXTRA = "extra"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Flow:
    """What these tiers have together, that tier should have too. An empty topic stands for all."""

    sources: tuple[Tier, ...]
    tier: Tier
    topic: str = ""

    @property
    def source(self) -> str:
        return "+".join(name for name, _ in self.sources)


@dataclass(frozen=True, slots=True)
class Patience:
    lateness_ms: int = 60_000
    silences: int = 3  # so many reports that did not come make a life one that is over


@dataclass(frozen=True, slots=True)
class Judgement:
    flow: Flow
    topic: str
    partition: int
    start_ms: int
    verdict: Verdict
    records: int  # that the sources have
    counted: int  # that the tier has
    missing: int = 0
    extra: int = 0
    exact: bool = True  # False: at least so many
    missing_offsets: tuple[int, ...] = ()
    extra_offsets: tuple[int, ...] = ()
    why: str = ""
    touched_ms: int = 0


def default_flows(books: Books) -> list[Flow]:
    """All producers of a topic together against each tier that consumes it."""
    flows = []
    for tier in roles(books.tiers, "consumer"):
        for topic in sorted(books.tiers[tier].topics):
            sources = tuple(one for one in roles(books.tiers, "producer") if topic in books.tiers[one].topics)
            if sources:
                flows.append(Flow(sources, tier, topic))
    return flows


def one_sided(books: Books, flows: Sequence[Flow]) -> list[tuple[Tier, str]]:
    """Tiers with records of a topic that nobody compares with anything."""
    compared = {(tier, flow.topic) for flow in flows for tier in (*flow.sources, flow.tier)}
    return sorted(
        (name, topic)
        for name, tier in books.tiers.items()
        for topic in tier.topics
        if (name, topic) not in compared and (name, "") not in compared
    )


def reconcile(
    books: Books, flows: Iterable[Flow], *, now_ms: int, patience: Patience, ends: Mapping[Where, int] | None = None
) -> Iterator[Judgement]:
    """`ends`: where logs end by now, for those who could ask: what was acknowledged beyond is gone."""
    for flow in flows:
        sources = [books.tiers[name] for name in flow.sources if name in books.tiers]
        tier = books.tiers.get(flow.tier, TierBooks())
        wheres = {where for one in (*sources, tier) for where in one.entries if flow.topic in ("", where[0])}
        for where in sorted(wheres):
            starts = {start for one in (*sources, tier) for start in one.entries.get(where, {})}
            for start in sorted(starts):
                yield _Case(flow, sources, tier, where, start, now_ms, patience, (ends or {}).get(where)).judged()


class _Case:
    """One bucket of one partition in one flow."""

    def __init__(
        self, flow: Flow, sources: list[TierBooks], tier: TierBooks, where: Where, start: int, now: int, patience: Patience,
        log_end: int | None,
    ) -> None:  # fmt: skip
        self.flow, self.sources, self.tier, self.where, self.start = flow, sources, tier, where, start
        self.now, self.patience = now, patience
        self.sent, self.got = of_tiers(sources, where, start), of_tiers([tier], where, start)
        shapes = {shape for one in (*sources, tier) for shape in one.shapes}
        self.shapes, self.bucket_ms = shapes, max((bucket for bucket, _ in shapes), default=0)
        self.content = any(identity == "content" for _, identity in shapes)
        self.covered = tier.covered.get(where, Spans())
        touched = [one.entries[where][start].touched_ms for one in (*sources, tier) if start in one.entries.get(where, {})]
        self.touched = max(touched)
        self.old = now - self.touched >= patience.lateness_ms  # by the topic's clock, whatever the records' timestamps say
        self.lowest = min((one.lowest[where] for one in sources if where in one.lowest), default=EVER)
        self.cut = self._cut(log_end)

    def judged(self) -> Judgement:
        if len({bucket for bucket, _ in self.shapes}) > 1 or len({identity for _, identity in self.shapes}) > 1:
            return self._says(Verdict.UNKNOWN, "the tiers have buckets of different length, or different identities")
        found = difference(self.sent, self.got)
        if found.same:
            return self._says(Verdict.COMPLETE)
        if (why := self._not_begun()) is not None:
            return self._says(Verdict.UNKNOWN, why)
        if self.content:
            return self._by_time(found)
        if self.sent and self._end() <= self.sent.last:
            words = f"{self._name()} has accounted for offsets below {self.covered.end} of {self.sent.last + 1}"
            return self._says(Verdict.LATE if self.old else Verdict.PENDING, words)
        return self._by_offset(found)

    # ---- what can be compared ------------------------------------------------------------------------------------------

    def _cut(self, log_end: int | None) -> int | None:
        """Where the log ends, if that is below what was acknowledged long ago and the tier has read all there is."""
        if log_end is None or not self.old or not self.sent or log_end > self.sent.last:
            return None
        return log_end if self.covered and self.covered.end >= log_end else None

    def _end(self) -> int:
        return EVER if self.cut is not None else self.covered.end

    def _accounted(self, offset: int) -> bool:
        return offset in self.covered or (self.cut is not None and offset >= self.cut)

    def _not_begun(self) -> str | None:
        if not self.got and self.sent and self.covered and self.sent.last < self.covered.first:
            return f"{self._name()} began behind it"
        if not self.sent and not self.content and self.got.last < self.lowest:
            return f"{self.flow.source} had not begun to count"
        return None

    # ---- verdicts ------------------------------------------------------------------------------------------------------

    def _by_time(self, found: Difference) -> Judgement:
        """Offsets differ from tier to tier, as in a mirror: there is only waiting."""
        if not self.old:
            return self._says(Verdict.PENDING)
        if self._doubtful(found.extra):
            return self._says(Verdict.UNCERTAIN, "somebody of it was not heard to the end")
        return self._differs(found.missing, found.extra, exact=found.items is not None)

    def _by_offset(self, found: Difference) -> Judgement:
        if found.items is None:
            return self._unpeeled(found)
        missing, extra = _by_place(found.items, 1), _by_place(found.items, -1)
        gone = {offset: n for offset, n in missing.items() if self._accounted(offset)}
        holes = self._holes()
        more = {offset: n for offset, n in extra.items() if not any(begin <= offset < end for begin, end in holes)}
        doubts = self._unsure()
        if sum(more.values()) <= doubts:
            more = {}
        if more and not self._heard_since():
            if not gone:
                return self._says(Verdict.PENDING, f"{self.flow.source} may still tell of it")
            more = {}
        if gone or more:
            return self._differs(sum(gone.values()), sum(more.values()), gone, more)
        if not self.old:
            return self._says(Verdict.PENDING)
        return self._says(Verdict.UNCERTAIN, self._why(missing, extra, holes))

    def _unpeeled(self, found: Difference) -> Judgement:
        """Too many to be named. If either side cannot vouch for all of it, there is no telling."""
        begin = self.sent.first if self.sent else self.got.first
        end = max(self.sent.last, self.got.last) + 1
        whole = self.covered.covers(begin, end if self.cut is None else self.cut)
        holed = any(low < end and begin < high for low, high in self._holes()) or self._unsure() > 0
        if found.count > 0 and whole and not holed:
            return self._differs(found.count, 0, exact=False)
        if whole and not holed and self._heard_since():
            return self._differs(max(found.count, 0) or int(not found.count), max(-found.count, 0) or 1, exact=False)
        if not self.old:
            return self._says(Verdict.PENDING)
        return self._says(Verdict.UNCERTAIN, self._why({begin: 1} if not whole else {}, {}, self._holes()))

    # ---- what the sources cannot vouch for -----------------------------------------------------------------------------

    def _holes(self) -> list[Span]:
        """Offsets at which a source may have records that it never told of, in this bucket."""
        lives = [(source, life) for source in self.sources for life in source.lives.values()]
        return [(-EVER, self.lowest), *(span for source, life in lives for span in self._holes_of(source, life))]

    def _holes_of(self, source: TierBooks, life: Life) -> Iterator[Span]:
        if life.tier[1] == "consumer":
            covered = source.covered.get(self.where, Spans())
            yield from ((-EVER, covered.first), *covered.gaps(), (covered.end, EVER))
            return
        spans, wait = life.spans.get(self.where, Spans()), self.patience.lateness_ms
        yield from spans.gaps()
        if life.seen.first > 0:  # older reports are gone from the topic, or were never asked for
            yield (-EVER, spans.first)
        if life.missed and life.gap_ms and life.gap_ms[0] - wait - self.bucket_ms <= self.start <= life.gap_ms[1] + wait:
            yield from ((-EVER, spans.first), (spans.end if spans else -EVER, EVER))
        # A timestamp from the future says nothing about when the record was sent.
        if self._over(life) and (self.start <= life.last_ms + life.every_ms + wait or self.start > self.touched):
            if spans:
                yield (spans.end, EVER)
            elif self.start >= life.first_ms - wait - self.bucket_ms:
                yield (-EVER, EVER)

    def _over(self, life: Life) -> bool:
        return is_over(life, self.now, self.patience)

    def _unsure(self) -> int:
        doubts = (doubt for source in self.sources for doubt in source.unsure.get(self.where, ()))
        return sum(
            doubt.records for doubt in doubts if doubt.from_ms < self.start + self.bucket_ms and self.start < doubt.to_ms
        )

    def _doubtful(self, extra: int) -> bool:
        return bool(extra and (self._unsure() >= extra or len(self._holes()) > 1))

    def _heard_since(self) -> bool:
        """Whoever of the sources still lives has had the time to tell, and has told something since."""
        entry = self.tier.entries.get(self.where, {}).get(self.start)
        touched = entry.touched_ms if entry else 0
        if self.now - touched < self.patience.lateness_ms:
            return False
        lives = (life for source in self.sources for life in source.lives.values())
        return all(life.closed or self._over(life) or life.last_ms > touched for life in lives)

    # ---- words ---------------------------------------------------------------------------------------------------------

    def _why(self, missing: Mapping[int, int], extra: Mapping[int, int], holes: list[Span]) -> str:
        if missing:
            return f"{self._name()} was not heard of the offsets from {min(missing)} to {max(missing)}"
        if extra and self._unsure():
            return f"{self.flow.source} does not know what became of {self._unsure()} records"
        return (
            f"a client of {self.flow.source} ended without a last report" if holes else "one side was not heard to the end"
        )

    def _name(self) -> str:
        return self.flow.tier[0]

    def _differs(
        self, missing: int, extra: int, gone: Mapping[int, int] | None = None, more: Mapping[int, int] | None = None,
        *, exact: bool = True,
    ) -> Judgement:  # fmt: skip
        cut = f"the log ends at {self.cut}, below what was acknowledged" if self.cut is not None else ""
        return self._says(
            Verdict.MISSING if missing else Verdict.EXTRA,
            cut,
            missing=missing,
            extra=extra,
            exact=exact,
            missing_offsets=tuple(sorted(gone or ())),
            extra_offsets=tuple(sorted(more or ())),
        )

    def _says(self, verdict: Verdict, why: str = "", **more: object) -> Judgement:
        return Judgement(
            self.flow, *self.where, self.start, verdict, self.sent.count, self.got.count, why=why, touched_ms=self.touched,
            **more,  # type: ignore[arg-type]
        )  # fmt: skip


def is_over(life: Life, now_ms: int, patience: Patience) -> bool:
    """Ended, and not well: what it did last is not known."""
    if life.closed:
        return False
    return life.left or now_ms - life.last_ms > max(patience.silences * life.every_ms, patience.lateness_ms)


def _by_place(items: Mapping[Item, int], sign: int) -> dict[int, int]:
    """Records by offset, of which several may have stood at the same one."""
    found: dict[int, int] = {}
    for (offset, _), times in items.items():
        if times * sign > 0:
            found[offset] = found.get(offset, 0) + times * sign
    return found


def settled(judgements: Iterable[Judgement], *, now_ms: int, after_ms: int) -> Iterator[tuple[Where, int]]:
    """Buckets that are complete in all flows, and have been left alone for a while."""
    found: dict[tuple[Where, int], bool] = {}
    for one in judgements:
        key = ((one.topic, one.partition), one.start_ms)
        done = one.verdict is Verdict.COMPLETE and now_ms - one.touched_ms > after_ms
        found[key] = found.get(key, True) and done
    return (key for key, done in found.items() if done)
