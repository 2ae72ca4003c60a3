"""Did it get slower, or was it chance? Two samples of durations compared, some of which never ended.

A duration that never ended is only known to be longer than what was seen of it. Where it cannot be said which of two is
longer, the pair counts for neither (Gehan's generalised Wilcoxon test). The p-value comes from shuffling the runs between
the sides, so it needs no assumption about the shape of the noise; every p-value is for "now is longer than before".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EXACT = 20_000  # shuffles up to which all of them are tried
SHUFFLES = 9_999
MANY = 400  # runs beyond which the normal distribution is as good as any number of shuffles
FEWEST = 4  # runs on each side
LEVEL = 0.05
LARGE = 0.474  # Cliff's delta that is called large: three of four pairs or so
RATIO = 1.2


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of one side; `open` ones are longer than their value says."""

    values: tuple[float, ...]
    open: tuple[bool, ...]

    @staticmethod
    def of(values: Sequence[float], open_: Sequence[bool] | None = None) -> "Sample":
        return Sample(tuple(map(float, values)), tuple(open_) if open_ is not None else (False,) * len(values))

    def __len__(self) -> int:
        return len(self.values)

    def median_at_least(self) -> float | None:
        """The true median is no shorter."""
        return _middle(list(self.values))

    def median_at_most(self) -> float | None:
        """The true median is no longer; None where an open value may be it: then it may be anything."""
        middle = _middle([math.inf if is_open else value for value, is_open in zip(self.values, self.open, strict=True)])
        return None if middle is None or math.isinf(middle) else middle


@dataclass(frozen=True, slots=True)
class Comparison:
    """`p_value` and `effect` are None where there are too few runs to say anything."""

    now: Sample
    before: Sample
    p_value: float | None
    effect: float | None  # Cliff's delta, above 0: longer now
    ratio: float | None
    shift: float | None

    @property
    def enough(self) -> bool:
        return self.p_value is not None

    def is_longer(self, p_adjusted: float, *, shift: float, ratio: float = RATIO) -> bool:
        """Surely, by much, for most runs, and by an amount that matters: all four."""
        if self.effect is None or self.ratio is None or self.shift is None:
            return False
        return p_adjusted < LEVEL and self.effect >= LARGE and self.ratio >= ratio and self.shift >= shift


def compared(now: Sample, before: Sample, *, seed: int = 0) -> Comparison:
    """Whether `now` is longer than `before`. For the other question, change the sides."""
    ratio, shift = _medians(now, before)
    if len(now) < FEWEST or len(before) < FEWEST:
        return Comparison(now, before, None, None, ratio, shift)
    values, is_open = np.array(now.values + before.values), np.array(now.open + before.open)
    longer = _longer(values, is_open)
    size, rest = len(now), len(before)
    effect = float((longer[:size, size:].sum() - longer[size:, :size].sum()) / (size * rest))
    scores = longer.sum(axis=1) - longer.sum(axis=0)
    return Comparison(now, before, _p_value(scores.astype(np.float64), size, seed), effect, ratio, shift)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg: of what is then below a level, no larger share than that is expected to be chance."""
    count = len(p_values)
    order = sorted(range(count), key=lambda nth: p_values[nth], reverse=True)
    result, least = [1.0] * count, 1.0
    for above, nth in enumerate(order):
        least = min(least, p_values[nth] * count / (count - above))
        result[nth] = least
    return result


def _longer(values: Floats, is_open: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Row i, column j: 1 if i is certainly longer than j."""
    above = values[:, None] > values[None, :]
    at_least = (values[:, None] >= values[None, :]) & is_open[:, None]
    return ((above | at_least) & ~is_open[None, :]).astype(np.int64)


def _p_value(scores: Floats, size: int, seed: int) -> float:
    """How often chance alone gives the first `size` so high a sum of scores."""
    seen, count = float(scores[:size].sum()), len(scores)
    if not scores.any():
        return 1.0
    if count > MANY:
        spread = math.sqrt(size * (count - size) / (count * (count - 1)) * float((scores**2).sum()))
        return 0.5 * math.erfc((seen - 0.5) / spread / math.sqrt(2))
    if math.comb(count, size) <= EXACT:
        sums = np.array([scores[list(chosen)].sum() for chosen in combinations(range(count), size)])
        return float((sums >= seen).mean())
    drawn = np.random.default_rng(seed).random((SHUFFLES, count)).argpartition(size - 1, axis=1)[:, :size]
    return float((1 + (scores[drawn].sum(axis=1) >= seen).sum()) / (1 + SHUFFLES))


def _medians(now: Sample, before: Sample) -> tuple[float | None, float | None]:
    """Ratio and difference that the medians have at least; None if the one before may have been without end."""
    least, most = now.median_at_least(), before.median_at_most()
    if least is None or most is None:
        return None, None
    return (least / most if most > 0 else (math.inf if least > 0 else 1.0)), least - most


def _middle(values: list[float]) -> float | None:
    """The first that half of the values do not exceed: always one of them, as everywhere in the reports."""
    return sorted(values)[(len(values) - 1) // 2] if values else None
