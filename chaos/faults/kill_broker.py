"""Kill one broker outright, and bring it back.

SIGKILL, not a controlled shutdown: the point is to pay the full price of an election.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, called
from chaos.faults.nodes_seen import gone


@dataclass(frozen=True, slots=True)
class KillBroker:
    node: int
    kind: ClassVar[str] = "kill-broker"

    @property
    def sentence(self) -> str:
        return f"{called(self.node)} is killed (SIGKILL)"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.kill(self.node)
            yield
        finally:
            arena.cluster.start(self.node)  # harmless if the kill never landed

    def bite(self, arena: Arena) -> str:
        return gone(arena.cluster, self.node)
