"""Where a commit goes in its window, for one window and in plain words: the reference, and the way for latecomers.

A window is a list of slots, oldest first, sorted by the commits' order. A slot: offset, order, timestamp, lag, observed.
"""

from dataclasses import dataclass

NO_LAG = -1  # the lag of a latecomer: nobody knows where the log ended when it was made


@dataclass(slots=True)
class Slot:
    offset: int
    order: int
    timestamp: int  # milliseconds
    lag: int
    observed: int = 0  # seconds


def place(window: list[Slot], new: Slot, size: int, min_distance: int) -> bool:
    """Put a commit where it belongs. `min_distance` in milliseconds. True if it is the newest, whose lag counts."""
    if not window or new.order > window[-1].order:
        _put(window, len(window), new, size, min_distance)
        return True
    full = len(window) == size
    if (full and new.order <= window[0].order) or any(slot.order == new.order for slot in window):
        return False
    new.lag = NO_LAG
    older = sum(slot.order < new.order for slot in window)
    if older == 0:
        window.insert(0, new)
    elif full and older == 1:
        window[0] = new
    else:
        _put(window, older, new, size, min_distance)
    return False


def _put(window: list[Slot], at: int, new: Slot, size: int, min_distance: int) -> None:
    """Behind its neighbour; or over it, if it follows too soon. Then it takes the neighbour's time, so that many quick
    commits still move on by one slot for each min-distance."""
    if at and new.timestamp - window[at - 1].timestamp < min_distance:
        new.timestamp = window[at - 1].timestamp
        window[at - 1] = new
        return
    window.insert(at, new)
    if len(window) > size:
        del window[0]
