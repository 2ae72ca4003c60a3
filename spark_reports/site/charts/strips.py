"""How recovery times spread: a strip of dots for each version and configuration, one dot per run, on one axis."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from spark_reports.contents import Band, Run, Spread
from spark_reports.site.scales import Axis, seconds_axis, swarm
from spark_reports.site.words import plural, seconds

LINKED = 400  # beyond so many dots in one strip nobody can hit one: they are drawn as one path, without links
HALF = 11.0  # of a strip's height


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    open: bool
    href: str | None
    words: str


@dataclass(frozen=True, slots=True)
class Strip:
    dots: list[Dot]
    median: float | None
    interval: tuple[float, float] | None  # begin and width
    p95: float | None
    band: tuple[float, float] | None  # what the baseline calls ordinary: begin and width
    words: str

    @property
    def linked(self) -> bool:
        return len(self.dots) <= LINKED


def recovery_axis(
    runs: Iterable[Run], spreads: Iterable[Spread | None], begin: float, end: float, *, about: int = 4
) -> Axis:
    """One for all strips of a page, so that they can be compared by eye."""
    values = [run.recovery_s for run in runs if run.recovery_s is not None]
    for spread in spreads:
        if spread is not None:
            values += [one for one in (spread.median_high_s, spread.p95_s, spread.worst_s) if one is not None]
    return seconds_axis(values, begin, end, about=about)


def strip(
    runs: Sequence[Run],
    spread: Spread | None,
    axis: Axis,
    href: Callable[[str], str | None],
    middle: float,
    *,
    half: float = HALF,
    baseline: Band | None = None,
) -> Strip:
    measured = [run for run in runs if run.recovery_s is not None]
    places = [axis.at(run.recovery_s or 0.0) for run in measured]
    moved = swarm(places, half)
    dots = [
        Dot(place, middle + off, run.recovery_open, href(run.key), _said(run))
        for run, place, off in zip(measured, places, moved, strict=True)
    ]
    band = None if baseline is None else _extent(baseline.low_s, baseline.high_s, axis)
    if spread is None:
        return Strip(dots, None, None, None, band, _told(measured, None))
    middle_x = None if spread.median_s is None else axis.at(spread.median_s)
    p95_x = None if spread.p95_s is None else axis.at(spread.p95_s)
    return Strip(dots, middle_x, _interval(spread, axis), p95_x, band, _told(measured, spread))


def _interval(spread: Spread, axis: Axis) -> tuple[float, float] | None:
    """To the axis' end where the upper bound never ended."""
    if spread.median_low_s is None:
        return None
    return _extent(spread.median_low_s, spread.median_high_s, axis)


def _extent(low: float, high: float | None, axis: Axis) -> tuple[float, float]:
    begin, end = axis.at(low), axis.end if high is None else axis.at(high)
    return begin, max(end - begin, 1.0)


def _said(run: Run) -> str:
    return f"{run.date.isoformat()} {run.run_id}: {seconds(run.recovery_s, open=run.recovery_open)}, {run.verdict}"


def _told(runs: Sequence[Run], spread: Spread | None) -> str:
    if not runs:
        return "No run has a measured recovery."
    values = [run.recovery_s or 0.0 for run in runs]
    ended = len(runs) - sum(run.recovery_open for run in runs)
    words = f"{plural(len(runs), 'run')} between {seconds(min(values))} and {seconds(max(values))}"
    words += "" if ended == len(runs) else f", {len(runs) - ended} of them never recovered"
    return words + (f"; the median is {seconds(spread.median_s)}." if spread and spread.median_s is not None else ".")
