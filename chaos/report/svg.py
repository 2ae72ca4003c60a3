"""Drawing by hand: numbers in, markup out. Everything that comes from a run is escaped on its way in.

Colours are CSS classes and no style attribute is written, so that the page can forbid every style but its own.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Scale = Callable[[float], float]


def el(name: str, content: object = "", /, **attributes: object) -> Markup:
    """`class_` and `font_size` become `class` and `font-size`; a value of None is left out."""
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


def _number(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def fitted(text: str, room: float, *, letter: float = 6.6) -> str:
    """The text if it fits, else its two ends: a partition's number stands last and must stay."""
    most = max(int(room / letter), 5)
    return text if len(text) <= most else f"{text[: (most - 1) // 2]}…{text[-(most // 2) :]}"


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """A line through the points; None lifts the pen. A point between two Nones is a dot."""
    data, run = [], 0
    for point in [*points, None]:
        if point is None:
            data += ["h0"] if run == 1 else []
        else:
            data.append(f"{'L' if run else 'M'}{point[0]:.1f} {point[1]:.1f}")
        run = 0 if point is None else run + 1
    return "".join(data)


def steps(points: Sequence[tuple[float, float] | None]) -> list[tuple[float, float] | None]:
    """Level until the next value: a position does not climb between two records."""
    drawn: list[tuple[float, float] | None] = []
    for point in points:
        if point is not None and drawn and drawn[-1] is not None:
            drawn.append((point[0], drawn[-1][1]))
        drawn.append(point)
    return drawn


def area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]]) -> str:
    return path([*upper, *reversed(lower)]) + "Z" if upper and lower else ""


def linear(low: float, high: float, begin: float, end: float) -> Scale:
    length = (high - low) or 1.0
    return lambda value: begin + (value - low) / length * (end - begin)


def logarithmic(low: float, high: float, begin: float, end: float) -> Scale:
    inner = linear(math.log10(low), math.log10(high), begin, end)
    return lambda value: inner(math.log10(max(value, low)))


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers, some `about` of them, inside the range."""
    raw = (high - low) / max(1, about) or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    steps = [factor * power for factor in (1, 2, 5, 10)]
    step = next(step for step in steps if step >= raw * 0.999)
    if step > high - low:  # one mark alone says nothing
        step = max((smaller for smaller in steps if smaller <= high - low), default=step)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten inside the range; with their doubles and halves where there are too few to read it by."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        marks = [factor * 10.0**power for power in powers for factor in factors]
        inside = [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]
        if len(inside) > 2:
            break
    return inside


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart lies in its picture. All charts of one width share left and right, so one moment is one vertical."""

    width: int
    height: int
    seconds: float
    top: int = 10
    foot: int = 22
    telephone: bool = False

    @property
    def left(self) -> int:
        return 44 if self.width < 600 else 62

    @property
    def right(self) -> int:
        return self.width - (6 if self.width < 600 else 12)

    @property
    def floor(self) -> int:
        return self.height - self.foot

    @property
    def x(self) -> Scale:
        return linear(0.0, self.seconds, self.left, self.right)

    def picture(self, parts: Iterable[Markup], *, name: str, words: str) -> Markup:
        return el(
            "svg",
            joined(parts),
            class_="chart narrow" if self.telephone else "chart wide",
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            tabindex=0,
            aria_label=f"{name}. {words}",
            data_left=self.left,
            data_right=self.right,
            data_top=self.top,
            data_floor=self.floor,
            data_seconds=round(self.seconds, 3),
        )

    def time_axis(self) -> Markup:
        marks = ticks(0.0, self.seconds, self.width // 80)
        parts = [el("line", class_="axis", x1=self.left, x2=self.right, y1=self.floor, y2=self.floor)]
        for mark in marks:
            x = self.x(mark)
            parts.append(el("line", class_="axis", x1=x, x2=x, y1=self.floor, y2=self.floor + 4))
            anchor = "end" if x > self.right - 12 else "middle"
            parts.append(el("text", f"{mark:g} s", class_="tick", x=x, y=self.floor + 16, text_anchor=anchor))
        return joined(parts)

    def level(self, y: float, label: str) -> Markup:
        line = el("line", class_="grid", x1=self.left, x2=self.right, y1=y, y2=y)
        return line + el("text", label, class_="tick", x=self.left - 6, y=y + 4, text_anchor="end")
