"""The stations on the way back: who noticed, a leader elected, the first record through, everything as before.

Every answer is in seconds since the fault, None where it was not seen.
"""

from typing import Any

import numpy as np

from chaos.recovery.attempts import NEVER, Attempts
from chaos.recovery.gaps import ORDINARY_S, SECOND, Gap

Event = dict[str, Any]


def detected(attempts: Attempts, begin: int, end: int) -> float | None:
    """The first answer that told a client of a failure, or of a fate unknown. Retries may hide a whole outage: then None."""
    at = int(np.searchsorted(attempts.failed, begin))
    return since(begin, int(attempts.failed[at])) if at < len(attempts.failed) and attempts.failed[at] < end else None


def first_success(attempts: Attempts, gap: Gap, begin: int) -> float | None:
    """The success that ended the gap; after an ordinary silence, that of the first attempt made after the fault.

    A fault needs a moment to land, so the first attempt after it often still succeeds, and would hide the outage.
    """
    if gap.seconds < ORDINARY_S:
        return since(begin, attempts.served_after(begin))
    at = int(np.searchsorted(attempts.success, gap.end))
    return since(begin, int(attempts.success[at])) if at < len(attempts.success) else None


def elected(states: list[Event], begin: int) -> float | None:
    """The first leader that is another one than before the fault, or the same one again after there was none."""
    known = _from(states, begin)
    if not known:
        return None
    before, leader = known[0], known[0]["leader"]
    for state in known[1:]:
        if state["leader_epoch"] > before["leader_epoch"]:
            if state["leader"] not in (None, leader):
                return since(begin, state["t_ns"])
            leader = state["leader"]
    return None


def fully_replicated(states: list[Event], begin: int) -> float | None:
    """When every replica was in sync again, if the fault (or something before it) had left one out."""
    short = False
    for state in _from(states, begin):
        whole = set(state["isr"]) == set(state["replicas"])
        if whole and short:
            return since(begin, state["t_ns"])
        short = not whole
    return None


def _from(states: list[Event], begin: int) -> list[Event]:
    """How the partition stood when the fault began, and every change after."""
    earlier = sum(state["t_ns"] <= begin for state in states)
    return states[max(0, earlier - 1) :]


def drained(attempts: Attempts, begin: int, end: int) -> float | None:
    """When the backlog, after its peak, was back where it had been in the second before the fault.

    0 if it never rose by more than a second's worth of records: then there was nothing to drain.
    """
    earlier = begin - int(ORDINARY_S * SECOND)
    usual = int(attempts.outstanding(_between(attempts.start, earlier, begin, earlier, begin)).max())
    a_second_of_records = int(np.subtract(*np.searchsorted(attempts.served_from, [begin, earlier])))
    rising = _between(attempts.start, begin, end, begin)
    levels = attempts.outstanding(rising)
    peak = int(np.argmax(levels))
    if levels[peak] <= usual + a_second_of_records:
        return 0.0
    falling = _between(attempts.stop, int(rising[peak]), end)
    low = np.flatnonzero(attempts.outstanding(falling) <= usual)
    return since(begin, int(falling[low[0]])) if len(low) else None


def since(begin: int, moment: int) -> float | None:
    return None if moment == NEVER else (moment - begin) / SECOND


def _between(moments: np.ndarray[Any, np.dtype[np.int64]], begin: int, end: int, *more: int) -> Any:
    first, last = np.searchsorted(moments, [begin, end])
    return np.sort(np.concatenate((moments[first:last], np.array(more, np.int64))))
