"""What each kind of fault and each operation cost: how long every partition that it touched went unacknowledged."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spark_reports.contents import Cost, Run, Spread
from spark_reports.nightly.statistics import Sample


class Kind(NamedTuple):
    scenario: str
    kind: str
    kafka: str


class Darkened(NamedTuple):
    """The gaps of all partitions that one kind of fault touched, and the runs they come from."""

    sample: Sample
    runs: int


def darkened(runs: Iterable[Run]) -> dict[Kind, Darkened]:
    """In order of name. A run without events names no fault, and has no cost."""
    gaps: dict[Kind, list[tuple[float, bool]]] = defaultdict(list)
    seen: dict[Kind, set[str]] = defaultdict(set)
    for run in runs:
        kinds = {fault.id: fault.kind for fault in run.faults if fault.kind}
        for row in run.recovery:
            if row.operation == "send" and row.affected and row.gap_s is not None and row.fault in kinds:
                which = Kind(run.scenario, kinds[row.fault], run.kafka)
                gaps[which].append((row.gap_s, row.open))
                seen[which].add(run.key)
    return {
        which: Darkened(
            Sample.of([gap for gap, _ in gaps[which]], [is_open for _, is_open in gaps[which]]), len(seen[which])
        )
        for which in sorted(gaps)
    }


def costs(found: Mapping[Kind, Darkened], spreads: Mapping[tuple[object, ...], Spread]) -> list[Cost]:
    return [
        Cost(kind=which.kind, scenario=which.scenario, kafka=which.kafka, runs=one.runs, spread=spreads["cost", which])
        for which, one in found.items()
    ]
