"""From figures to places in a picture: axes with round marks, and dots that do not hide one another."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise

from spark_reports.site.words import day, mark

LETTER, LINE = 6.2, 15.0  # how wide a letter of a mark is, and how high
SHORTEST = 1e-4  # seconds; what is shorter is drawn as nothing
WIDE = 25.0  # more than so many times the smallest: a linear axis would press the small ones flat


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False
    ticks: list[Tick] = field(default_factory=list)

    def at(self, value: float) -> float:
        if self.logarithmic:
            inside = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            inside = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(inside, 0.0), 1.0) * (self.end - self.begin)


def seconds_axis(values: Iterable[float], begin: float, end: float, *, about: int = 5) -> Axis:
    """From zero, or in powers of ten where the values span more than `WIDE` times the smallest."""
    known = [value for value in values if math.isfinite(value) and value >= 0]
    above = [value for value in known if value >= SHORTEST]
    if not above:
        return _linear(1.0, begin, end, about)
    low, high = min(above), max(above)
    return _powers(low, high, begin, end) if high > WIDE * low else _linear(high, begin, end, about)


def _linear(high: float, begin: float, end: float, about: int) -> Axis:
    step = _step(high / max(1, about))
    top = step * max(1, math.ceil(high / step - 1e-9))
    bare = Axis(0.0, top, begin, end)
    values = [step * number for number in range(round(top / step) + 1)]
    return Axis(0.0, top, begin, end, False, [Tick(bare.at(value), _zero(value)) for value in values])


def _powers(low: float, high: float, begin: float, end: float) -> Axis:
    """With as many marks as can be read side by side; the powers of ten themselves are always among them."""
    below = max((one for one in _marks((1, 2, 5)) if one <= low), default=SHORTEST)
    above = min((one for one in _marks((1, 2, 5)) if one >= high), default=1e7)
    bare = Axis(below, above, begin, end, True)
    ticks: list[Tick] = []
    for factors in ((1, 2, 5), (1, 3), (1,)):
        inside = [one for one in _marks(factors) if below <= one <= above]
        ticks = [Tick(bare.at(one), mark(float(f"{one:.6g}"))) for one in inside]
        if _apart(ticks, upright=begin > end):
            break
    return Axis(below, above, begin, end, True, ticks)


def _marks(factors: Sequence[int]) -> list[float]:
    return [float(f"{factor}e{power}") for power in range(-4, 8) for factor in factors]


def _apart(ticks: Sequence[Tick], *, upright: bool) -> bool:
    return all(
        abs(after.at - before.at) >= (LINE if upright else (len(before.label) + len(after.label)) / 2 * LETTER + 6)
        for before, after in pairwise(ticks)
    )


def plain_axis(high: float, begin: float, end: float, *, about: int = 3) -> Axis:
    """Counts: `2k` rather than `2000`."""
    bare = _linear(max(high, 1.0), begin, end, about)
    steps = len(bare.ticks) - 1
    values = [bare.high * number / steps for number in range(steps + 1)]
    return Axis(0.0, bare.high, begin, end, False, [Tick(bare.at(value), _short(value)) for value in values])


def time_axis(length: float, begin: float, end: float, *, about: int) -> Axis:
    """Ends where the run ended, not at the next round number."""
    length = length if length > 0 else 1.0
    bare = Axis(0.0, length, begin, end)
    step = _step(length / max(1, about))
    values = [step * number for number in range(math.floor(length / step + 1e-9) + 1)]
    return Axis(0.0, length, begin, end, False, [Tick(bare.at(value), _zero(value)) for value in values])


def day_axis(days: Sequence[date], begin: float, end: float, *, room: float = 52.0) -> Axis:
    """Days as numbers, half a day of air on either side; as many are named as there is room for."""
    first, last = min(days), max(days)
    bare = Axis(first.toordinal() - 0.5, last.toordinal() + 0.5, begin, end)
    count = (last - first).days + 1
    every = max(1, math.ceil(count * room / max(end - begin, 1.0)))
    named = [last - timedelta(days=back) for back in range(0, count, every)]
    ticks = [Tick(bare.at(one.toordinal()), day(one)) for one in reversed(named)]
    return Axis(bare.low, bare.high, begin, end, False, ticks)


def swarm(places: Sequence[float], room: float, *, size: float = 6.0) -> list[float]:
    """How far each dot moves off the middle: those at one place are stacked around it, within `room` on either side."""
    piles: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        piles.setdefault(round(place / size), []).append(number)
    moved = [0.0] * len(places)
    for pile in piles.values():
        step = min(size * 0.9, 2 * room / max(1, len(pile) - 1))
        for height, number in enumerate(pile):
            moved[number] = (height - (len(pile) - 1) / 2) * step
    return moved


def _step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999), 10 * power)


def _zero(value: float) -> str:
    return "0 s" if value == 0 else mark(float(f"{value:.6g}"))


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
