"""Kill one client outright: what it had not yet committed, flushed or closed is for others to sort out.

There is nothing to heal; whoever runs the traffic starts a new client, under a new name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults.clients_seen import gone
from chaos.faults.fault import Arena


@dataclass(frozen=True, slots=True)
class KillClient:
    client: str
    kind: ClassVar[str] = "kill-client"
    # Not part of the value: the process that was killed, in case the name soon belongs to another.
    _victim: list[int | None] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        return f"client {self.client} is killed (SIGKILL)"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        self._victim[:] = [arena.traffic.pid(self.client)]
        arena.traffic.kill(self.client)
        yield

    def bite(self, arena: Arena) -> str:
        return gone(self.client, self._victim[0] if self._victim else arena.traffic.pid(self.client))
