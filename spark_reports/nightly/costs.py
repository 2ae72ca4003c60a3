"""What each kind of fault and each operation cost: how long every partition that it touched went unacknowledged."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from spark_reports.contents import Cost, Run, Spread
from spark_reports.nightly.statistics import Sample


class Kind(NamedTuple):
    """Gaps of one kind may be one spread: those of another configuration (how=kill, how=cancel) say something else."""

    scenario: str
    kind: str
    kafka: str
    config: str


class Darkened(NamedTuple):
    """The gaps of all partitions that one kind of fault touched, and the runs they come from."""

    sample: Sample
    runs: int


def darkened(runs: Iterable[Run]) -> dict[Kind, Darkened]:
    """In order of name. Only runs that passed count: what a task costs when it is done wrong is another question.

    A run without events names no fault, and has no cost.
    """
    gaps: dict[Kind, list[tuple[float, bool]]] = defaultdict(list)
    seen: dict[Kind, set[str]] = defaultdict(set)
    for run in runs:
        for kind, gap, is_open in _gaps(run) if run.verdict == "PASS" else ():
            which = Kind(run.scenario, kind, run.kafka, run.config)
            gaps[which].append((gap, is_open))
            seen[which].add(run.key)
    return {
        which: Darkened(
            Sample.of([gap for gap, _ in gaps[which]], [is_open for _, is_open in gaps[which]]), len(seen[which])
        )
        for which in sorted(gaps)
    }


def _gaps(run: Run) -> Iterator[tuple[str, float, bool]]:
    """Kind of fault, seconds, whether it never closed. Where nobody said whom a fault touches, it may be anybody."""
    kinds = {fault.id: fault.kind for fault in run.faults if fault.kind}
    for row in run.recovery:
        if row.operation == "send" and row.affected is not False and row.gap_s is not None and row.fault in kinds:
            yield kinds[row.fault], row.gap_s, row.open


def costs(found: Mapping[Kind, Darkened], spreads: Mapping[tuple[object, ...], Spread]) -> list[Cost]:
    return [Cost(**which._asdict(), runs=one.runs, spread=spreads["cost", which]) for which, one in found.items()]
