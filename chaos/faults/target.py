"""Who is to be hit, by role or by name: "leader-of orders-0", "follower-of orders-0", "controller", "broker 2".

A schedule that names roles is about Kafka; one that names ids is about a run. So roles are written down beforehand and
turned into ids at the moment of injection, and what was hit is saved with the evidence.
"""

import random
import re
from dataclasses import dataclass
from typing import Literal, Protocol

from kernel.cluster import PartitionState
from kernel.errors import NotReady, UsageError

Role = Literal["leader-of", "follower-of", "controller", "broker", "client"]
KNOWN = '"broker 2", "leader-of orders-0", "follower-of orders-0", "controller", or a node id'


class CanBeAsked(Protocol):
    """What resolving needs of a cluster."""

    @property
    def nodes(self) -> tuple[int, ...]: ...
    def partition(self, topic: str, partition: int) -> PartitionState: ...
    def controller(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Target:
    role: Role
    node: int = 0
    topic: str = ""
    partition: int = 0
    client: str = ""


def parse(words: str | int) -> Target:
    """The words of a schedule as a target; a bare number is a broker."""
    text = str(words).strip()
    if match := re.fullmatch(r"(?:(?:broker|node|controller) +)?(\d+)", text):
        return Target("broker", node=int(match[1]))
    if match := re.fullmatch(r"(leader-of|follower-of) +([\w.-]+)-(\d+)", text):
        role: Role = "leader-of" if match[1] == "leader-of" else "follower-of"
        return Target(role, topic=match[2], partition=int(match[3]))
    if match := re.fullmatch(r"client +(\S+)", text):
        return Target("client", client=match[1])
    if text == "controller":
        return Target("controller")
    raise UsageError(f"target {words!r} is not known: say {KNOWN}.", target=words)


def resolve(target: Target | str | int, cluster: CanBeAsked, chance: random.Random | None = None) -> int:
    """The node that holds the role now. Where several fit: the smallest id, or whichever chance picks."""
    wanted = target if isinstance(target, Target) else parse(target)
    fitting = sorted(_fitting(wanted, cluster))
    return chance.choice(fitting) if chance is not None else fitting[0]


def _fitting(target: Target, cluster: CanBeAsked) -> set[int]:
    if target.role == "broker":
        if target.node not in cluster.nodes:
            known = ", ".join(map(str, cluster.nodes))
            raise UsageError(f"broker {target.node} does not exist: this cluster has {known}.", node=target.node)
        return {target.node}
    if target.role == "controller":
        return {cluster.controller()}
    if target.role == "client":
        raise UsageError(f"target 'client {target.client}' is not a node: say {KNOWN}.")
    state = cluster.partition(target.topic, target.partition)
    if state.leader is None:
        raise NotReady(f"{target.topic}-{target.partition} has no leader now, so nobody is its {target.role[:-3]}.")
    if target.role == "leader-of":
        return {state.leader}
    followers = set(state.isr) - {state.leader} or set(state.replicas) - {state.leader}
    if not followers:
        raise NotReady(f"{target.topic}-{target.partition} has no follower: its only replica is {state.leader}.")
    return followers
