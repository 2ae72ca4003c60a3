"""Latencies in bins that grow by the square root of two: coarse, exact to add up, and small enough to travel."""

from collections.abc import Mapping

PER_OCTAVE = 2
LOWEST = -4  # octaves from a millisecond: 62 µs
HIGHEST = 24  # 4.7 hours
BINS = (HIGHEST - LOWEST) * PER_OCTAVE


def upper_seconds(place: int) -> float:
    """Where a bin ends."""
    return float(2 ** ((place + 1) / PER_OCTAVE + LOWEST) / 1000)


def quantile(bins: Mapping[int, int], share: float) -> float | None:
    """In seconds, at most 41 % above the true one; None of nothing."""
    total = sum(bins.values())
    below = 0
    for place in sorted(bins):
        below += bins[place]
        if below >= share * total and total:
            return upper_seconds(place)
    return None
