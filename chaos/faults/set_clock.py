"""Set the clock of one broker ahead or behind while it runs, and right again.

The time of day alone: sessions and timeouts are measured by a clock that nobody can set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults import dial
from chaos.faults.fault import Arena, called
from kernel.waiting import wait_until

NEAR_S = 5.0  # what a record takes to be stamped, and more


@dataclass(frozen=True, slots=True)
class SetClock:
    node: int
    seconds: int
    behind: bool = False
    kind: ClassVar[str] = "set-clock"

    @property
    def sentence(self) -> str:
        return f"the clock of {called(self.node)} is set {self.seconds} s {'behind' if self.behind else 'ahead'}"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.set_clock(self.node, -self.seconds if self.behind else self.seconds)
            yield
        finally:
            arena.cluster.set_clock(self.node, 0)

    def bite(self, arena: Arena) -> str:
        wanted = -self.seconds if self.behind else self.seconds
        ahead = wait_until(
            lambda: arena.cluster.clock_of(self.node),
            lambda ahead: abs(ahead - wanted) < NEAR_S,
            what=f"the clock of {called(self.node)} is {wanted:+d} s from ours",
            timeout=dial.PATIENCE_S,
        )
        return f"{called(self.node)} puts a time on a record that is {ahead:+.1f} s from ours"
