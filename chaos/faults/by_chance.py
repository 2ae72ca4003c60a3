"""Chance, within bounds: which faults a period of a drawn schedule holds, and whom they hit.

No node is hit twice in a period, because a probe cannot see a slow link behind a dead broker. Of the faults that take a
node away there are never more at a time than the cluster survives; those on links are mild, or on links of clients.
"""

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from kernel.errors import UsageError

Plan = dict[str, Any]
MOST_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class World:
    """What there is to hit, and how many nodes may be missing at a time."""

    brokers: tuple[int, ...]
    partitions: tuple[tuple[str, int], ...]
    clients: tuple[str, ...]
    survivable: int

    def usable(self, families: Collection[str]) -> tuple[str, ...]:
        """The families that can be drawn from here, in the order of the catalogue."""
        if unknown := sorted(set(families) - set(FAMILIES)):
            raise UsageError(f"fault family {unknown[0]!r} is not known: choose from {', '.join(FAMILIES)}.")
        usable = tuple(
            family
            for family in FAMILIES
            if family in families
            and (family not in BROKER_LEVEL or self.survivable > 0)
            and (family != "client" or self.clients)
        )
        if not usable:
            raise UsageError(
                f"none of the fault families {', '.join(sorted(families))} can be used: {len(self.brokers)} brokers survive "
                f"the loss of {self.survivable}, and there are {len(self.clients)} clients to hit."
            )
        return usable


def survivable(brokers: int, *, voters: int | None = None, replication: int = 3, min_isr: int = 2) -> int:
    """How many nodes may be missing at a time while metadata moves on and acks=all is still acknowledged."""
    quorum = voters if voters is not None else (3 if brokers >= 3 else 1)
    return max(0, min((quorum - 1) // 2, min(replication, brokers) - min_isr))


def busy_period(families: Collection[str], world: World, chance: random.Random) -> list[Plan]:
    """A random subset of the families, at least one, each hitting somebody else."""
    chosen = chance.sample(list(families), chance.randint(1, min(MOST_AT_ONCE, len(families))))
    away = [family for family in chosen if family in BROKER_LEVEL][: world.survivable]
    others = [family for family in chosen if family not in BROKER_LEVEL]
    free = list(world.brokers)
    chance.shuffle(free)
    clients = list(world.clients)
    chance.shuffle(clients)
    plans = []
    alone = len(away) == 1 and not any(family in ON_LINKS for family in others)
    for family in away:
        victim = free.pop()
        plans.append(BROKER_LEVEL[family](_role(victim, world, chance) if alone else victim, chance))
    for family in others:
        if family in ON_LINKS and free:
            plans.append(ON_LINKS[family](free, chance))
        elif family == "client":
            plans.append({"fault": chance.choice(CLIENT_FAULTS), "client": clients.pop()})
    return plans


def _role(victim: int, world: World, chance: random.Random) -> str | int:
    """Somebody who matters, by role; or just the victim. Which node that is, the moment of injection decides."""
    roles: list[str | int] = [victim, "controller"]
    if world.partitions:
        topic, partition = chance.choice(world.partitions)
        roles += [f"leader-of {topic}-{partition}", f"follower-of {topic}-{partition}"]
    return chance.choice(roles)


def _kill(victim: str | int, chance: random.Random) -> Plan:
    return {"fault": "kill-broker", "node": victim}


def _stop(victim: str | int, chance: random.Random) -> Plan:
    return {"fault": "stop-broker", "node": victim}


def _pause(victim: str | int, chance: random.Random) -> Plan:
    return {"fault": "pause-broker", "node": victim}


def _restart(victim: str | int, chance: random.Random) -> Plan:
    return {"fault": "restart-broker", "node": victim, "hard": chance.random() < 0.5}


def _isolate(victim: str | int, chance: random.Random) -> Plan:
    return {"fault": "isolate", "node": victim, "clients": chance.random() < 0.5, "silent": chance.random() < 0.5}


def _latency(free: list[int], chance: random.Random) -> Plan:
    """On one link between two nodes that nothing else hits, or on the one to a client."""
    links = [_client_link(free[-1])]
    if len(free) > 1:
        links += [{"source": free[0], "target": free[-1], "traffic": traffic} for traffic in ("replication", "controller")]
    free.pop()
    direction = chance.choice(("upstream", "downstream"))
    return {"fault": "latency", "links": [chance.choice(links)], "ms": chance.randint(50, 300), "direction": direction}


def _throttle(free: list[int], chance: random.Random) -> Plan:
    direction = chance.choice(("upstream", "downstream"))
    return {
        "fault": "bandwidth",
        "links": [_client_link(free.pop())],
        "kbytes": chance.randint(50, 200),
        "direction": direction,
    }


def _reset(free: list[int], chance: random.Random) -> Plan:
    return {"fault": "reset", "links": [_client_link(free.pop())], "after_ms": chance.randint(0, 200)}


def _client_link(broker: int) -> Plan:
    return {"source": "client", "target": broker, "traffic": "client"}


BROKER_LEVEL: dict[str, Callable[[str | int, random.Random], Plan]] = {
    "kill": _kill,
    "stop": _stop,
    "pause": _pause,
    "restart": _restart,
    "isolate": _isolate,
}
ON_LINKS: dict[str, Callable[[list[int], random.Random], Plan]] = {
    "latency": _latency,
    "throttle": _throttle,
    "reset": _reset,
}
CLIENT_FAULTS = ("kill-client", "freeze-client", "drop-client-connection")
FAMILIES = (*BROKER_LEVEL, *ON_LINKS, "client")
