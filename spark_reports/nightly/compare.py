"""Current nights against the baseline: what got worse and not by chance, and what else is different.

A FAIL where all passed before is a fact and needs no statistics. Durations do: a test that noise does not fool, an effect
that is large, and a difference that matters; corrected for the number of questions asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spark_reports.contents import Operation, Regression, Run
from spark_reports.nightly.samples import OPERATIONS, Group, darkness_sample, grouped, recovery_sample, version, worst_gap
from spark_reports.nightly.statistics import Comparison, adjusted, compared

SHIFT_S = 0.5
SHIFT_DARK = 0.005  # of the watched time
SEED = 20_260_101
MOST_RUNS = 10  # that a regression names


@dataclass(frozen=True, slots=True)
class Match:
    """A group of current runs and the runs it is compared with: on another version, if there are none on its own."""

    group: Group
    now: list[Run]
    before: list[Run]
    baseline_kafka: str


@dataclass(frozen=True, slots=True)
class Question:
    """One comparison of durations. `operation` None: availability."""

    match: Match
    operation: Operation | None
    worse: Comparison
    better: Comparison
    p_worse: float = 1.0
    p_better: float = 1.0

    @property
    def shift(self) -> float:
        return SHIFT_DARK if self.operation is None else SHIFT_S

    @property
    def is_worse(self) -> bool:
        return self.worse.is_longer(self.p_worse, shift=self.shift)

    @property
    def is_better(self) -> bool:
        return self.better.is_longer(self.p_better, shift=self.shift)


def matched(current: Sequence[Run], baseline: Sequence[Run]) -> list[Match]:
    before = grouped(baseline)
    return [_match(group, runs, before) for group, runs in grouped(current).items()]


def questions(matches: Sequence[Match]) -> list[Question]:
    """Every comparison, with p-values corrected over those for which there are runs enough."""
    asked = [question for match in matches for question in _asked(match)]
    worse = iter(adjusted([asking.worse.p_value for asking in asked if asking.worse.p_value is not None]))
    better = iter(adjusted([asking.better.p_value for asking in asked if asking.better.p_value is not None]))
    return [
        replace(asking, p_worse=next(worse), p_better=next(better)) if asking.worse.enough else asking for asking in asked
    ]


def undecided(asked: Sequence[Question]) -> list[Match]:
    """Those with recoveries to compare and too few runs to say anything."""
    sends = [asking for asking in asked if asking.operation == "send" and not asking.worse.enough]
    return [asking.match for asking in sends if len(asking.worse.now) and len(asking.worse.before)]


def new_failures(matches: Sequence[Match]) -> list[Match]:
    """All that was conclusive passed, and now something fails."""
    return [
        match
        for match in matches
        if any(run.verdict == "FAIL" for run in match.now)
        and {run.verdict for run in match.before} - {"INCONCLUSIVE"} == {"PASS"}
    ]


def expected(match: Match) -> str | None:
    verdicts = {run.verdict for run in match.before}
    return verdicts.pop() if len(verdicts) == 1 else None


def worst_first(question: Question) -> list[str]:
    def gap(run: Run) -> tuple[bool, float]:
        if question.operation is None:
            return False, 1 - (1.0 if run.availability is None else run.availability)
        seconds, is_open = worst_gap(run.recovery, question.operation) or (0.0, False)
        return is_open, seconds

    return [run.key for run in sorted(question.match.now, key=gap, reverse=True)][:MOST_RUNS]


def ordered(regressions: Sequence[Regression]) -> list[Regression]:
    """What was broken before what is slow; then the largest first."""
    rank = {"verdict": 0, "recovery": 1, "availability": 2}
    return sorted(
        regressions,
        key=lambda one: (rank[one.kind], one.operation == "poll", -(one.ratio or 0.0), one.scenario, one.kafka, one.config),
    )


def _match(group: Group, now: list[Run], before: dict[Group, list[Run]]) -> Match:
    others = [other for other in before if (other.scenario, other.config) == (group.scenario, group.config)]
    if group in before or not others:
        return Match(group, now, before.get(group, []), group.kafka)
    newest = max(others, key=lambda other: version(other.kafka))
    return Match(group, now, before[newest], newest.kafka)


def _asked(match: Match) -> list[Question]:
    pairs: list[tuple[Operation | None, Comparison, Comparison]] = []
    for operation in OPERATIONS:
        now, before = recovery_sample(match.now, operation), recovery_sample(match.before, operation)
        pairs.append((operation, compared(now, before, seed=SEED), compared(before, now, seed=SEED)))
    now, before = darkness_sample(match.now), darkness_sample(match.before)
    pairs.append((None, compared(now, before, seed=SEED), compared(before, now, seed=SEED)))
    return [Question(match, operation, worse, better) for operation, worse, better in pairs]
