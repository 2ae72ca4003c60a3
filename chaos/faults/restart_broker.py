"""Restart one broker: down and up again before the hold begins, as in a rolling restart or a crash loop.

`hard` ends it by SIGKILL, otherwise by SIGTERM.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults import dial
from chaos.faults.fault import Arena, called
from kernel.waiting import wait_until

BEGINS = "Kafka Server started"  # once in the log for each life


@dataclass(frozen=True, slots=True)
class RestartBroker:
    node: int
    hard: bool = False
    kind: ClassVar[str] = "restart-broker"
    # Not part of the value: what the probe has to compare with, because afterwards the broker looks as before.
    _before: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        return f"{called(self.node)} is restarted ({'SIGKILL' if self.hard else 'SIGTERM'})"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        self._before[:] = [self._lives(arena)]
        try:
            arena.cluster.restart(self.node, hard=self.hard)
            yield
        finally:
            arena.cluster.start(self.node)

    def bite(self, arena: Arena) -> str:
        before = self._before[0] if self._before else self._lives(arena)
        lives = wait_until(
            lambda: self._lives(arena),
            lambda lives: lives > before,
            what=f"{called(self.node)} began a new life",
            timeout=dial.PATIENCE_S,
        )
        return f"{called(self.node)} is in life {lives} by its log, before it was {before}"

    def _lives(self, arena: Arena) -> int:
        return arena.cluster.log(self.node).count(BEGINS)
