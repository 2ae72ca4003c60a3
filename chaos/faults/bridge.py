"""Two halves that know each other only through one node, which sees everybody (Jepsen's bridge).

The others take sides in turn, in order of their ids, so that brokers and controllers of their own are on both.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, CanBeBroken
from chaos.faults.severed import links_where, manner, seen_severed, severed
from compose.links import CLIENT, Link


@dataclass(frozen=True, slots=True)
class Bridge:
    node: int
    silent: bool = False
    kind: ClassVar[str] = "bridge"

    @property
    def sentence(self) -> str:
        return f"node {self.node} is the only bridge between two halves of the cluster ({manner(self.silent)})"

    def links(self, cluster: CanBeBroken) -> tuple[Link, ...]:
        others = sorted(set(cluster.nodes) - {self.node})
        left, right = set(others[::2]), set(others[1::2])
        return links_where(
            cluster,
            lambda link: link.source != CLIENT and {link.source, link.target} <= left | right and _across(link, left),
        )

    def applied(self, arena: Arena) -> AbstractContextManager[None]:
        return severed(arena.cluster, self.links(arena.cluster), silent=self.silent)

    def bite(self, arena: Arena) -> str:
        return seen_severed(arena.cluster, self.links(arena.cluster), silent=self.silent)


def _across(link: Link, left: set[int]) -> bool:
    return (link.source in left) != (link.target in left)
