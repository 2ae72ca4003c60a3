"""Burrow's verdict on partitions, many at once. Pure: no clock, no store.

In this order: little lag is OK; silence longer than the window spans is STOP, unless the log's end was at or below the last
commit a short while ago; going back without having come again is REWIND; then, if lag was never allowed, no move at all is
STALL, and lag that never falls is WARN.
"""

from dataclasses import dataclass

import numpy as np

from lag_monitor.store.table import F32, I64, U8, U16, Mask
from lag_monitor.verdict import Burrow

CHUNK = 16_384  # rows that are judged at a time: so many stay near the processor


@dataclass(frozen=True, slots=True)
class BurrowRules:
    intervals: int = 10
    min_distance: int = 0  # seconds
    expire_group: int = 604_800  # seconds
    allowed_lag: int = 0
    minimum_complete: float = 0.0


@dataclass(frozen=True, slots=True)
class Windows:
    """Slots oldest first and aligned to the right: the newest is last, and what is not filled is in front."""

    offsets: I64
    timestamps: I64
    lags: I64  # −1: not known
    filled: U16
    current_lag: I64
    lowest_end: I64  # the lowest end of the log that is remembered
    made: Mask  # whether there is a window at all


def complete(filled: U16, made: Mask, intervals: int) -> F32:
    """How much of each window is filled, in the 32 bits that Burrow has. One without any commit counts as one."""
    seen = np.where(made, np.maximum(filled, 1), 0).astype(np.float32)
    share: F32 = seen / np.float32(intervals)
    return share


def judge(windows: Windows, rules: BurrowRules, now: int) -> U8:
    """A code of `Burrow` for each; `now` in whole seconds."""
    status = np.full(len(windows.filled), Burrow.OK, np.uint8)
    for begin in range(0, len(status), CHUNK):
        part = slice(begin, begin + CHUNK)
        whole = complete(windows.filled[part], windows.made[part], rules.intervals) >= np.float32(rules.minimum_complete)
        lagging = (windows.current_lag[part] > rules.allowed_lag) & (windows.filled[part] > 0) & whole
        rows = np.nonzero(lagging)[0] + begin
        if len(rows):
            status[rows] = _lagging(windows, rows, rules, now)
    return status


def _lagging(windows: Windows, rows: I64, rules: BurrowRules, now: int) -> U8:
    offsets, lags = windows.offsets[rows], windows.lags[rows]
    filled = windows.filled[rows].astype(np.int64)
    width = offsets.shape[1]
    first = width - filled
    last_time = windows.timestamps[rows, -1]
    silent = now * 1000 - last_time > last_time - windows.timestamps[rows, first]
    stopped = silent & (windows.lowest_end[rows] > offsets[:, -1])

    slot = np.arange(width)
    there = slot >= first[:, None]
    behind = lags > rules.allowed_lag
    always = np.all(behind | (lags < 0) | ~there, axis=1)
    earliest = np.take_along_axis(offsets, first[:, None], axis=1)
    still = np.all((offsets == earliest) | ~there, axis=1)

    status = np.full(len(rows), Burrow.OK, np.uint8)
    status[always & _never_falls(lags, there)] = Burrow.WARN
    status[always & still] = Burrow.STALL
    status[_rewound(offsets, there)] = Burrow.REWIND
    status[stopped] = Burrow.STOP
    return status


def _rewound(offsets: I64, there: Mask) -> Mask:
    """Only the first step back counts, and not if what came after reached as far again."""
    back = (offsets[:, 1:] < offsets[:, :-1]) & there[:, :-1]
    found: Mask = np.any(back, axis=1)
    rows = np.nonzero(found)[0]
    if not len(rows):
        return found
    step = np.argmax(back[rows], axis=1)
    before = offsets[rows, step]
    later = np.where(np.arange(offsets.shape[1]) > step[:, None], offsets[rows], -1).max(axis=1)
    found[rows] = later < before
    return found


def _never_falls(lags: I64, there: Mask) -> Mask:
    """From one known lag to the next known one."""
    known = there & (lags >= 0)
    highest = np.maximum.accumulate(np.where(known, lags, -1), axis=1)
    rising: Mask = np.all(~known | (lags == highest), axis=1)
    return rising
