"""Freeze one client. Held longer than its session, its group goes on without it, and it wakes up to a partition lost.

SIGSTOP: the sharpest test of fencing, because the client itself never learns that time has passed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.clients_seen import frozen
from chaos.faults.fault import Arena


@dataclass(frozen=True, slots=True)
class FreezeClient:
    client: str
    kind: ClassVar[str] = "freeze-client"

    @property
    def sentence(self) -> str:
        return f"client {self.client} is frozen (SIGSTOP)"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.traffic.pause(self.client)
            yield
        finally:
            arena.traffic.resume(self.client)

    def bite(self, arena: Arena) -> str:
        return frozen(self.client, arena.traffic.pid(self.client))
