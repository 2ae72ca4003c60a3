"""The time that is looked at: from when to when, how finely, and where its axis has marks. Pure; the time comes in."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from dashboards.variables import seconds
from kernel.errors import UsageError

MOST_POINTS = 400  # of a line, unless a step is asked for: more than a panel has pixels to show
FINEST = 2000  # points, if it is
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
SCRAPE = 15  # seconds, as Grafana assumes of a Prometheus that says nothing else
_RELATIVE = re.compile(r"(?:now)?\s*-\s*((?:\d+(?:ms|[smhdwy]))+)")
_MILLISECONDS = 1e11  # an epoch beyond the year 5138 is meant in milliseconds


@dataclass(frozen=True, slots=True)
class Window:
    start: float
    end: float
    step: int
    asked_for: float | None = None  # the end, before it was brought to a multiple of the step

    @property
    def latest(self) -> float:
        """When a single value is asked for: with a long step the last point of a line may be half an hour old."""
        return self.end if self.asked_for is None else self.asked_for

    @property
    def length(self) -> float:
        return self.end - self.start

    @property
    def points(self) -> int:
        return math.floor(self.length / self.step + 1e-6) + 1

    @property
    def rate_interval(self) -> str:
        """As Grafana chooses it: four scrapes at least, and no sample between two points is left out."""
        return f"{max(self.step + SCRAPE, 4 * SCRAPE)}s"

    def place(self, at: float) -> int:
        """Which point of a line."""
        return round((at - self.start) / self.step)

    def share(self, at: float) -> float:
        """How far along the axis, 0 to 1 within it."""
        return (at - self.start) / self.length

    def marks(self, about: int) -> list[tuple[float, str]]:
        """Round times of day (UTC) inside, with their words."""
        step = next((one for one in STEPS if one >= self.length / about), math.ceil(self.length / about / 86400) * 86400)
        first = math.ceil(self.start / step)
        times = [number * step for number in range(first, math.floor(self.end / step) + 1)]
        return [(float(at), _words(at, step, self.length)) for at in times]


def window(begin: str, end: str, *, now: float, step: int | None = None) -> Window:
    """Of what somebody wrote: `-1h`, `now`, a date, seconds since 1970."""
    start, stop = parsed(begin, now), parsed(end, now)
    if stop <= start:
        raise UsageError(f"--from {begin} is not before --to {end}: nothing lies between them.")
    chosen = step or next((one for one in STEPS if (stop - start) / one <= MOST_POINTS), STEPS[-1])
    if (stop - start) / chosen > FINEST:
        least = math.ceil((stop - start) / FINEST)
        raise UsageError(f"--step {chosen} makes {(stop - start) / chosen:.0f} points of each line: take {least} or more.")
    if chosen > stop - start:
        raise UsageError(f"--step {chosen} is longer than the {stop - start:.0f} s that are looked at.")
    return Window(
        math.floor(start / chosen) * chosen, math.floor(stop / chosen) * chosen, chosen, stop
    )  # aligned as by Grafana


def parsed(word: str, now: float) -> float:
    text = word.strip()
    if text == "now":
        return now
    if relative := _RELATIVE.fullmatch(text):
        return now - seconds(relative[1])
    try:
        number = float(text)
        at = number / 1000 if number > _MILLISECONDS else number
    except ValueError:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"{word!r} is no time: say now, -1h, 2026-11-17T09:30, or seconds since 1970.")
        at = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if not 0 <= at <= 32503680000:  # also not of NaN
        raise UsageError(f"{word!r} is no time: say now, -1h, 2026-11-17T09:30, or seconds since 1970.")
    return at


def _words(at: float, step: float, length: float) -> str:
    """A midnight that is not the only one is a date."""
    midnight = at % 86400 == 0 and (step >= 86400 or length > 86400)
    pattern = "%b %d" if midnight else "%H:%M:%S" if step < 60 else "%H:%M"
    return datetime.fromtimestamp(at, UTC).strftime(pattern)
