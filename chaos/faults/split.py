"""Split the cluster in two: the nodes named here on one side, all others on the other.

With `clients`, the clients stand on the other side and cannot reach the brokers named here.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, CanBeBroken
from chaos.faults.severed import links_where, manner, seen_severed, severed
from compose.links import CLIENT, Link


@dataclass(frozen=True, slots=True)
class Split:
    nodes: tuple[int, ...]  # the minority, usually
    clients: bool = True
    silent: bool = False
    kind: ClassVar[str] = "split"

    @property
    def sentence(self) -> str:
        side = " and ".join(map(str, self.nodes))
        return f"nodes {side} are split from all others{' and from clients' if self.clients else ''} ({manner(self.silent)})"

    def links(self, cluster: CanBeBroken) -> tuple[Link, ...]:
        return links_where(cluster, self._across)

    def _across(self, link: Link) -> bool:
        if link.source == CLIENT:
            return self.clients and link.target in self.nodes
        return (link.source in self.nodes) != (link.target in self.nodes)

    def applied(self, arena: Arena) -> AbstractContextManager[None]:
        return severed(arena.cluster, self.links(arena.cluster), silent=self.silent)

    def bite(self, arena: Arena) -> str:
        return seen_severed(arena.cluster, self.links(arena.cluster), silent=self.silent)
