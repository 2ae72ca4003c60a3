"""Close every connection that one client has, once. It may connect again at once, and what was in flight is unknown.

Toxiproxy cannot tell one client from another, so the connections that others have to the same brokers go too. Clients
also close connections for reasons of their own; so each broker gets an idle line of ours as well, which only the fault ends.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    _lines: list[socket.socket] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        return f"the connections of client {self.client} are dropped once"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        cluster, what = arena.cluster, f"{self.client} is connected"
        brokers = {cluster.ports_of(broker).client: broker for broker in cluster.brokers}
        open_now = wait_until(lambda: self._open(arena), bool, what=what, timeout=dial.PATIENCE_S)
        links = [Link(CLIENT, brokers[port]) for port in sorted({there for _, there in open_now})]
        with ExitStack() as lines:
            ours = [lines.enter_context(dial.line(cluster.links.addresses_of(link)[0])) for link in links]
            self._remember(ours, open_now)
            with cluster.broken(Cut(), *links):
                pass
            yield

    def bite(self, arena: Arena) -> str:
        if not self._doomed:
            raise NotReady(f"no connection of {self.client} was dropped: the fault was not applied.")
        if not all(dial.hung_up(line) for line in self._lines):
            raise NotReady(f"a line of ours beside those of {self.client} is still open: nothing was dropped.")
        wait_until(
            lambda: self._open(arena) & self._doomed,
            lambda left: not left,
            what=f"the old connections of {self.client} are closed",
            timeout=dial.PATIENCE_S,
        )
        return f"{len(self._doomed)} connections of {self.client} are gone, and our own beside them"

    def _remember(self, lines: list[socket.socket], doomed: frozenset[Connection]) -> None:
        self._lines[:] = lines
        self._doomed.clear()
        self._doomed.update(doomed)

    def _open(self, arena: Arena) -> frozenset[Connection]:
        ports = frozenset(arena.cluster.ports_of(broker).client for broker in arena.cluster.brokers)
        return connections(arena.traffic.pid(self.client), ports)
