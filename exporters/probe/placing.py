"""One partition of the probe's topic for each broker, kept so as brokers come and go. Pure.

A partition's home is its preferred leader. A broker that is down keeps its partition, for that it is down is what the probe
is there to tell; only when it has been gone for long does its partition find a new home.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kernel.cluster import PartitionState


@dataclass(frozen=True, slots=True)
class Moves:
    """What is to be done."""

    create: Sequence[Sequence[int]] = field(default_factory=list)  # an assignment for each new partition
    reassign: Mapping[int, Sequence[int]] = field(default_factory=dict)
    elect: Sequence[int] = field(default_factory=list)  # partitions whose home is back and does not lead yet

    def __bool__(self) -> bool:
        return bool(self.create or self.reassign or self.elect)


def home(state: PartitionState) -> int:
    return state.replicas[0]


def moves(partitions: Collection[PartitionState], alive: Collection[int], gone: Collection[int], replication: int) -> Moves:
    """`alive`: brokers that are there. `gone`: brokers that are not, and have not been for so long that they are not
    expected back. What is neither is down for now, and keeps what it has."""
    ring = sorted(alive)
    if not ring:
        return Moves()
    replication = min(replication, len(ring))
    led = [state for state in partitions if state.leader is not None]  # of the others nobody could take a copy
    homes = {home(state): state.partition for state in partitions if state.leader is None}
    spare: list[PartitionState] = []
    for state in sorted(led, key=lambda state: state.partition):
        if home(state) in gone or home(state) in homes:
            spare.append(state)
        else:
            homes[home(state)] = state.partition
    homeless = [broker for broker in ring if broker not in homes]
    reassign: dict[int, Sequence[int]] = {}
    for state in spare:
        # Kafka cannot take a partition away: one too many lives on with whoever has the fewest.
        broker = homeless.pop(0) if homeless else _least(ring, [*homes, *(new[0] for new in reassign.values())])
        if home(state) in gone or broker not in homes:
            reassign[state.partition] = replicas(broker, ring, replication)
        homes.setdefault(broker, state.partition)
    for state in led:
        short = home(state) in ring and len(state.replicas) < replication
        if state.partition not in reassign and (short or set(state.replicas) & set(gone)):
            reassign[state.partition] = replicas(home(state), ring, replication)
    elect = [
        state.partition
        for state in partitions
        if state.partition not in reassign
        and state.leader != home(state)
        and home(state) in state.isr
        and home(state) in ring
    ]
    if reassign:  # new ones must have as many replicas as the others, and how many that are is known when those have moved
        return Moves(reassign=reassign, elect=elect)
    copies = min((len(state.replicas) for state in partitions), default=replication)
    return Moves(create=[replicas(broker, ring, copies) for broker in homeless], elect=elect)


def replicas(first: int, ring: Sequence[int], replication: int) -> list[int]:
    """`first`, and those who follow it in the ring, so that every broker follows as often as it leads."""
    others = [broker for broker in ring if broker != first]
    start = next((place for place, broker in enumerate(others) if broker > first), 0)
    turned = others[start:] + others[:start]
    return [first, *turned][: max(1, replication)]


def _least(ring: Sequence[int], taken: Collection[int]) -> int:
    counts = Counter(taken)
    return min(ring, key=lambda broker: (counts[broker], broker))
