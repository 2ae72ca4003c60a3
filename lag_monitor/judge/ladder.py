"""How long ago the next record to be read was written, from where the log was at a ladder of moments.

For each rung T, Kafka tells the first offset whose time is not before now − T. A position at or beyond it is at most T
behind; one before it is more. Between two rungs records are taken to have come evenly. Right at once after a start, for any
number of groups, and nothing is read.
"""

import numpy as np

from lag_monitor.store.table import F64, I64

# Seconds. Each about twice the one before, so that what lies between is never off by more than that, and mostly by far less.
RUNGS = (1.0, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800, 604_800)


def rungs(slos: tuple[float, ...] = ()) -> tuple[float, ...]:
    """With a rung at every promise, so that whether it is kept is no estimate."""
    return tuple(sorted({*RUNGS, *slos}))


def seconds_behind(position: I64, end: I64, ladder: F64, offsets: I64) -> F64:
    """For each position. `ladder`: the rungs, the same for all or a row for each, nearest first. `offsets`: for each, where
    the log was at each rung, −1 if that was not asked for or not told.
    What is at the end is not behind; what is beyond the last rung that was asked is as far behind as that, at least."""
    behind = np.zeros(len(position), np.float64)
    open_ = position < end
    nearer_at, nearer = np.zeros(len(position), np.float64), end.astype(np.int64)
    rungs_of = np.broadcast_to(ladder, offsets.shape)
    for number in range(offsets.shape[1]):
        here, rung = offsets[:, number], rungs_of[:, number]
        told = open_ & (here >= 0)
        inside = told & (position >= here)
        if inside.any():
            span = np.maximum(nearer - here, 1)
            share = np.clip((nearer - position) / span, 0.0, 1.0)
            behind[inside] = (nearer_at + share * (rung - nearer_at))[inside]
            open_ &= ~inside
        further = told & ~inside
        behind[further] = np.nextafter(rung[further], np.inf)  # so that a promise of as much is broken
        nearer[further], nearer_at[further] = here[further], rung[further]
    behind[open_ & (nearer_at == 0)] = np.nan  # behind, and no rung was told
    return behind
