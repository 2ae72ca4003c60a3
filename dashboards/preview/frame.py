"""What stands around and behind a plot: its axes, its round times of day, and what happened meanwhile. Pure."""

from collections.abc import Iterator

from markupsafe import Markup

from dashboards.preview.axis import Axis
from dashboards.preview.svg import HIGH, WIDE, el, joined, linear, percent, title
from dashboards.preview.values import Scene
from dashboards.preview.window import Window


def framed(picture: Markup, left: Axis | None, right: Axis | None, window: Window) -> Markup:
    """A plot between its axes."""
    parts = [_scale(left, "end") if left else Markup(""), picture, _scale(right, "start") if right else Markup("")]
    letters = max((len(words) for one in (left, right) if one for _, words in one.marks), default=1)
    sides = ("l" if left else "") + ("r" if right else "")
    return el("div", joined([*parts, times(window)]), class_=f"chart {sides} g{min(letters, 14)}")


def times(window: Window) -> Markup:
    """Round times of day below a plot; every second one is left out where there is little room."""
    marks = []
    for place, (at, words) in enumerate(window.marks(8)):
        share = window.share(at)
        anchor = "start" if share < 0.03 else "end" if share > 0.97 else "middle"
        look = f"tick t{place % 4}"
        marks.append(el("text", words, class_=look, x=percent(share), y=12, text_anchor=anchor))
    return el("svg", joined(marks), class_="times", aria_hidden="true")


def regions(scene: Scene) -> Iterator[Markup]:
    """What happened in the window, as far as it lies in it."""
    for one in scene.regions:
        begin = scene.window.share(one.start_ms / 1000)
        end = begin if one.end_ms is None else scene.window.share(one.end_ms / 1000)
        if end < 0 or begin > 1:
            continue
        x = round(max(begin, 0) * WIDE)
        if one.end_ms is not None:
            wide = max(1, round(min(end, 1) * WIDE) - x)
            yield el("rect", title(one.text), class_="fault", x=x, y=0, width=wide, height=HIGH)
        if begin >= 0:
            look = "fault-edge" if one.end_ms is not None else "moment"
            yield el("line", title(one.text), class_=look, x1=x, x2=x, y1=0, y2=HIGH)


def levels(one: Axis | None) -> list[Markup]:
    if one is None:
        return []
    y = linear(one.low, one.high, HIGH, 0)
    return [el("line", class_="grid", x1=0, x2=WIDE, y1=round(y(mark)), y2=round(y(mark))) for mark, _ in one.marks]


def _scale(one: Axis, anchor: str) -> Markup:
    y = linear(one.low, one.high, 1, 0)
    x = "100%" if anchor == "end" else "0%"
    marks = [
        el("text", words, class_="tick", x=x, y=percent(y(mark)), dy="0.32em", text_anchor=anchor)
        for mark, words in one.marks
    ]
    return el("svg", joined(marks), class_=f"scale {'left' if anchor == 'end' else 'right'}", aria_hidden="true")
