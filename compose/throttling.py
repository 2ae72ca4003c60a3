"""A limit on how fast replicas are copied, as an operator sets it: a rate on brokers, and on topics the replicas it is for.

Without the second the first does nothing. Whoever is in the ISR is never held back, whatever is set.
"""

from collections.abc import Iterable, Mapping

from compose.reassigning import Moves, added

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
Config = dict[str, str | None]


def rates(rate: int | None) -> Config:
    """For each broker, in bytes a second; None takes them off."""
    return {key: None if rate is None else str(rate) for key in RATES}


def throttled_replicas(before: Moves, after: Moves) -> dict[str, Config]:
    """For each topic: those that are copied from (all that were there before), and those that are copied to."""
    configs: dict[str, Config] = {}
    for topic in sorted({topic for topic, _ in after}):
        mine = {partition: where for where in sorted(after) for name, partition in [where] if name == topic}
        new = added(before, after)
        configs[topic] = {
            LEADERS: _listed({partition: before[where] for partition, where in mine.items()}),
            FOLLOWERS: _listed({partition: new[where] for partition, where in mine.items()}),
        }
    return configs


def nobody(topics: Iterable[str]) -> dict[str, Config]:
    return {topic: {LEADERS: None, FOLLOWERS: None} for topic in topics}


def _listed(replicas: Mapping[int, Iterable[int]]) -> str:
    return ",".join(f"{partition}:{broker}" for partition, brokers in replicas.items() for broker in brokers)
