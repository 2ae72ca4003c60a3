"""How high a plot reaches, and where its axis has marks: round numbers of whatever the unit is counted in. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.preview.units import DAY, HOUR, MINUTE, distinct

CLOCK = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
OF_SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY}
BINARY = ("bytes", "kbytes", "mbytes", "gbytes", "bits", "binBps", "binbps")
MARKS = 5  # about
NEAR = 3.0  # a threshold this many times as high as the highest value still belongs into the picture


@dataclass(frozen=True, slots=True)
class Axis:
    low: float
    high: float
    marks: tuple[tuple[float, str], ...]


def axis(
    values: Sequence[float],
    unit: str,
    *,
    least: float | None = None,
    most: float | None = None,
    thresholds: Sequence[float] = (),
    from_zero: bool = False,
    now: float = 0.0,
) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    whole = all(value == int(value) for value in values if abs(value) < 1e15)
    near = [one for one in thresholds if (low <= one <= high) or 0 < one <= NEAR * high]
    high = max([high, *near])
    # Level lines and those that come near to nothing are seen from nothing; others would lose their shape.
    if low > 0 and (from_zero or near or low == high or low < 0.6 * high):
        low = 0.0
    if high < 0 and (from_zero or low == high):
        high = 0.0
    if low == high:
        low, high = (0.0, 1.0) if low == 0 else (low - abs(low) / 2, high + abs(high) / 2)
    low, high = low if least is None else min(least, high), high if most is None else max(most, low)
    if low == high:
        high = low + 1.0
    step = _step(high - low, unit, whole)
    if least is None:
        low = math.floor(low / step + 1e-9) * step
    if most is None:
        high = math.ceil(high / step - 1e-9) * step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    marks = [number * step for number in range(first, last + 1)]
    return Axis(low, high, tuple(zip(marks, distinct(marks, unit, now=now), strict=True)))


def _step(length: float, unit: str, whole: bool) -> float:
    raw = length / MARKS
    if unit in OF_SECONDS and raw * OF_SECONDS[unit] >= 1:
        clock = next((one for one in CLOCK if one >= raw * OF_SECONDS[unit] * 0.999), None)
        return (clock or math.ceil(raw * OF_SECONDS[unit] / DAY) * DAY) / OF_SECONDS[unit]
    if unit in BINARY and raw >= 1:
        return float(2 ** math.ceil(math.log2(raw * 0.999)))
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    return max(1.0, step) if whole and length >= 1 and unit not in ("percentunit", *OF_SECONDS) else step
