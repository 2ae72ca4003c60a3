"""The reason for a verdict in words, and the figures it rests on. Made only for those who ask: most rows are well."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np

from lag_monitor.judge.observing import tenths
from lag_monitor.judge.rules import Facts
from lag_monitor.judge.settings import Patience
from lag_monitor.judge.trend import ENOUGH, slope
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.windows import ASSIGNED, ASSIGNMENT_KNOWN, GONE_TOPIC
from lag_monitor.verdict import Status

Evidence = Mapping[str, float | int | str | None]


def span(seconds: float) -> str:
    """As people say it: 8 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    whole = max(0, round(seconds))
    for size, name, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s" if seconds >= 1 or seconds <= 0 else f"{seconds:.1f} s"


def clock(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S")


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def records(count: int) -> str:
    return counted(count, "record")


class Speaker:
    """For the rows of one look."""

    def __init__(self, store: ClusterStore, facts: Facts, patience: Patience) -> None:
        self._store, self._facts, self._patience = store, facts, patience

    def reason(self, at: int, status: Status) -> str:
        return _WORDS[status](self, at)

    def evidence(self, at: int, status: Status) -> Evidence:
        facts, windows, row = self._facts, self._store.windows, int(self._facts.rows[at])
        told: dict[str, float | int | str | None] = {
            "committed": _known(facts.committed[at]),
            "end": _known(facts.end[at]),
            "log_end": _known(facts.log_end[at]),
            "log_start": _known(facts.start[at]),
            "lag": int(facts.lag[at]),
            "seconds_behind": number(facts.seconds[at]),
            "seconds_without_progress": number(facts.still[at]),
            "patience_seconds": number(facts.patience[at]),
            "members": _known(facts.members[at]),
            "samples": int(np.count_nonzero(~np.isnan(windows.samples[row]))),
        }
        if status in (Status.SLOW, Status.BEHIND_SLO, Status.WARMING_UP, Status.REWOUND):
            told["growth_per_second"] = number(self._growth(row))
        if windows.peak[row] >= 0:
            told["committed_before"] = int(windows.peak[row])
        if facts.slo[at] > 0:
            told["slo_seconds"] = float(facts.slo[at])
        return told

    # ---- one for each status -------------------------------------------------------------------------------------------

    def _ok(self, at: int) -> str:
        facts = self._facts
        if facts.committed[at] < 0:
            return "nothing is committed yet, and nothing has come since a member has this partition"
        if facts.lag[at] == 0 and facts.position[at] > facts.committed[at]:
            return "at the end: what follows the commit is transaction markers or was compacted away"
        if facts.lag[at] == 0:
            return "at the end"
        still = float(facts.still[at])
        if still <= 2 * self._patience.interval:
            return f"{self._behind(at)}, and getting on"
        return f"{self._behind(at)}; no move for {span(still)}, which is not long yet"

    def _empty(self, at: int) -> str:
        return f"{self._behind(at)}; the group has no members, and has not committed for {self._unmoved(at)}"

    def _abandoned(self, at: int) -> str:
        if self._store.windows.flags[self._facts.rows[at]] & GONE_TOPIC:
            return "the topic is gone; what was committed for it is all that is left"
        return f"no member of the group reads this topic any more; the last move was {self._unmoved(at)} ago"

    def _warming(self, at: int) -> str:
        seen = int(np.count_nonzero(~np.isnan(self._store.windows.samples[self._facts.rows[at]])))
        if seen >= ENOUGH:
            return f"{self._behind(at)}; it has not been seen to move yet, and may still"
        return f"{self._behind(at)}; looked at {counted(seen, 'time')}, too few to tell where it is going"

    def _unknown(self, at: int) -> str:
        if not self._facts.blind[at]:
            return (
                f"{self._behind(at)} or transaction markers: it stands still, and the monitor may not read the topic to tell"
            )
        return "the monitor has no fresh figures: nothing is said until it has"

    def _never(self, at: int) -> str:
        lag = int(self._facts.lag[at])
        have = "has" if lag == 1 else "have"
        return f"a member has this partition, {records(lag)} {have} come since, and no commit was ever made"

    def _rewound(self, at: int) -> str:
        row = self._facts.rows[at]
        windows = self._store.windows
        when = clock(self._store.began + windows.rewound_at[row] / 10)
        return (
            f"went back from {windows.peak[row]} at {when} UTC and is at {self._facts.committed[at]} now; {self._behind(at)}"
        )

    def _slow(self, at: int) -> str:
        growth = self._growth(int(self._facts.rows[at]))
        return f"{self._behind(at)}, growing by {growth:,.1f} records a second"

    def _slo(self, at: int) -> str:
        return f"{self._behind(at)}; at most {span(float(self._facts.slo[at]))} were promised"

    def _stuck(self, at: int) -> str:
        facts = self._facts
        beyond = int(facts.log_end[at] - facts.end[at])
        return (
            f"waits for a transaction: the last stable offset has been {facts.end[at]} "
            f"for {span(float(facts.waiting[at]))}, with {counted(beyond, 'offset')} beyond it"
        )

    def _stalled(self, at: int) -> str:
        facts, store = self._facts, self._store
        host, client_id = store.owners[store.windows.owner[facts.rows[at]]]
        if host:
            who = f"{client_id or 'a member'} at {host.lstrip('/')}"
        elif facts.members[at] > 0:
            who = "the group has members, but it"
        else:
            who = "somebody commits the same offset again and again, and"
        return f"{self._behind(at)}; {who} has not got on for {span(float(facts.still[at]))}{self._used_to(at)}"

    def _stopped(self, at: int) -> str:
        facts, flags = self._facts, int(self._store.windows.flags[self._facts.rows[at]])
        if facts.members[at] == 0:
            why = "the group has no members"
        elif flags & ASSIGNMENT_KNOWN and not flags & ASSIGNED:
            why = "no member has this partition"
        else:
            why = "nobody commits"
        return f"{self._behind(at)}; {why}, and the last commit was {self._unmoved(at)} ago{self._used_to(at)}"

    def _recreated(self, at: int) -> str:
        facts = self._facts
        commit, end = facts.committed[at], facts.log_end[at]
        if facts.recreated[at]:
            return f"the commit {commit} was made for an earlier topic of this name; this one ends at {end}"
        return f"the commit {commit} lies beyond the end {end}: the topic was made anew, or its log was cut"

    def _loss(self, at: int) -> str:
        facts = self._facts
        if facts.committed[at] > facts.log_end[at] >= 0:
            return f"the log was cut back to {facts.log_end[at]}, and {facts.committed[at]} was committed"
        lost, begins = int(facts.start[at] - facts.position[at]), facts.start[at]
        return f"{records(lost)} deleted before being read: committed {facts.committed[at]}, the log begins at {begins}"

    # ---- parts -----------------------------------------------------------------------------------------------------------

    def _behind(self, at: int) -> str:
        seconds = float(self._facts.seconds[at])
        time = "" if math.isnan(seconds) else f" ({span(seconds)})"
        return f"{records(int(self._facts.lag[at]))} behind{time}"

    def _unmoved(self, at: int) -> str:
        moved = int(self._store.windows.moved_at[self._facts.rows[at]])
        return span((tenths(self._store, self._facts.now) - moved) / 10)

    def _used_to(self, at: int) -> str:
        """Why the patience was longer than usual."""
        gap = float(self._store.windows.gap[self._facts.rows[at]])
        if self._patience.pauses * gap <= self._patience.quiet:
            return ""
        return f" (its longest pause of late was {span(gap)})"

    def _growth(self, row: int) -> float:
        store = self._store
        times = np.array(store.ticks)
        samples = store.windows.samples[row : row + 1, -len(times) :]
        if np.count_nonzero(~np.isnan(samples)) < 2:
            return math.nan
        return float(slope(samples, times)[0])


def number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 3)


def _known(value: int) -> int | None:
    return int(value) if value >= 0 else None


_WORDS: Mapping[Status, Callable[[Speaker, int], str]] = {
    Status.OK: Speaker._ok,
    Status.EMPTY_GROUP: Speaker._empty,
    Status.ABANDONED_TOPIC: Speaker._abandoned,
    Status.WARMING_UP: Speaker._warming,
    Status.UNKNOWN: Speaker._unknown,
    Status.NEVER_COMMITTED: Speaker._never,
    Status.REWOUND: Speaker._rewound,
    Status.SLOW: Speaker._slow,
    Status.BEHIND_SLO: Speaker._slo,
    Status.STUCK_TRANSACTION: Speaker._stuck,
    Status.STALLED: Speaker._stalled,
    Status.STOPPED: Speaker._stopped,
    Status.TOPIC_RECREATED: Speaker._recreated,
    Status.DATA_LOSS: Speaker._loss,
}
