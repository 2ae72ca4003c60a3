"""Take one node off the network: nobody calls it, it calls nobody.

With `clients` its clients lose it too. Without, they still reach it: a deposed leader that nobody has told, which at
acks=1 goes on acknowledging what will be thrown away.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, CanBeBroken, called
from chaos.faults.severed import links_where, manner, seen_severed, severed
from compose.links import CLIENT, Link


@dataclass(frozen=True, slots=True)
class Isolate:
    node: int
    clients: bool = True
    silent: bool = False
    kind: ClassVar[str] = "isolate"

    @property
    def sentence(self) -> str:
        others = "its peers and its clients" if self.clients else "its peers, but not from its clients"
        return f"{called(self.node)} is isolated from {others} ({manner(self.silent)})"

    def links(self, cluster: CanBeBroken) -> tuple[Link, ...]:
        return links_where(
            cluster, lambda link: self.node in (link.source, link.target) and (self.clients or link.source != CLIENT)
        )

    def applied(self, arena: Arena) -> AbstractContextManager[None]:
        return severed(arena.cluster, self.links(arena.cluster), silent=self.silent)

    def bite(self, arena: Arena) -> str:
        return seen_severed(arena.cluster, self.links(arena.cluster), silent=self.silent)
