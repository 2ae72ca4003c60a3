"""A partition's lag over the last minutes as one small line: from samples to the path of an SVG.

The bottom is no lag at all, so that a steady lag does not look like none. Where nothing was seen the line breaks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from lag_monitor.pages.words import duration, grouped

WIDTH, HEIGHT, EDGE = 120.0, 28.0, 2.0
MOST = 60  # points: more than that nobody sees, and a page may hold two hundred of these
GAP = 3.5  # times the usual distance between two samples

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sparkline:
    line: str
    area: str
    dot: Point | None  # the newest
    words: str

    width: float = WIDTH
    height: float = HEIGHT


def sparkline(samples: Sequence[tuple[float, float]]) -> Sparkline:
    runs = _runs(samples)
    known = [point for run in runs for point in run]
    if not known:
        return Sparkline("", "", None, "no lag seen yet")
    size = math.ceil(len(known) / MOST)
    placed = [_placed(_thinned(run, size), known) for run in runs]
    drawn = [run for run in placed if len(run) > 1]
    alone = [run[0] for run in placed[:-1] if len(run) == 1]  # between two gaps; the newest has a dot anyway
    line = " ".join([*(_path(run) for run in drawn), *(f"M{_xy(point)}h.1" for point in alone)])
    return Sparkline(line, " ".join(_under(run) for run in drawn), placed[-1][-1], _words(known))


def _runs(samples: Sequence[tuple[float, float]]) -> list[list[Point]]:
    """Cut where a sample is no number, and where far more time went by than usual."""
    times = [at for at, _ in samples if math.isfinite(at)]
    usual = median(after - before for before, after in pairwise(times)) if times[1:] else 0.0
    runs: list[list[Point]] = [[]]
    for at, lag in samples:
        if not (math.isfinite(at) and math.isfinite(lag)):
            runs.append([])
            continue
        if runs[-1] and usual > 0 and at - runs[-1][-1][0] > GAP * usual:
            runs.append([])
        runs[-1].append((at, lag))
    return [run for run in runs if run]


def _thinned(run: list[Point], size: int) -> list[Point]:
    """The greatest of every few neighbours: a peak is what is looked for. Both ends stay as they are."""
    if size < 2 or len(run) < 3:
        return run
    inner = run[1:-1]
    peaks = (max(inner[at : at + size], key=lambda point: point[1]) for at in range(0, len(inner), size))
    return [run[0], *peaks, run[-1]]


def _placed(run: list[Point], known: list[Point]) -> list[Point]:
    begin, end, top = known[0][0], known[-1][0], max(lag for _, lag in known)
    across, up = (WIDTH - 2 * EDGE) / (end - begin) if end > begin else 0.0, (HEIGHT - 2 * EDGE) / top if top > 0 else 0.0
    left = EDGE if end > begin else WIDTH - EDGE  # a single one is the newest
    return [(left + (at - begin) * across, HEIGHT - EDGE - max(0.0, lag) * up) for at, lag in run]


def _path(run: list[Point]) -> str:
    return "M" + "L".join(_xy(point) for point in run)


def _under(run: list[Point]) -> str:
    floor = HEIGHT - EDGE
    return f"{_path(run)}L{_xy((run[-1][0], floor))}L{_xy((run[0][0], floor))}Z"


def _xy(point: Point) -> str:
    return " ".join(f"{value:.1f}".removesuffix(".0") for value in point)


def _words(known: list[Point]) -> str:
    lags = [lag for _, lag in known]
    first, last, top = (grouped(round(lag)) for lag in (lags[0], lags[-1], max(lags)))
    if len(known) == 1:
        return f"lag {last}, seen once"
    return f"lag from {first} to {last} in {duration(known[-1][0] - known[0][0])}, at most {top}"
