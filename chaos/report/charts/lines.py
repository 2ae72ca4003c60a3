"""Figures over time: how much was acknowledged, how long it took."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from chaos.report.charts.backdrop import Backdrop
from chaos.report.svg import Frame, Scale, decades, el, joined, linear, logarithmic, path, ticks
from chaos.report.words import seconds

BURST = 2.0  # times what is usual: what lies above is cut
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Series:
    name: str  # also says how it looks: see the page's style sheet
    label: str
    values: Values  # one per bucket; None where there is none


@dataclass(frozen=True, slots=True)
class Axis:
    scale: Scale
    marks: list[tuple[float, str]]


def throughput(series: Sequence[Series], frame: Frame, backdrop: Backdrop, *, width_s: float, words: str) -> Markup:
    top = ceiling(series) * 1.05
    scale = linear(0.0, top, frame.floor, frame.top + 4)
    axis = Axis(lambda value: scale(min(value, top)), [(mark, short(mark)) for mark in ticks(0.0, top, 4)])
    parts = [backdrop.strip(frame), _drawn(series, frame, backdrop, axis, width_s)]
    return frame.picture(parts, name="Records per second over time", words=words)


def latency(series: Sequence[Series], frame: Frame, backdrop: Backdrop, *, width_s: float, words: str) -> Markup:
    """Logarithmic: a fault makes it a thousand times longer, and the calm before it should still be seen."""
    known = [value for one in series if one.name != "delay" for value in one.values if value]  # a delay is often nothing
    low, high = min(known, default=0.001), max(known, default=1.0)
    low, high = max(low / 1.5, 1e-5), max(high * 1.3, low * 10)
    scale = logarithmic(low, high, frame.floor, frame.top + 4)
    axis = Axis(scale, [(mark, _time_label(mark)) for mark in decades(low, high)])
    return frame.picture([_drawn(series, frame, backdrop, axis, width_s)], name="Latency over time", words=words)


def ceiling(series: Sequence[Series]) -> float:
    """How high the axis goes. A burst that catches up may be cut off, so that the rest of the run is not flat."""
    known = sorted(value for one in series for value in one.values if value)
    if not known:
        return 1.0
    usual = known[int(len(known) * 0.95) - 1 if len(known) > 1 else 0]
    return known[-1] if known[-1] <= BURST * 1.5 * usual else BURST * usual


def _drawn(series: Sequence[Series], frame: Frame, backdrop: Backdrop, axis: Axis, width_s: float) -> Markup:
    levels = [frame.level(axis.scale(mark), label) for mark, label in axis.marks]
    lines = [el("path", class_=f"line {one.name}", d=_data(one.values, frame, axis.scale, width_s)) for one in series]
    return joined([backdrop.drawn(frame), *levels, *lines, frame.time_axis()])


def _data(values: Values, frame: Frame, scale: Scale, width_s: float) -> str:
    middle = [(number + 0.5) * width_s for number in range(len(values))]
    return path(
        [
            None if value is None else (frame.x(min(when, frame.seconds)), scale(value))
            for when, value in zip(middle, values, strict=True)
        ]
    )


def short(value: float) -> str:
    """1200 → 1.2k, 3400000 → 3.4M: room for an axis label is scarce."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _time_label(value: float) -> str:
    return seconds(value).replace(".0 s", " s") if value >= 0.001 else f"{value * 1e6:.0f} µs"
