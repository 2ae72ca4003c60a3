"""One row for each fault, partition and kind of operation: the longest gap, the stations on the way back, the judgement."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from chaos.recovery.attempts import Attempts, Track, polls, sends
from chaos.recovery.charge import Charge, charges, faults_in
from chaos.recovery.gaps import SECOND, Gap, gaps
from chaos.recovery.milestones import Event, detected, drained, elected, first_success, fully_replicated

Row = dict[str, Any]
LOOK_S = 1.0  # by which an election may be seen late


def recover(tracks: Iterable[Track], events: list[Event], end_ns: int) -> list[Row]:
    """Rows in the order of the tracks. `end_ns` is when the clients were told to stop; their last answers may be later.

    Polls are judged on topics that somebody read: where nobody was meant to read, no record waits for a reader.
    """
    ordered, tracks = sorted(events, key=lambda event: int(event["t_ns"])), list(tracks)
    faults, states = faults_in(ordered), _states(ordered)
    read = {track.topic for track in tracks if len(track.read_ns)}
    rows: list[Row] = []
    for track in tracks if faults else []:
        place = (track.topic, track.partition)
        waits = {"send": sends(track)} | ({"poll": polls(track)} if track.topic in read else {})
        for kind, attempts in waits.items():
            dark = gaps(attempts, end_ns)
            for charge in charges(faults, kind, place, dark.dark_at):
                gap = dark.longest(charge.begin, charge.end)
                if gap.seconds or _traffic(attempts, charge):
                    rows.append(_row(kind, place, charge, gap, attempts, states[place]))
    return rows


def _row(kind: str, place: tuple[str, int], charge: Charge, gap: Gap, attempts: Attempts, states: list[Event]) -> Row:
    begin, bound = charge.begin, charge.bound
    success = first_success(attempts, gap, begin)
    return {
        "fault": charge.fault.id,
        "kind": kind,
        "topic": place[0],
        "partition": place[1],
        "affected": charge.touched,
        "gap_s": gap.seconds,
        "gap_from_s": max(0, gap.begin - begin) / SECOND,
        "censored": gap.censored,
        "detect_s": detected(attempts, begin, charge.end),
        "elect_s": _elected(elected(states, begin), success),
        "first_success_s": success,
        "full_isr_s": fully_replicated(states, begin),
        "drained_s": drained(attempts, begin, charge.end) if kind == "poll" else None,
        "bound_s": bound.seconds if bound else None,
        "within": not gap.censored and gap.seconds <= bound.seconds if bound else None,
        "why": bound.why if bound else None,
    }


def _elected(seen: float | None, success: float | None) -> float | None:
    """Metadata is looked at a few times a second, so a record may be through before the election is seen: then it was
    over by that time."""
    if seen is not None and success is not None and 0 < seen - success < LOOK_S:
        return success
    return seen


def _traffic(attempts: Attempts, charge: Charge) -> bool:
    """Somebody tried, or something succeeded, while the fault was in charge; else there is nothing to say."""
    if int(attempts.outstanding(np.array([charge.begin]))[0]):
        return True
    return any(_any_between(moments, charge.begin, charge.end) for moments in (attempts.start, attempts.success))


def _any_between(moments: Any, begin: int, end: int) -> bool:
    first, last = np.searchsorted(moments, [begin, end])
    return bool(first < last)


def _states(events: list[Event]) -> dict[tuple[str, int], list[Event]]:
    states: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        if event["event"] == "partition":
            states[str(event["topic"]), int(event["partition"])].append(event)
    return states
