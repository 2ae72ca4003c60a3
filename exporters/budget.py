"""At most so many series for a node: what matters most is kept, and what was left out is counted. Pure."""

from collections.abc import Iterable

from exporters.translate import Family, Labels, Sample


def within(families: Iterable[Family], most: int) -> tuple[list[Family], int]:
    """Families come in the order of their worth. Returns what fits, and how many series did not."""
    kept: list[Family] = []
    left, dropped = most, 0
    for family in families:
        fits = _fitting(family.samples, left)
        if fits:
            kept.append(Family(family.metric, fits))
        left -= len(fits)
        dropped += len(family.samples) - len(fits)
    return kept, dropped


def _fitting(samples: list[Sample], room: int) -> list[Sample]:
    """The first in the order of their labels, so that the same ones are kept every time. The series of one summary or
    histogram stay together: half of one is wrong."""
    if len(samples) <= room:
        return samples
    together: dict[Labels, list[Sample]] = {}
    for sample in samples:
        together.setdefault(tuple(pair for pair in sample[1] if pair[0] not in ("quantile", "le")), []).append(sample)
    fits: list[Sample] = []
    for _, group in sorted(together.items()):
        if len(fits) + len(group) > room:
            break
        fits += group
    return fits
