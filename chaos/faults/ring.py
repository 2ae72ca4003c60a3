"""Every node sees a majority, and no two see the same one (Jepsen's majorities ring).

Each node calls only its nearest neighbours in a ring, just enough to make a majority with itself: of three nodes the
next one alone, of four or five the next and the one before. Nobody is cut off, and still nobody agrees on who is there.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import Arena, CanBeBroken
from chaos.faults.severed import links_where, manner, seen_severed, severed
from compose.links import Link
from kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Ring:
    nodes: tuple[int, ...]  # in the order of the ring
    silent: bool = False
    kind: ClassVar[str] = "ring"

    def __post_init__(self) -> None:
        if len(set(self.nodes)) < 3 or len(set(self.nodes)) < len(self.nodes):
            raise UsageError(f"nodes {list(self.nodes)} make no ring: name at least three, each once.")

    @property
    def sentence(self) -> str:
        return f"nodes {', '.join(map(str, self.nodes))} see only their neighbours in a ring ({manner(self.silent)})"

    def neighbours(self, node: int) -> set[int]:
        place, around = self.nodes.index(node), len(self.nodes)
        steps = [step for far in range(1, around) for step in (far, -far)]  # next, previous, next but one, …
        return {self.nodes[(place + step) % around] for step in steps[: around // 2]}

    def links(self, cluster: CanBeBroken) -> tuple[Link, ...]:
        return links_where(cluster, self._unseen)

    def _unseen(self, link: Link) -> bool:
        both = link.source in self.nodes and link.target in self.nodes
        return both and link.target not in self.neighbours(int(link.source))

    def applied(self, arena: Arena) -> AbstractContextManager[None]:
        return severed(arena.cluster, self.links(arena.cluster), silent=self.silent)

    def bite(self, arena: Arena) -> str:
        return seen_severed(arena.cluster, self.links(arena.cluster), silent=self.silent)
