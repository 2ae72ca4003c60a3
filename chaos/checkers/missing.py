"""Acknowledged records that nobody ever read although the closing reader went through their partition."""

from dataclasses import dataclass

import numpy as np

from chaos.evidence.columns import Bools, Ints, rows_where
from chaos.evidence.history import OK, History


@dataclass(frozen=True, slots=True)
class Missing:
    """Rows of sends, one for each value."""

    lost: Ints  # below the drained end: others came after
    unseen: Ints  # at or beyond it, or nobody knows where


def missing(history: History, *, drained_end: Ints, fate: Ints, read: Bools) -> Missing:
    sends = history.sends
    drained = np.append(drained_end >= 0, False)  # the last place is for -1: nobody knows which partition

    def unread(block: slice) -> Bools:
        missing: Bools = drained[sends.partition[block]] & (fate[block] == OK) & ~read[sends.value[block]]
        return missing

    rows = rows_where(len(sends), unread)
    offset, end = sends.offset[rows], drained_end[sends.partition[rows]]
    below = (offset >= 0) & (offset < end)
    lost = _one_each(sends.value, rows[below])
    unseen = _one_each(sends.value, rows[~below])
    return Missing(lost, unseen[~np.isin(sends.value[unseen], sends.value[lost])])


def _one_each(values: Ints, rows: Ints) -> Ints:
    _, first = np.unique(values[rows], return_index=True)
    return rows[first]
