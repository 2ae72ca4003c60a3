"""One toxic on any set of links: refused, swallowed, late, throttled, reset, sliced or cut off after some bytes.

A link is named by whoever opens the connection, a toxic works in one direction of it. That is all it takes to build
every network fault of this house; the partitions are the ones with a name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chaos.faults.fault import Arena
from chaos.faults.links_seen import KINDS, TOXICS, bitten
from compose.links import Link
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, Slicer, Toxic
from kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class LinkFault:
    links: tuple[Link, ...]
    toxic: Cut | Toxic

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", tuple(self.links))
        if not self.links:
            raise UsageError("a fault on no links does nothing: name at least one.")
        if type(self.toxic) not in KINDS:
            raise UsageError(f"{type(self.toxic).__name__} has no probe that sees it bite: use one of {', '.join(TOXICS)}.")
        # Toxiproxy takes these for "no delay" and "no limit"; the trial would wait for a bite that cannot come.
        for toxic, field in ((Latency, "ms"), (Bandwidth, "kbytes"), (Slicer, "size")):
            if isinstance(self.toxic, toxic) and not getattr(self.toxic, field):
                raise UsageError(f"{self.kind} with {field} 0 does nothing: give 1 or more.")

    @property
    def kind(self) -> str:
        return KINDS[type(self.toxic)]

    @property
    def sentence(self) -> str:
        return f"{_words(self.toxic)} on {', '.join(map(str, self.links))}"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        with arena.cluster.broken(self.toxic, *self.links):
            yield

    def bite(self, arena: Arena) -> str:
        return bitten(arena.cluster, self.links, self.toxic)


def _words(toxic: Cut | Toxic) -> str:
    if isinstance(toxic, Cut):
        return "cut"
    numbers = ", ".join(f"{name} {value}" for name, value in toxic.attributes().items())
    way = "requests" if toxic.direction == "upstream" else "answers"
    return f"{KINDS[type(toxic)]} of {way}" + (f" ({numbers})" if not isinstance(toxic, Blackhole) else "")
