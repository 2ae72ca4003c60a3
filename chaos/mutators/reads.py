"""Mutations of what was read: records nobody sent or everybody should have missed, steps back, leaps, early commits."""

from bisect import bisect_right
from itertools import pairwise

from chaos.mutators.recording import Mutated, NoSite, Recording, is_read, order, partition, place


def aborted_read(recording: Recording) -> Mutated:
    """The producer was told that it failed, and a committed reader read it all the same."""
    for send in recording.sent_once():
        if send["outcome"] == "ok" and recording.seen(send["value"]):
            rows = recording.changed(recording.rows, send, outcome="fail", offset=None, error="MUTATION")
            return Mutated(rows, 1, f"The send of value {send['value']} failed.")
    raise NoSite("no acknowledged record was read by a committed reader.")


def phantom_read(recording: Recording) -> Mutated:
    """Nobody sent it."""
    for send in recording.sent_once():
        if recording.seen(send["value"]):
            return Mutated(recording.without([send]), 1, f"The send of value {send['value']} was removed.")
    raise NoSite("no record that was sent was read by a committed reader.")


def nonmonotonic_poll(recording: Recording) -> Mutated:
    """The last record of a poll is returned twice."""
    last = {(row["client"], row["op"]): row for row in sorted(recording.rows, key=order)}
    read = next((row for row in last.values() if is_read(row)), None)
    if read is None:
        raise NoSite("no poll returned a record.")
    again = read | {"ix": (read.get("ix") or 0) + 1}
    return Mutated([*recording.rows, again], 1, f"{read['client']} read {place(read)} twice.")


def poll_skip(recording: Recording) -> Mutated:
    """One reader did not get a record between two others, which somebody else did get."""
    for stretch in recording.assignments:
        for (before, read), (_, after) in pairwise(pairwise(stretch)):
            if (
                not all(is_read(row) for row in (before, read, after))
                or not before["offset"] < read["offset"] < after["offset"]
            ):
                continue
            others = [
                row for row in recording.reads[read["value"]] if row is not read and recording.committed(row["client"])
            ]
            if any(place(row) == place(read) for row in others):
                return Mutated(recording.without([read]), 1, f"{read['client']} did not read {place(read)}.")
    raise NoSite("no reader read three records in a row of which others read the middle one, too.")


def commit_ahead(recording: Recording) -> Mutated:
    """A group commits one record further than it has read."""
    for stretch in recording.assignments:
        for read, commit in pairwise(stretch):
            if is_read(read) and not is_read(commit):
                offsets = recording.offsets_seen[partition(read)]
                behind = bisect_right(offsets, read["offset"])
                if behind < len(offsets):
                    further = offsets[behind] + 1
                    rows = recording.changed(recording.rows, commit, offset=further)
                    return Mutated(rows, 1, f"{commit['client']} committed {place(commit)} as {further}.")
    raise NoSite("no offsets were committed after a read behind which others follow.")
