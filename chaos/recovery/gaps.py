"""A gap: a stretch without success in which somebody was waiting. No traffic is no gap, however long."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaos.recovery.attempts import NEVER, Attempts, Times

SECOND = 1_000_000_000
ORDINARY_S = 1.0  # a shorter silence is daily life: a fetch that waits, a collected heap, a batch in flight


@dataclass(frozen=True)
class Gap:
    begin: int
    end: int
    censored: bool  # it never closed: the end is that of the run, the true one lies beyond

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / SECOND


NO_GAP = Gap(0, 0, False)


@dataclass(frozen=True)
class Gaps:
    """In order of time, apart from each other; `end` of an open one is that of the run."""

    begin: Times
    end: Times
    open: NDArray[np.bool_]

    def longest(self, begin: int, end: int) -> Gap:
        """The longest part of a gap between two moments; one that never closed outranks any that did."""
        first, last = int(np.searchsorted(self.end, begin, "right")), int(np.searchsorted(self.begin, end, "left"))
        if first >= last:
            return NO_GAP
        begins = np.maximum(self.begin[first:last], begin)
        ends = np.minimum(self.end[first:last], end)
        censored = self.open[first:last] & (ends < end)
        which = len(ends) - 1 if censored[-1] else int(np.argmax(ends - begins))
        return Gap(int(begins[which]), int(ends[which]), bool(censored[which]))

    def dark_at(self, moment: int) -> bool:
        """Whether nothing has succeeded for longer than is ordinary, at this moment."""
        around = int(np.searchsorted(self.end, moment, "right"))
        return around < len(self.begin) and moment - int(self.begin[around]) >= ORDINARY_S * SECOND


def gaps(attempts: Attempts, end_ns: int) -> Gaps:
    """Between neighbouring successes a < b: from a, or from the first attempt outstanding after a, to b.

    After the last success the gap runs to the end of the run and is open, unless it is so short that what is
    outstanding was merely in flight when the run ended.
    """
    before = np.concatenate(([-NEVER], attempts.success))
    after = np.append(attempts.success, NEVER)
    following = np.append(attempts.start, NEVER)[np.searchsorted(attempts.start, before, "right")]
    begin = np.where(attempts.outstanding(before) > 0, before, following)
    dark = begin < after
    dark[-1] &= end_ns - begin[-1] >= ORDINARY_S * SECOND
    end = np.append(attempts.success, end_ns)
    return Gaps(begin[dark], end[dark], (after == NEVER)[dark])
