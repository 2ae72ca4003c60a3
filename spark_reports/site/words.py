"""Figures in words, the same on every page and in the Markdown summary: seconds, shares, spreads, verdicts."""

import math
import re
from datetime import date, datetime

from spark_reports.contents import Spread

WITHOUT = {"send": "without an acknowledgement", "poll": "without a read"}
# Control characters, halves of letters, and marks that turn the direction of writing: a file name must not reorder a page.
STRANGE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LARGE, MEDIUM, SMALL = 0.474, 0.33, 0.147  # Cliff's delta after Romano et al.


def clean(text: str) -> str:
    return STRANGE.sub("\ufffd", text)


def cut(text: str, most: int = 400) -> str:
    """A sentence of a foreign file may be a novel; report.json has all of it."""
    return text if len(text) <= most else f"{text[:most].rstrip()}…"


def seconds(value: float | None, *, open: bool = False) -> str:  # noqa: A002  (the report's word for it)
    """`≥` because a gap that never closed is only known to be at least so long."""
    if value is None:
        return "–"
    words = _long(value) if abs(value) >= 0.9995 or value == 0 else f"{value * 1000:.0f} ms"
    return f"≥ {words}" if open else words


def _long(value: float) -> str:
    if abs(value) >= 599.5:
        return f"{value / 60:.1f} min"
    return f"{value:.1f} s" if abs(value) < 99.95 else f"{value:.0f} s"


def mark(value: float) -> str:
    """A value at an axis: round already, so without zeros."""
    return f"{value * 1000:g} ms" if 0 < abs(value) < 1 else f"{value:g} s"


def share(value: float | None) -> str:
    """Rounded down: 99.996 % must not read as if nothing had happened."""
    if value is None:
        return "–"
    return f"{math.floor(value * 10_000 + 1e-9) / 100:.2f}\u202f%" if value < 1 else "100\u202f%"


def grouped(number: int | None) -> str:
    return "–" if number is None else f"{number:,}".replace(",", "\u202f")


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{grouped(number)} {noun if number == 1 else nouns or noun + 's'}"


def median(spread: Spread | None) -> str:
    """Where most never ended there is no median, and that is said."""
    if spread is None or spread.n == 0:
        return "–"
    return "never ended" if spread.median_s is None else seconds(spread.median_s)


def interval(spread: Spread | None) -> str:
    """Of the median; nothing where it adds nothing."""
    if spread is None or spread.median_low_s is None or spread.n == 0:
        return ""
    low, high = seconds(spread.median_low_s), seconds(spread.median_high_s) if spread.median_high_s is not None else "never"
    if low == high == median(spread):
        return ""
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def p95(spread: Spread | None) -> str:
    if spread is None or spread.n == 0:
        return "–"
    return seconds(spread.p95_s) if spread.p95_s is not None else "never ended"


def worst(spread: Spread | None) -> str:
    return "–" if spread is None else seconds(spread.worst_s, open=spread.worst_open)


def chance(p_value: float | None) -> str:
    if p_value is None:
        return "–"
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def effect(delta: float | None) -> str:
    if delta is None:
        return "–"
    size = abs(delta)
    word = "large" if size >= LARGE else "medium" if size >= MEDIUM else "small" if size >= SMALL else "negligible"
    return f"{delta:+.2f}, {word}".replace("-", "−")


def day(when: date) -> str:
    return f"{when.day} {when:%b}"


def moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def nights(first: date, last: date) -> str:
    return first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"
