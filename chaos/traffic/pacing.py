"""When the next record is due. Open loop: the plan does not wait for the cluster, and its lateness is written down.

A producer that waits for an answer before it sends again would hide an outage: during ten dark seconds it would have
tried once. Here the records of those ten seconds are all due at their own time, sent as soon as they can be.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """`rate` records a second from `start_ns` on; `sent` counts those that were handed out."""

    rate: float
    start_ns: int
    sent: int = 0

    def due(self, now_ns: int) -> int:
        """How many records should have been sent by now and were not."""
        return max(0, int((now_ns - self.start_ns) * self.rate / 1e9) + 1 - self.sent)

    def take(self) -> int:
        """The time at which the next record was to be sent."""
        scheduled = self.start_ns + int(self.sent * 1e9 / self.rate)
        self.sent += 1
        return scheduled

    def wait_s(self, now_ns: int) -> float:
        return max(0.0, (self.start_ns + self.sent * 1e9 / self.rate - now_ns) / 1e9)

    def resumed(self, now_ns: int) -> None:
        """After a deliberate rest, nothing of the rest is due."""
        self.start_ns = now_ns - int(self.sent * 1e9 / self.rate)
