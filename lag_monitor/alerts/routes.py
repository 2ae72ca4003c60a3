"""Which groups are told of to whom, from which gravity on, and what is kept quiet meanwhile. Pure."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from kernel.errors import UsageError
from lag_monitor.alerts.readings import Judge, Reading, gravity_of, reading
from lag_monitor.verdict import Gravity, GroupVerdict, Status

SEVERITIES = {Gravity.NOTE: "info", Gravity.ERROR: "critical"}  # Prometheus' customary words; the rest: warning


class Sight(StrEnum):
    BAD = "bad"
    GOOD = "good"
    BLIND = "blind"  # nothing can be said: neither opens, nor closes, nor counts as good


@dataclass(frozen=True, slots=True)
class Route:
    """Every route that covers a group has an incident of its own: a group may be told of to several teams.

    Patterns are searched for anywhere in the name; an empty one covers everything, and an empty `deny` denies nothing.
    `min_lag` and `min_seconds` narrow what the threshold lets through; with the threshold OK, they are all there is.
    """

    name: str
    channels: tuple[str, ...]
    clusters: str = ""
    allow: str = ""
    deny: str = ""
    judge: Judge = "own"
    threshold: Gravity = Gravity.ERROR
    min_lag: int | None = None
    min_seconds: float | None = None
    after: float = 0.0  # seconds it must be bad before it opens
    close_after: float = 0.0  # seconds it must be good before it closes
    repeat: float = 3600.0  # seconds; 0 is never
    severity: str = ""  # a word for Alertmanager's label; if empty, it follows from the threshold

    def __post_init__(self) -> None:
        for key, pattern in (("clusters", self.clusters), ("allow", self.allow), ("deny", self.deny)):
            _checked(f"{key} of the route {self.name}", pattern)
        if not self.channels:
            raise UsageError(f"the route {self.name} has no channels: nobody would be told.")
        if self.threshold is Gravity.OK and self.min_lag is None and self.min_seconds is None:
            raise UsageError(f"the route {self.name} has the threshold OK and neither min_lag nor min_seconds: all is told.")
        if min(self.after, self.close_after, self.repeat) < 0:
            raise UsageError(f"the route {self.name} has after, close_after or repeat below 0.")

    def covers(self, cluster: str, group: str) -> bool:
        denied = bool(self.deny) and _found(self.deny, group)
        return _found(self.clusters, cluster) and _found(self.allow, group) and not denied

    def sight(self, verdict: GroupVerdict) -> Sight:
        """A lag in seconds that is not known never hides a group: `min_seconds` is then taken as reached."""
        if verdict.status is Status.UNKNOWN:
            return Sight.BLIND
        too_little = self.min_lag is not None and verdict.lag < self.min_lag
        too_late = self.min_seconds is None or verdict.seconds is None or verdict.seconds >= self.min_seconds
        if too_little or not too_late:
            return Sight.GOOD
        if gravity_of(verdict, self.judge) >= self.threshold:
            return Sight.BAD
        # A monitor that was started again knows too little to call a group that is behind well: that would close every
        # incident at each restart, and open it again a few minutes later.
        return Sight.BLIND if verdict.status is Status.WARMING_UP else Sight.GOOD

    def reading(self, verdict: GroupVerdict) -> Reading:
        """A group that our judge finds well, and that is told of for its lag alone, has a word of its own."""
        seen = reading(verdict, self.judge)
        if seen.gravity is not Gravity.OK or self.sight(verdict) is not Sight.BAD:
            return seen
        reason = f"its lag has reached the bound of the route {self.name}; the judge says {seen.status}: {seen.reason}"
        return replace(seen, status="LAG", gravity=Gravity.WARNING, rank=Gravity.WARNING * 100, reason=reason)

    @property
    def severity_label(self) -> str:
        return self.severity or SEVERITIES.get(self.threshold, "warning")


@dataclass(frozen=True, slots=True)
class Silence:
    clusters: str = ""
    groups: str = ""
    until: float | None = None  # seconds since the epoch; None is until it is taken away
    comment: str = ""

    def __post_init__(self) -> None:
        for key, pattern in (("clusters", self.clusters), ("groups", self.groups)):
            _checked(f"{key} of a silence", pattern)

    def covers(self, cluster: str, group: str, now: float) -> bool:
        lasts = self.until is None or now < self.until
        return lasts and _found(self.clusters, cluster) and _found(self.groups, group)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _found(pattern: str, name: str) -> bool:
    return not pattern or _compiled(pattern).search(name) is not None


def _checked(what: str, pattern: str) -> None:
    try:
        _compiled(pattern)
    except re.error as trouble:
        raise UsageError(f"{what} = {pattern!r} is not a regular expression: {trouble}.") from None
