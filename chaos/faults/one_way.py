"""One node cannot call another, while the other still can call it.

A link belongs to whoever opens the connection, and Kafka pulls: what `source` can no longer do is fetch from `target`
(as its follower, or as a voter behind the active controller) and send it heartbeats. `target` goes on fetching from
`source` over its own connections, so each may see the other differently.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, CanBeBroken
from chaos.faults.severed import links_where, manner, seen_severed, severed
from compose.links import Link


@dataclass(frozen=True, slots=True)
class OneWay:
    source: int
    target: int
    silent: bool = False
    kind: ClassVar[str] = "one-way"

    @property
    def sentence(self) -> str:
        return f"node {self.source} cannot call node {self.target}, which can call it ({manner(self.silent)})"

    def links(self, cluster: CanBeBroken) -> tuple[Link, ...]:
        return links_where(cluster, lambda link: (link.source, link.target) == (self.source, self.target))

    def applied(self, arena: Arena) -> AbstractContextManager[None]:
        return severed(arena.cluster, self.links(arena.cluster), silent=self.silent)

    def bite(self, arena: Arena) -> str:
        return seen_severed(arena.cluster, self.links(arena.cluster), silent=self.silent)
