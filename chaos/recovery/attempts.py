"""What somebody was waiting for on one partition, and what came: the raw material of every gap.

A send waits from its call to its answer. A record waits for a reader from its acknowledgement to its first read. Both
become the same four lists, so that one definition of a gap serves both.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]  # nanoseconds of the run's one monotonic clock
NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Track:
    """All sends and all reads (but for the closing drain) of one partition, each in any order."""

    topic: str
    partition: int
    sent_ns: Times
    acked_ns: Times  # completion, whatever the outcome; -1 where unknown
    sent_ok: NDArray[np.bool_]
    sent_value: Times
    read_ns: Times
    read_value: Times
    due_ns: Times | None = None  # from when on a reader should get it; -1: never. Left out: from its acknowledgement on


@dataclass(frozen=True)
class Attempts:
    """Sorted lists. An attempt is outstanding from a `start` to a `stop` (NEVER: it still is)."""

    start: Times
    stop: Times
    success: Times  # no moment twice
    failed: Times  # when a client was told that an attempt failed, or that its fate is unknown
    served_from: Times  # starts of the attempts that succeeded, with …
    served_at: Times  # … the earliest success of one that started then or later

    def outstanding(self, moments: Times) -> Times:
        """How many attempts were outstanding at each moment; one that stops at that moment no longer is."""
        return np.searchsorted(self.start, moments, "right") - np.searchsorted(self.stop, moments, "right")

    def served_after(self, moment: int) -> int:
        """When the first attempt that started at this moment or later succeeded."""
        at = int(np.searchsorted(self.served_from, moment))
        return int(self.served_at[at]) if at < len(self.served_at) else NEVER


def sends(track: Track) -> Attempts:
    """A send is outstanding until its answer, be it good or bad.

    One without any (its client crashed) is outstanding until the partition's next success: after that it tells
    nothing about the partition, and would otherwise darken it to the end of the run.
    """
    start, known = track.sent_ns, track.acked_ns >= 0
    answered = np.maximum(track.acked_ns, start)
    ok = track.sent_ok & known
    success = _distinct(answered[ok])
    stop = np.where(known, answered, _at(success, np.searchsorted(success, start, "right")))
    return _attempts(start, stop, success, failed=answered[known & ~ok], served=(start[ok], answered[ok]))


def polls(track: Track) -> Attempts:
    """A record is outstanding until anybody reads it; any value's *first* read is a success.

    Reading a value again is none: a reader that goes round in a loop looks busy and delivers nothing. A record that
    is never read stops being outstanding once a later one is read: it is lost, and that is for the checkers to say.
    """
    values, first = _first_reads(track)
    read_at = _lookup(values, first, track.sent_value)
    due = track.due_ns if track.due_ns is not None else np.where(track.sent_ok, track.acked_ns, -1)
    wanted = due >= 0
    start, at = due[wanted], read_at[wanted]
    unread = at == NEVER
    stop = np.where(unread, _passed(track.sent_ns, read_at, start), at)
    waited = stop > start  # a reader may be faster than the acknowledgement; then nobody ever waited
    served = (start[~unread], np.maximum(at, start)[~unread])
    return _attempts(start[waited], stop[waited], _distinct(first), failed=first[:0], served=served)


def _attempts(start: Times, stop: Times, success: Times, *, failed: Times, served: tuple[Times, Times]) -> Attempts:
    served_from, served_at = _earliest_from(*served)
    ended = np.sort(np.maximum(stop, start), kind="stable")
    return Attempts(np.sort(start, kind="stable"), ended, success, np.sort(failed), served_from, served_at)


def _distinct(moments: Times) -> Times:
    """Sorted, no moment twice. Much faster than np.unique, which hashes what is nearly in order already."""
    ordered = np.sort(moments, kind="stable")
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _first_reads(track: Track) -> tuple[Times, Times]:
    """Every value that was read, in order of value, and when it was first."""
    by_time = np.argsort(track.read_ns, kind="stable")
    values, where = np.unique(track.read_value[by_time], return_index=True)
    return values, track.read_ns[by_time][where]


def _passed(sent: Times, read_at: Times, acknowledged: Times) -> Times:
    """When a reader had gone past each record: it read one that was sent after the record had its offset."""
    sent_from, read_from = _earliest_from(sent, read_at)
    return _at(read_from, np.searchsorted(sent_from, acknowledged))


def _earliest_from(keys: Times, moments: Times) -> tuple[Times, Times]:
    """The keys in order, and for each the earliest of the moments that belong to it and to those after it."""
    order = np.argsort(keys, kind="stable")
    return keys[order], np.minimum.accumulate(moments[order][::-1])[::-1]


def _lookup(values: Times, moments: Times, wanted: Times) -> Times:
    found = np.searchsorted(values, wanted)
    return np.where(_at(values, found) == wanted, _at(moments, found), NEVER)


def _at(moments: Times, indices: NDArray[np.intp]) -> Times:
    """By index; what lies beyond the end is NEVER."""
    return np.append(moments, NEVER)[indices]
