"""The connections of a cluster, each by name, so that each can be broken alone.

A client reaches broker 2 over `Link("client", 2)`. Node 3 fetches from node 1 over `Link(3, 1, "replication")` and
sends its heartbeats over `Link(3, 1, "controller")`: the source is whoever opens the connection.
"""

from dataclasses import dataclass
from typing import Literal

from kernel.errors import UsageError

Traffic = Literal["client", "replication", "controller"]
CLIENT: Literal["client"] = "client"


@dataclass(frozen=True, slots=True)
class Link:
    source: int | Literal["client"]
    target: int
    traffic: Traffic = "client"

    def __post_init__(self) -> None:
        if (self.source == CLIENT) != (self.traffic == "client"):
            raise UsageError(
                f"link {self.source!r} to {self.target} cannot carry {self.traffic} traffic: clients send client traffic, "
                'nodes send "replication" or "controller" traffic to each other.'
            )
        if self.source == self.target:
            raise UsageError(f"link {self.source} to {self.target} does not exist: a node does not call itself.")

    @property
    def name(self) -> str:
        return f"client-{self.target}" if self.source == CLIENT else f"{self.source}-{self.target}-{self.traffic}"

    def __str__(self) -> str:
        return f"{self.source} → {self.target} ({self.traffic})"


def links_between(broker_ids: tuple[int, ...], controller_ids: tuple[int, ...]) -> tuple[Link, ...]:
    """Every connection that a cluster of these nodes ever opens."""
    nodes = tuple(dict.fromkeys((*controller_ids, *broker_ids)))
    return (
        *(Link(CLIENT, broker) for broker in broker_ids),
        *(Link(a, b, "replication") for a in broker_ids for b in broker_ids if a != b),
        *(Link(a, b, "controller") for a in nodes for b in controller_ids if a != b),
    )
