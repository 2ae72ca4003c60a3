"""Stop one broker the polite way, and bring it back.

SIGTERM: the broker hands its leaderships over before it goes. If clients notice more than a blink, controlled shutdown
is broken, which is what makes this the twin of `kill_broker`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, called
from chaos.faults.nodes_seen import gone


@dataclass(frozen=True, slots=True)
class StopBroker:
    node: int
    kind: ClassVar[str] = "stop-broker"

    @property
    def sentence(self) -> str:
        return f"{called(self.node)} is stopped (SIGTERM)"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.stop(self.node)
            yield
        finally:
            arena.cluster.start(self.node)

    def bite(self, arena: Arena) -> str:
        return gone(arena.cluster, self.node)
