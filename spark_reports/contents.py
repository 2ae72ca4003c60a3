"""What a nightly report says, as one typed document: report.json. Statistics write it, pages are drawn from it alone.

Programs may rely on it: `format` is raised when a field goes or changes its meaning; new fields may come at any time.
Times are UTC; durations are seconds; None where unknown. A duration that never ended is *open*: the true one is longer.
"""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

FORMAT = 1

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Operation = Literal["send", "poll"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Span(_Part):
    """Some nights, first and last included, and how many runs they hold."""

    first: date
    last: date
    runs: int


class Spread(_Part):
    """How long something took over repeats. A percentile that falls on an open value is None: it is longer than any seen."""

    n: int
    open: int  # of them, how many never ended
    median_s: float | None
    median_low_s: float | None  # 95 % bootstrap interval
    median_high_s: float | None
    p95_s: float | None
    p95_low_s: float | None
    p95_high_s: float | None
    worst_s: float | None
    worst_open: bool = False


class Totals(_Part):
    runs: int
    passed: int
    failed: int
    inconclusive: int
    unreadable: int
    acknowledged: int  # records


class Cell(_Part):
    """One scenario on one Kafka version under one configuration, in the current nights."""

    scenario: str
    kafka: str
    config: str  # words, such as "acks=all how=kill · quick · 3 brokers"
    runs: int
    passed: int
    failed: int
    inconclusive: int
    latest: str  # key of the newest run
    latest_verdict: Verdict
    expected: Verdict | None  # what every run of the baseline ended in, if they agree
    availability: float | None  # 0..1: watched time that was not dark, over partitions
    recovery: Spread | None  # of the worst gap of each run: no acknowledgement


class Point(_Part):
    """One night of a trend; `values` are the single runs, open ones in `open_values`."""

    date: date
    n: int
    median_s: float | None
    values: list[float]
    open_values: list[float]  # at least so long


class Band(_Part):
    """What the baseline says is ordinary: its median and the middle 90 %."""

    median_s: float
    low_s: float
    high_s: float
    n: int


class Trend(_Part):
    """Recovery over the nights for one Kafka version and configuration of a scenario."""

    kafka: str
    config: str
    operation: Operation
    points: list[Point]
    baseline: Band | None
    spread: Spread  # of the current nights


class FaultSpan(_Part):
    id: str
    kind: str = ""  # kill-broker, add-broker; empty where nobody said
    sentence: str
    begin_s: float  # since the run's first moment, as all times of a timeline
    end_s: float | None  # healed; None: never
    bite_s: float | None


class Dark(_Part):
    begin_s: float
    end_s: float
    open: bool


class Lane(_Part):
    topic: str
    partition: int
    operation: Operation
    dark: list[Dark]


class Mark(_Part):
    """Something worth a line on a timeline: a leader elected, a lag alert, an alert that fires."""

    at_s: float
    kind: Literal["election", "lag", "alert"]
    sentence: str


class Timeline(_Part):
    run: str  # key
    length_s: float
    faults: list[FaultSpan]
    lanes: list[Lane]  # partitions with the longest gaps first, at most 16
    marks: list[Mark]
    bucket_s: float
    acked: list[int]  # per bucket
    read: list[int]


class RecoveryRow(_Part):
    """As in verdict.json: one fault, one partition, one operation."""

    fault: str
    operation: Operation
    topic: str
    partition: int
    affected: bool | None
    gap_s: float | None
    open: bool
    detect_s: float | None
    elect_s: float | None
    first_success_s: float | None
    full_isr_s: float | None
    drained_s: float | None
    bound_s: float | None
    within: bool | None


class Run(_Part):
    key: str  # date/scenario/run_id, unique in the report; its page is runs/<key with / as _>.html
    run_id: str
    date: date
    started: datetime
    scenario: str
    kafka: str
    config: str
    seed: int | None
    duration_s: float | None
    verdict: Verdict
    reasons: list[str]
    acknowledged: int
    read: int
    rows: int
    counts: dict[str, int]  # anomalies that were found
    permitted: list[str]
    findings: list[str]  # sentences, at most 10
    recovery_s: float | None  # worst gap without an acknowledgement on a partition that a fault touched
    recovery_open: bool
    availability: float | None
    recovery: list[RecoveryRow]
    faults: list[FaultSpan]
    folder: str
    report: str | None  # the run's own page, relative to the site's root, if it has one
    current: bool  # of the nights that are judged, or of the baseline
    trouble: str | None = None  # what could not be read of it, such as a damaged ledger


class Scenario(_Part):
    name: str
    promise: str
    cells: list[Cell]
    trends: list[Trend]
    worst: Timeline | None  # the current run with the longest gap


class Regression(_Part):
    """Worse than the baseline, and not by chance."""

    kind: Literal["verdict", "recovery", "availability"]
    scenario: str
    kafka: str
    baseline_kafka: str
    config: str
    operation: Operation | None
    sentence: str
    now: str  # "9.1 s (8.9 to 9.4, n = 12)", "2 of 5 failed"
    before: str
    p_value: float | None  # after correction for the number of comparisons
    effect: float | None  # Cliff's delta, -1..1; above 0 is worse
    ratio: float | None  # of the medians
    runs: list[str]  # keys to look at, worst first


class Flaky(_Part):
    """The same scenario, configuration and seed, and not the same verdict."""

    scenario: str
    kafka: str
    config: str
    seed: int
    verdicts: dict[str, int]
    runs: list[str]


class Anomaly(_Part):
    run: str
    scenario: str
    kafka: str
    name: str
    count: int
    permitted: bool
    sentence: str  # the first finding
    folder: str


class SlowPartition(_Part):
    run: str
    scenario: str
    topic: str
    partition: int
    operation: Operation
    longest_s: float
    open: bool
    dark_s: float
    watched_s: float


class Cost(_Part):
    """How long partitions went without an acknowledgement after one kind of fault or operation, in runs that passed. Each
    partition is one of the spread's values, each time it was touched, or may have been: where nobody said whom, all are."""

    kind: str  # rolling-upgrade, kill-broker
    scenario: str
    kafka: str
    config: str = ""  # as a cell's; empty in reports that mixed them
    runs: int
    spread: Spread


class Delay(_Part):
    """From a fault to somebody's noticing: a lag status, an alert. `missed`: runs that were watched and said nothing."""

    kind: Literal["lag", "alert"]
    name: str  # STALLED, UnderReplicatedPartitions
    scenario: str
    spread: Spread
    missed: int


class Audit(_Part):
    """How complete a link was: of a run that was audited, or of the audit topic (then there is no run)."""

    run: str | None
    scenario: str | None
    link: str  # orders: producer → billing
    sent: int
    received: int
    missing: int
    duplicated: int
    completeness: float | None


class Unreadable(_Part):
    folder: str
    sentence: str


class Clash(_Part):
    """Two folders under one run id; the older is kept, the others are left out of every figure."""

    key: str
    folders: list[str]


class Report(_Part):
    format: int = FORMAT
    made: datetime
    made_by: str  # kafka-trial 0.1.0
    headline: str  # the first sentence somebody reads: what is worse, or that nothing is
    regressed: bool  # exit code 1
    current: Span
    baseline: Span | None
    baseline_words: str  # how it was chosen, or why there is none
    totals: Totals  # of the current nights
    scenarios: list[Scenario]
    regressions: list[Regression]
    changes: list[str]  # sentences: better than before, a twin that no longer fails, a scenario that is new or gone
    flaky: list[Flaky]
    anomalies: list[Anomaly]
    slowest: list[SlowPartition]
    costs: list[Cost] = []
    delays: list[Delay]
    audits: list[Audit]
    unreadable: list[Unreadable]
    clashes: list[Clash]
    runs: list[Run]  # current ones and the baseline's
