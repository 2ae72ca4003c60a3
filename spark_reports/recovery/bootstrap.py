"""The bootstrap interval of an order statistic, exactly: what resampling tends to when it never ends.

Draw n of n samples with replacement, take the k-th smallest, do that for ever: the share of rounds in which it is the i-th
of the samples or a smaller one is P(Binomial(n, i/n) ≥ k), whatever the samples are (Efron 1979). So no round has to be
drawn: the interval is a pair of ranks that depends on n and k alone, has no seed, and is the same every morning.
"""

from functools import lru_cache
from math import exp, lgamma, log

CONFIDENCE = 0.95
SMALLEST = 1e-300
CLOSE = 1e-14
MOST_TERMS = 100_000


def rank(n: int, percent: int) -> int:
    """Of n samples in order, the first that at least so many percent of them do not exceed (from 1 on)."""
    return max(1, -(-n * percent // 100))


@lru_cache(maxsize=4096)
def interval(n: int, k: int) -> tuple[int, int]:
    """The ranks between which the k-th of n samples lies in 95 % of all resamples, 2.5 % being left on either side."""
    aside = (1 - CONFIDENCE) / 2
    return _first(n, k, aside), _first(n, k, 1 - aside)


def coverage(n: int, percent: int) -> float:
    """How often the interval of this quantile holds the true one, for whatever is measured: 95 % is where many samples lead.

    With few it is far less. All of 20 samples lie below the true 95th percentile in 36 % of all nights.
    """
    low, high = interval(n, rank(n, percent))
    return _beta(low, n - low + 1, percent / 100) - _beta(high, n - high + 1, percent / 100)


def share_up_to(n: int, k: int, i: int) -> float:
    """How often the k-th smallest of a resample is the i-th of the samples or a smaller one."""
    return 1.0 if i >= n else _beta(k, n - k + 1, i / n)


def _first(n: int, k: int, share: float) -> int:
    low, high = 1, n
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if share_up_to(n, k, middle) >= share else (middle + 1, high)
    return low


def _beta(a: int, b: int, x: float) -> float:
    """The regularised incomplete beta function, P(Binomial(a + b - 1, x) ≥ a), on the side where its fraction is short."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    return scale * _fraction(a, b, x) / a


def _fraction(a: int, b: int, x: float) -> float:
    """Its continued fraction, from the front (Lentz's way), until a term changes nothing any more."""
    upper, lower = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    whole = lower
    for m in range(1, MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower, upper = 1 / _not_zero(1 + term * lower), _not_zero(1 + term / upper)
            whole *= lower * upper
        if abs(lower * upper - 1) < CLOSE:
            break
    return whole


def _not_zero(number: float) -> float:
    return number if abs(number) > SMALLEST else SMALLEST
