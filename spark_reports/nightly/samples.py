"""Runs as samples of how long recovery takes: for each run its worst gap, on partitions that a fault touched."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spark_reports.contents import Operation, RecoveryRow, Run, Spread
from spark_reports.nightly.statistics import Sample

OPERATIONS: tuple[Operation, ...] = ("send", "poll")
NOTHING = Spread(
    n=0, open=0, median_s=None, median_low_s=None, median_high_s=None, p95_s=None, p95_low_s=None, p95_high_s=None,
    worst_s=None,
)  # fmt: skip


class Group(NamedTuple):
    """Runs that may be compared with each other."""

    scenario: str
    kafka: str
    config: str


def group_of(run: Run) -> Group:
    return Group(run.scenario, run.kafka, run.config)


def grouped(runs: Iterable[Run]) -> dict[Group, list[Run]]:
    """In order of name; inside, in order of time."""
    found: dict[Group, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.started, run.key)):
        found[group_of(run)].append(run)
    return dict(sorted(found.items()))


def worst_gap(rows: Sequence[RecoveryRow], operation: Operation) -> tuple[float, bool] | None:
    """The longest, and whether it is open: one gap that never closed makes the longest of all at least what was seen."""
    touched = [row for row in rows if row.operation == operation and row.affected and row.gap_s is not None]
    if not touched:
        return None
    return max(row.gap_s or 0.0 for row in touched), any(row.open for row in touched)


def recovery_sample(runs: Iterable[Run], operation: Operation) -> Sample:
    gaps = [gap for run in runs if (gap := worst_gap(run.recovery, operation)) is not None]
    return Sample.of([seconds for seconds, _ in gaps], [is_open for _, is_open in gaps])


def darkness_sample(runs: Iterable[Run]) -> Sample:
    """The share of the watched time that was dark, for each run of which it is known."""
    return Sample.of([1 - run.availability for run in runs if run.availability is not None])


def version(kafka: str) -> tuple[tuple[int, str], ...]:
    """4.10.0 is newer than 4.9.1; what is no number sorts before."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in kafka.split("."))
