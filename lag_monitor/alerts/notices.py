"""One thing to be told of one incident: that it is open, that it goes on, that it is over."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from lag_monitor.alerts.readings import Worst
from lag_monitor.verdict import Gravity


class Kind(StrEnum):
    OPEN = "open"
    REPEAT = "repeat"
    CLOSE = "close"
    REFRESH = "refresh"  # for receivers that forget what is not told again; no person is to hear of it


@dataclass(frozen=True, slots=True)
class Notice:
    incident: str
    seq: int  # within the incident, from 1; a refresh has the number of what it says again
    kind: Kind
    route: str
    channels: tuple[str, ...]
    cluster: str
    group: str
    status: str
    gravity: Gravity
    reason: str
    lag: int
    seconds: float | None
    since: float
    partitions: tuple[Worst, ...]
    began: float  # when it was first seen bad
    opened_at: float
    at: float
    previous: str  # the status that was told before; empty if nothing was
    severity: str  # the same from open to close, however the status changes

    @property
    def key(self) -> str:
        """By which a receiver knows that the same thing reached it twice."""
        return f"{self.incident}/{self.seq}"

    def fields(self) -> dict[str, Any]:
        """For templates and for JSON."""
        plain = asdict(self)
        plain |= {"kind": self.kind.value, "gravity": self.gravity.name, "channels": list(self.channels)}
        plain |= {"partitions": [asdict(part) for part in self.partitions]}
        return plain | {"key": self.key, "duration": max(0.0, self.at - self.opened_at)}
