"""A consumer in the middle of its work: what it has in hand, what its group was told of it, and how a group gets to the end.

Shared by the scenarios in which a member is killed there. A record in hand was handed over and is not processed yet.
"""

from typing import Any

from chaos.trial import Trial

Held = list[list[Any]]  # topic, partition, offset, value


def hold(trial: Trial, name: str) -> Held:
    """Have a consumer stop in the middle of the next batch, alive to its group; returns what it has in hand."""
    victim = trial.traffic.client(name)
    victim.order("hold")
    return trial.wait(
        "records in hand", lambda: victim.status.get("holding") or [], bool, what=f"{name} in the middle of its work",
        timeout=60,
    )  # fmt: skip


def wait_told(trial: Trial, name: str, offsets: dict[str, int]) -> None:
    """Until the group was told so much in the background."""
    victim = trial.traffic.client(name)
    trial.wait(
        "committed in the background", lambda: victim.status.get("committed", {}), lambda told: _reaches(told, offsets),
        what=f"the group told that {name} is at {offsets}", timeout=60,
    )  # fmt: skip


def past(held: Held) -> dict[str, int]:
    """The positions of one that counts what it has in hand as done."""
    return {place: max(offsets) + 1 for place, offsets in _offsets(held).items()}


def short_of(held: Held) -> dict[str, int]:
    """The positions of one that does not."""
    return {place: min(offsets) for place, offsets in _offsets(held).items()}


def values(held: Held) -> list[int]:
    return [value for *_, value in held]


def read_to_the_end(trial: Trial, group: str = "trial") -> None:
    """Nothing but this traffic is in the topic, so as many records as were acknowledged are to be committed."""
    trial.wait(
        "read to the end",
        lambda: {
            where: count - trial.cluster.committed(trial.group(group)).get(where, 0)
            for where, count in trial.traffic.acked().items()
        },
        lambda lag: not any(lag.values()),
        what="the group has committed everything (lag is shown)",
        timeout=90,
        every=0.3,
    )


def _offsets(held: Held) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for topic, partition, offset, _ in held:
        places.setdefault(f"{topic}-{partition}", []).append(offset)
    return places


def _reaches(told: dict[str, int], offsets: dict[str, int]) -> bool:
    return all(told.get(place, -1) >= offset for place, offset in offsets.items())
