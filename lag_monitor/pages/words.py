"""Figures and times as people read them, and times as programs do."""

import math
from datetime import UTC, datetime

from lag_monitor.verdict import Status

NONE = "–"
THIN = "\u202f"  # between thousands: narrow, and no place to break a line
STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def grouped(number: int | None) -> str:
    return NONE if number is None else f"{number:,}".replace(",", THIN)


def duration(seconds: float | None) -> str:
    """The two greatest units, as in `3 min 20 s`; clocks that differ may make it less than nothing."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if 0 < seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = max(0, round(seconds))
    for place, (size, unit) in enumerate(STEPS[:-1]):
        if whole >= size:
            smaller, word = STEPS[place + 1]
            rest = whole % size // smaller
            return f"{grouped(whole // size)} {unit} {rest} {word}" if rest else f"{grouped(whole // size)} {unit}"
    return f"{whole} s"


def ago(then: float | None, now: float) -> str:
    """One unit is enough to know how long; the absolute time stands beside it."""
    if then is None or not math.isfinite(then):
        return NONE
    gone = max(0.0, now - then)
    size, unit = next(((size, unit) for size, unit in STEPS if gone >= size), (1, "s"))
    return "just now" if gone < 1 else f"{grouped(int(gone // size))} {unit} ago"


def absolute(at: float | None) -> str:
    known = _moment(at)
    return f"{known:%Y-%m-%d %H:%M:%S} UTC" if known else "not known"


def iso(at: float | None) -> str | None:
    """ISO 8601 in UTC to the millisecond; None for what is no time."""
    known = _moment(at)
    return known.isoformat(timespec="milliseconds").replace("+00:00", "Z") if known else None


def clean(text: object) -> str:
    """Without characters that cannot be seen: one that turns the direction of writing can make a name look like another."""
    return "".join(_visible(letter) for letter in str(text))


def word(status: Status) -> str:
    return (
        "OK"
        if status is Status.OK
        else "behind SLO"
        if status is Status.BEHIND_SLO
        else status.name.lower().replace("_", " ")
    )


def plural(number: int, noun: str) -> str:
    return f"{grouped(number)} {noun}" if number == 1 else f"{grouped(number)} {noun}s"


def _visible(letter: str) -> str:
    if letter.isprintable() or letter == THIN:
        return letter
    return " " if letter.isspace() else "\ufffd"


def _moment(at: float | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(at, UTC) if at is not None else None
    except (ValueError, OverflowError, OSError):  # NaN, or beyond the years that a calendar has
        return None
