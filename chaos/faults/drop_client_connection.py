"""Close every connection that one client has, once. It may connect again at once, and what was in flight is unknown.

Toxiproxy cannot tell one client from another, so the connections that others have to the same brokers go too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults import dial
from chaos.faults.clients_seen import Connection, connections
from chaos.faults.fault import Arena
from compose.links import CLIENT, Link
from compose.toxics import Cut
from kernel.errors import NotReady
from kernel.waiting import wait_until


@dataclass(frozen=True, slots=True)
class DropClientConnection:
    client: str
    kind: ClassVar[str] = "drop-client-connection"
    # Not part of the value: the connections that are to vanish. Afterwards the client has new ones that look the same.
    _doomed: set[Connection] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        return f"the connections of client {self.client} are dropped once"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        brokers = {arena.cluster.ports_of(broker).client: broker for broker in arena.cluster.brokers}
        self._doomed.clear()
        self._doomed.update(
            wait_until(lambda: self._open(arena), bool, what=f"{self.client} connected", timeout=dial.PATIENCE_S)
        )
        with arena.cluster.broken(Cut(), *(Link(CLIENT, brokers[port]) for port in {there for _, there in self._doomed})):
            pass
        yield

    def bite(self, arena: Arena) -> str:
        if not self._doomed:
            raise NotReady(f"no connection of {self.client} was dropped: the fault was not applied.")
        wait_until(
            lambda: self._open(arena) & self._doomed,
            lambda left: not left,
            what=f"the old connections of {self.client} are closed",
            timeout=dial.PATIENCE_S,
        )
        return f"{len(self._doomed)} connections of {self.client} are gone, it has {len(self._open(arena))} new ones"

    def _open(self, arena: Arena) -> frozenset[Connection]:
        ports = frozenset(arena.cluster.ports_of(broker).client for broker in arena.cluster.brokers)
        return connections(arena.traffic.pid(self.client), ports)
