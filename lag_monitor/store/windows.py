"""For every group and partition: its last commits, as Burrow keeps them, and what our own judge keeps. One row each.

Times of our own are whole tenths of a second since the store was made, which 32 bits hold for six years.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lag_monitor.burrow.placing import NO_LAG, Slot, place
from lag_monitor.store.heads import NONE
from lag_monitor.store.table import F32, I8, I32, I64, U8, U16, U32, Mask, Table

SAMPLES = 12  # looks at the lag that are remembered
FEW = 24  # rows: if no more have a further commit in a batch, each is placed by itself
# Flags of a row.
MADE, OWN, ASSIGNED, ASSIGNMENT_KNOWN, UNREAD_TOPIC, GONE_TOPIC = 1, 2, 4, 8, 16, 32
UNPROVED = 64  # there may be nothing but markers to read, and we are not allowed to look


class Windows(Table):
    PLAIN: ClassVar = {
        "group": (np.int32, NONE),
        "head": (np.int32, NONE),  # row of the partition in `Heads`
        "owner": (np.int32, 0),  # place among the members that were ever seen
        "filled": (np.uint16, 0),
        "flags": (np.uint8, 0),
        # From here on: our own judge's.
        "committed": (np.int64, NONE),
        "peak": (np.int64, NONE),  # how far it was before it went back
        "clear_to": (np.int64, NONE),  # from the commit up to here there is nothing to read: markers, or compacted away
        "print": (np.int64, 0),  # of the id of the topic that was committed for
        "moved_at": (np.int32, NONE),
        "lagging_since": (np.int32, NONE),
        "rewound_at": (np.int32, NONE),
        "since": (np.int32, NONE),
        "first_seen": (np.int32, NONE),
        "gap": (np.float32, 0.0),  # seconds between moves, the longest of late
        "status": (np.int8, 0),
    }
    WIDE: ClassVar = {
        "offsets": (np.int64, NONE),
        "orders": (np.int64, NONE),
        "timestamps": (np.int64, 0),
        "lags": (np.int64, NO_LAG),
        "observed": (np.uint32, 0),
    }
    SAMPLED: ClassVar = {"samples": (np.float32, np.nan)}  # lag at the last looks; nothing where we could not look
    SAMPLES: ClassVar = SAMPLES

    group: I32
    head: I32
    owner: I32
    filled: U16
    flags: U8
    committed: I64
    peak: I64
    clear_to: I64
    print: I64
    moved_at: I32
    lagging_since: I32
    rewound_at: I32
    since: I32
    first_seen: I32
    gap: F32
    status: I8
    offsets: I64
    orders: I64
    timestamps: I64
    lags: I64
    observed: U32
    samples: F32

    def place(self, rows: I32, commits: "Placed", *, observed: int, min_distance: int) -> Mask:
        """Commits in the order in which they were made, any number to a row. True where one was the newest when it came."""
        newest = np.zeros(len(rows), np.bool_)
        pending = np.argsort(rows, kind="stable")
        while len(pending):
            first = np.ones(len(pending), np.bool_)
            first[1:] = rows[pending[1:]] != rows[pending[:-1]]
            now, pending = pending[first], pending[~first]
            if len(now) < FEW:
                self._place_singly(np.concatenate([now, pending]), rows, commits, observed, min_distance, newest)
                return newest
            late = self.orders[rows[now], -1] >= commits.order[now]
            self._place_singly(now[late], rows, commits, observed, min_distance, newest)
            now = now[~late]
            newest[now] = True
            self._append(rows[now], commits.taken(now), observed, min_distance)
        return newest

    def slots(self, row: int) -> list[Slot]:
        first = self.width - int(self.filled[row])
        columns = (self.offsets, self.orders, self.timestamps, self.lags, self.observed)
        return [Slot(*values) for values in zip(*(column[row, first:].tolist() for column in columns), strict=True)]

    def _append(self, rows: I32, commits: "Placed", observed: int, min_distance: int) -> None:
        merged = (self.filled[rows] > 0) & (commits.timestamp - self.timestamps[rows, -1] < min_distance)
        apart = rows[~merged]
        if len(apart):
            for column in (self.offsets, self.orders, self.timestamps, self.lags, self.observed):
                column[apart, :-1] = column[apart, 1:]
            self.timestamps[apart, -1] = commits.timestamp[~merged]
            self.filled[apart] = np.minimum(self.filled[apart] + 1, self.width)
        self.offsets[rows, -1], self.orders[rows, -1], self.lags[rows, -1] = commits.offset, commits.order, commits.lag
        self.observed[rows, -1] = observed

    def _place_singly(self, ats: I64, rows: I32, commits: "Placed", observed: int, min_distance: int, newest: Mask) -> None:
        """A window is taken out once, however many commits are for it."""
        by_row: dict[int, list[int]] = {}
        for at in np.sort(ats).tolist():
            by_row.setdefault(int(rows[at]), []).append(at)
        for row, its in by_row.items():
            window = self.slots(row)
            for at in its:
                newest[at] = place(window, commits.slot(at, observed), self.width, min_distance)
            self._put_back(row, window)

    def _put_back(self, row: int, window: list[Slot]) -> None:
        first = self.width - len(window)
        self.filled[row] = len(window)
        for column, values in (
            (self.offsets, [slot.offset for slot in window]),
            (self.orders, [slot.order for slot in window]),
            (self.timestamps, [slot.timestamp for slot in window]),
            (self.lags, [slot.lag for slot in window]),
            (self.observed, [slot.observed for slot in window]),
        ):
            column[row, first:] = values


@dataclass(frozen=True, slots=True)
class Placed:
    """Commits on their way to their windows, one entry each."""

    offset: I64
    order: I64
    timestamp: I64
    lag: I64

    def taken(self, which: I64) -> "Placed":
        return Placed(self.offset[which], self.order[which], self.timestamp[which], self.lag[which])

    def slot(self, at: int, observed: int) -> Slot:
        return Slot(int(self.offset[at]), int(self.order[at]), int(self.timestamp[at]), int(self.lag[at]), observed)
