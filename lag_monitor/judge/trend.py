"""Does lag grow? By the signs of all pairs of samples and the median of their slopes, so that no single dip or peak decides.

Kendall's and Theil and Sen's ways. Times are those of the looks, the same for every row; a look that failed left no sample.
"""

from itertools import combinations

import numpy as np

from lag_monitor.store.table import F32, F64, I64, Mask

ENOUGH = 6  # samples: with fewer a trend is a guess
SURE = 2.8  # standard deviations: so far beyond what chance gives, pairs that grow must outnumber those that fall


def growing(samples: F32) -> Mask:
    """Newest last. Nothing is said (False) of rows with fewer samples than enough."""
    width = samples.shape[1]
    score = np.zeros(len(samples), np.int16)
    for early, late in combinations(range(width), 2):
        step = samples[:, late] - samples[:, early]
        score += step > 0
        score -= step < 0
    number = counted(samples)
    chance = np.sqrt(number * (number - 1) * (2 * number + 5) / 18)
    found: Mask = (number >= ENOUGH) & (score >= SURE * chance)
    return found


def slope(samples: F32, times: F64) -> F64:
    """Records a second, for rows that have two samples at least."""
    width = samples.shape[1]
    steps = [
        (samples[:, late] - samples[:, early]) / max(times[late] - times[early], 1e-3)
        for early, late in combinations(range(width), 2)
    ]
    median: F64 = np.nanmedian(np.stack(steps, axis=1).astype(np.float64), axis=1)
    return median


def counted(samples: F32) -> I64:
    found: I64 = np.count_nonzero(~np.isnan(samples), axis=1)
    return found
