"""Recovery night by night, beside what the baseline says is ordinary."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from spark_reports.contents import Band, Operation, Point, Run, Spread, Trend
from spark_reports.nightly.compare import Match
from spark_reports.nightly.samples import recovery_sample
from spark_reports.nightly.statistics import Sample

MIDDLE = (0.05, 0.95)


def trend(match: Match, operation: Operation, spread: Spread) -> Trend | None:
    """None if nothing had to recover."""
    own = [
        run for run in match.before if run.kafka == match.group.kafka
    ]  # another version's nights are no trend of this one
    points = _points([*own, *match.now], operation)
    if not points:
        return None
    return Trend(
        kafka=match.group.kafka,
        config=match.group.config,
        operation=operation,
        points=points,
        baseline=band(recovery_sample(match.before, operation)),
        spread=spread,
    )


def band(sample: Sample) -> Band | None:
    """Open values count with what was seen of them: the band is what is ordinary, and is no narrower in truth."""
    ordered = sorted(sample.values)
    if not ordered:
        return None
    low, high = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in MIDDLE)
    return Band(median_s=sample.median_at_least() or 0.0, low_s=low, high_s=high, n=len(ordered))


def _points(runs: Sequence[Run], operation: Operation) -> list[Point]:
    nights: dict[date, list[Run]] = defaultdict(list)
    for run in runs:
        nights[run.date].append(run)
    points = []
    for night, ran in sorted(nights.items()):
        sample = recovery_sample(ran, operation)
        if len(sample):
            pairs = list(zip(sample.values, sample.open, strict=True))
            points.append(
                Point(
                    date=night,
                    n=len(sample),
                    median_s=sample.median_at_most(),
                    values=[value for value, is_open in pairs if not is_open],
                    open_values=[value for value, is_open in pairs if is_open],
                )
            )
    return points
