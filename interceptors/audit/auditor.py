"""An auditor at work: books, judged again and again; what is complete everywhere is settled and forgotten.

Pure: reports and the time come in, judgements and sums come out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from interceptors.audit.books import Books, Tier, Where
from interceptors.audit.reconcile import Flow, Judgement, Patience, Verdict, default_flows, one_sided, reconcile, settled
from interceptors.audit.report import Report

SETTLE_MS = 600_000
KEEP_MS = 86_400_000
Line = tuple[str, str, str]  # topic, sources, tier


@dataclass(frozen=True, slots=True)
class Wanted:
    """A flow as people write it: names of tiers, whose role the reports tell."""

    sources: tuple[str, ...]
    tier: str
    topic: str = ""


@dataclass(slots=True)
class Sum:
    """Of one topic, from its sources to one tier."""

    outcomes: dict[str, int] = field(default_factory=dict)  # records
    verdicts: dict[str, int] = field(default_factory=dict)  # buckets
    complete_ms: int = 0  # the end of the newest bucket that is complete

    def add(self, one: Judgement, bucket_ms: int) -> None:
        self.verdicts[one.verdict] = self.verdicts.get(one.verdict, 0) + 1
        if one.verdict in (Verdict.MISSING, Verdict.EXTRA, Verdict.COMPLETE):
            self._count(Verdict.MISSING, one.missing)
            self._count(Verdict.EXTRA, one.extra)
            self._count(Verdict.COMPLETE, max(0, one.records - one.missing))
        else:
            self._count(one.verdict, max(one.records, one.counted))
        if one.verdict is Verdict.COMPLETE:
            self.complete_ms = max(self.complete_ms, one.start_ms + bucket_ms)

    def _count(self, outcome: str, records: int) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + records


class Auditor:
    def __init__(
        self,
        patience: Patience,
        wanted: Sequence[Wanted] = (),
        *,
        settle_ms: int = SETTLE_MS,
        keep_ms: int = KEEP_MS,
    ) -> None:
        self.books = Books()
        self.patience, self._wanted = patience, wanted
        self._settle_ms, self._keep_ms = settle_ms, keep_ms
        self._settled: dict[Line, Sum] = {}
        self.judgements: list[Judgement] = []
        self.log_ends: Mapping[Where, int] = {}

    def add(self, report: Report, received_ms: int) -> bool:
        return self.books.add(report, received_ms)

    def judge(self, now_ms: int) -> list[Judgement]:
        found = reconcile(self.books, self.flows(), now_ms=now_ms, patience=self.patience, ends=self.log_ends)
        self.judgements = list(found)
        return self.judgements

    def tidy(self, now_ms: int) -> None:
        """After judging, now and then: keeps memory within what is open or bad, and not older than a day."""
        done = set(settled(self.judgements, now_ms=now_ms, after_ms=self._settle_ms))
        for one in self.judgements:
            if ((one.topic, one.partition), one.start_ms) in done:
                self._settled.setdefault(line_of(one), Sum()).add(one, self.bucket_ms)
        self.books.settle(done)
        self.books.forget(now_ms - self._keep_ms)
        self.judge(now_ms)

    def sums(self) -> dict[Line, Sum]:
        found: dict[Line, Sum] = {}
        for line, known in self._settled.items():
            found[line] = Sum(dict(known.outcomes), dict(known.verdicts), known.complete_ms)
        for one in self.judgements:
            found.setdefault(line_of(one), Sum()).add(one, self.bucket_ms)
        return found

    def flows(self) -> list[Flow]:
        if not self._wanted:
            return default_flows(self.books)
        return [
            Flow(tuple(self._tier(name, "producer", "consumer") for name in one.sources), self._tier(one.tier), one.topic)
            for one in self._wanted
        ]

    def alone(self) -> list[tuple[Tier, str]]:
        return one_sided(self.books, self.flows())

    @property
    def bucket_ms(self) -> int:
        return max((bucket for tier in self.books.tiers.values() for bucket, _ in tier.shapes), default=0)

    def late_places(self) -> set[Where]:
        """Whose log it is worth asking about."""
        return {(one.topic, one.partition) for one in self.judgements if one.verdict is Verdict.LATE}

    def _tier(self, name: str, first: str = "consumer", second: str = "producer") -> Tier:
        return (
            (name, second) if (name, second) in self.books.tiers and (name, first) not in self.books.tiers else (name, first)
        )


def line_of(one: Judgement) -> Line:
    return (one.topic, one.flow.source, one.flow.tier[0])


def exit_code(judgements: Iterable[Judgement]) -> int:
    """0: all complete; 1: something is missing or extra; 3: it cannot be said (yet), or there is nothing."""
    verdicts = {one.verdict for one in judgements}
    if verdicts & {Verdict.MISSING, Verdict.EXTRA}:
        return 1
    return 0 if Verdict.COMPLETE in verdicts and verdicts <= {Verdict.COMPLETE, Verdict.UNKNOWN} else 3
