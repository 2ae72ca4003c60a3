"""Recovery from night to night: every run a dot, the median a line, and what the baseline calls ordinary as a band."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from spark_reports.contents import Point, Trend
from spark_reports.site.scales import Axis, day_axis, seconds_axis
from spark_reports.site.words import nights, plural, seconds

HEIGHT, TOP, FOOT, LEFT = 200, 20, 24, 46


@dataclass(frozen=True, slots=True)
class TrendChart:
    width: int
    height: int
    x: Axis
    y: Axis
    dots: list[tuple[float, float]]
    open_dots: list[tuple[float, float]]
    line: str
    band: tuple[float, float, float] | None  # top, height, median
    judged: float | None  # where the judged nights begin
    marked: list[tuple[float, float]]  # medians of the judged nights, where they are worse than before
    words: str
    left: int = LEFT
    top: int = TOP

    @property
    def floor(self) -> int:
        return self.height - FOOT

    @property
    def right(self) -> float:
        return self.x.end


def trend_chart(trend: Trend, first: date, *, worse: bool, width: int) -> TrendChart | None:
    """None where no night has a value. `first` is the first of the judged nights."""
    points = [point for point in trend.points if point.values or point.open_values]
    if not points:
        return None
    x = day_axis([point.date for point in trend.points], LEFT, width - 10)
    values = [value for point in points for value in (*point.values, *point.open_values)]
    values += [trend.baseline.low_s, trend.baseline.high_s] if trend.baseline else []
    y = seconds_axis(values, HEIGHT - FOOT, TOP, about=4)
    medians = [_median(point, x, y) for point in points]
    return TrendChart(
        width,
        HEIGHT,
        x,
        y,
        dots=_spread([(point, point.values) for point in points], x, y),
        open_dots=_spread([(point, point.open_values) for point in points], x, y),
        line=path(medians),
        band=_band(trend, y),
        judged=x.at(first.toordinal() - 0.5) if x.low <= first.toordinal() <= x.high else None,
        marked=[m for point, m in zip(points, medians, strict=True) if worse and m and point.date >= first],
        words=told(trend),
    )


def told(trend: Trend) -> str:
    """The picture in a sentence, for those who do not see it."""
    points = trend.points
    if not points:
        return "No night has a value."
    runs, never = sum(point.n for point in points), sum(len(point.open_values) for point in points)
    words = f"{plural(runs, 'run')} in the nights {nights(points[0].date, points[-1].date)}"
    words += f"; in {plural(never, 'run')} it never ended" if never else ""
    if trend.spread.median_s is not None:
        words += f"; the median of the judged nights is {seconds(trend.spread.median_s)}"
    if trend.baseline:
        band = trend.baseline
        words += (
            f"; the baseline's is {seconds(band.median_s)}, its middle 90 % {seconds(band.low_s)} to {seconds(band.high_s)}"
        )
    return words + "."


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """A line through the points; None lifts the pen, and a point between two Nones is a dot."""
    data, run = [], 0
    for point in [*points, None]:
        if point is None:
            data += ["h0"] if run == 1 else []
        else:
            data.append(f"{'L' if run else 'M'}{point[0]:.1f} {point[1]:.1f}")
        run = 0 if point is None else run + 1
    return "".join(data)


def _median(point: Point, x: Axis, y: Axis) -> tuple[float, float] | None:
    return None if point.median_s is None else (x.at(point.date.toordinal()), y.at(point.median_s))


def _spread(nightly: list[tuple[Point, list[float]]], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """Runs of one night stand side by side, as far as the night has room."""
    night = (x.end - x.begin) / max(x.high - x.low, 1.0)
    dots = []
    for point, values in nightly:
        step = min(6.0, 0.7 * night / max(1, len(values)))
        for number, value in enumerate(values):
            dots.append((x.at(point.date.toordinal()) + (number - (len(values) - 1) / 2) * step, y.at(value)))
    return dots


def _band(trend: Trend, y: Axis) -> tuple[float, float, float] | None:
    band = trend.baseline
    if band is None:
        return None
    top, floor = y.at(band.high_s), y.at(band.low_s)
    return top, max(floor - top, 1.5), y.at(band.median_s)
