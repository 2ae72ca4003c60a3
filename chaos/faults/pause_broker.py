"""Freeze one broker, as a long garbage collection or a stalled disk would.

SIGSTOP: connections stay open and nobody answers, so clients burn their request timeouts instead of being told at once.
Once it thaws it may believe for a moment that it still leads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, called
from chaos.faults.nodes_seen import silent


@dataclass(frozen=True, slots=True)
class PauseBroker:
    node: int
    kind: ClassVar[str] = "pause-broker"

    @property
    def sentence(self) -> str:
        return f"{called(self.node)} is paused (SIGSTOP)"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.pause(self.node)
            yield
        finally:
            arena.cluster.resume(self.node)

    def bite(self, arena: Arena) -> str:
        return silent(arena.cluster, self.node)
