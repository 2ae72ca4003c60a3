"""Percentiles of any number of durations in fixed memory: bins that widen by 5 %, so a percentile is right to 2.5 %."""

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
SMALLEST_NS = 10_000  # 10 µs; whatever is shorter counts as that
STEP = np.log(1.05)
BINS = int(np.log(1e12 / SMALLEST_NS) / STEP) + 2  # up to 1000 s; whatever is longer counts as that, but for the maximum


class Histogram:
    def __init__(self, buckets: int) -> None:
        self.counts = np.zeros((buckets, BINS), np.int64)
        self.highest: Ints = np.full(buckets, -1, np.int64)

    def __bool__(self) -> bool:
        return bool((self.highest >= 0).any())

    def add(self, buckets: Ints, durations: Ints) -> None:
        if not len(durations):
            return
        bins = np.log(np.maximum(durations, SMALLEST_NS) / SMALLEST_NS) / STEP
        flat = buckets * BINS + np.minimum(bins.astype(np.int64), BINS - 1)
        self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)
        np.maximum.at(self.highest, buckets, np.maximum(durations, 0))

    def percentile(self, share: float) -> list[float | None]:
        """In seconds, bucket by bucket: the middle of the bin in which it falls, never more than the highest."""
        totals = self.counts.sum(axis=1)
        below = np.cumsum(self.counts, axis=1)
        bins = (below >= np.maximum(np.ceil(totals * share), 1)[:, None]).argmax(axis=1)
        middle = np.minimum(SMALLEST_NS * np.exp((bins + 0.5) * STEP), self.highest)
        return [float(value) / 1e9 if total else None for value, total in zip(middle, totals, strict=True)]

    def maximum(self) -> list[float | None]:
        return [value / 1e9 if value >= 0 else None for value in self.highest.tolist()]
