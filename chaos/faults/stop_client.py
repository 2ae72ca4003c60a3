"""Close one client as it should be closed: what it has is finished, and its group is told.

No harm by itself, but a deployment does it to every client in turn, and what the others go through must stay in bounds.
There is nothing to heal; whoever runs the traffic starts a new client, under a new name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults.clients_seen import gone
from chaos.faults.fault import Arena


@dataclass(frozen=True, slots=True)
class StopClient:
    client: str
    kind: ClassVar[str] = "stop-client"
    _leaver: list[int | None] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        return f"client {self.client} is closed"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        self._leaver[:] = [arena.traffic.pid(self.client)]
        arena.traffic.close(self.client)
        yield

    def bite(self, arena: Arena) -> str:
        return gone(self.client, self._leaver[0] if self._leaver else arena.traffic.pid(self.client))
