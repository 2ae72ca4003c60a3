"""Drawing by hand: numbers in, markup out, everything escaped on its way in.

Plots are drawn in a box of fixed size that the page stretches over whatever room there is; words stand outside of it and
are as large on a telephone as on a desk. Colours are classes, and no style attribute is written: the policy forbids it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from markupsafe import Markup, escape

WIDE, HIGH = 2000, 1000  # of the box
Point = tuple[int, int] | None
Scale = Callable[[float], float]
Anything = TypeVar("Anything")


def el(name: str, content: object = "", /, **attributes: object) -> Markup:
    """`class_` and `text_anchor` become `class` and `text-anchor`; a value of None is left out."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _number(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, content)


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def title(text: object) -> Markup:
    """Shown by the browser where one points, without a script."""
    return el("title", escape(text))


def plot(parts: Iterable[Markup], words: str, **attributes: object) -> Markup:
    box = {"class_": "plot", "viewBox": f"0 0 {WIDE} {HIGH}", "preserveAspectRatio": "none", "role": "img"}
    return el("svg", joined(parts), **box | {"aria_label": words} | attributes)


def percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def path(points: Sequence[Point]) -> str:
    """A line through the points; None lifts the pen. One alone is a dot; the middle of a straight level is left out."""
    data: list[str] = []
    for run in runs(points):
        kept = [point for place, point in enumerate(run) if not _level(run, place)]
        data += [f"{'L' if place else 'M'}{x} {y}" for place, (x, y) in enumerate(kept)]
        data += ["h0"] if len(kept) == 1 else []
    return "".join(data)


def area(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Between two lines that have their points at the same places. What stands alone has no breadth to fill."""
    data = []
    places = [
        None if one is None or two is None else place for place, (one, two) in enumerate(zip(upper, lower, strict=True))
    ]
    for run in runs(places):
        if len(run) > 1:
            above, below = [upper[place] for place in run], [lower[place] for place in reversed(run)]
            data.append(path(above) + "L" + path(below).removeprefix("M") + "Z")
    return "".join(data)


def runs(points: Sequence[Anything | None]) -> list[list[Anything]]:
    """The stretches without a gap."""
    found: list[list[Anything]] = [[]]
    for point in points:
        if point is None:
            found.append([])
        else:
            found[-1].append(point)
    return [run for run in found if run]


def linear(low: float, high: float, begin: float, end: float) -> Scale:
    length = (high - low) or 1.0
    return lambda value: begin + (value - low) / length * (end - begin)


def _level(run: Sequence[tuple[int, int]], place: int) -> bool:
    return 0 < place < len(run) - 1 and run[place - 1][1] == run[place][1] == run[place + 1][1]


def _number(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) and math.isfinite(value) else value
