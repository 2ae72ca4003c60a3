"""What the trials of an operator's work on partitions have in common: who has what, by name, and enough data to move."""

from collections.abc import Iterable

from chaos.traffic.traffic import Where
from chaos.trial import Trial
from compose.throttling import RATES
from kernel.cluster import PartitionState
from kernel.waiting import wait_until

FILLER_BYTES = 8_000  # of a record
SMALL_BATCHES = {"batch.size": 65_536}  # a batch is never fetched in parts, so a throttle is as fine as batches are small


def states_of(trial: Trial) -> dict[Where, PartitionState]:
    """The partitions of this run."""
    return {(state.topic, state.partition): state for state in trial.cluster.view.partitions(*trial.topics)}


def replicas_of(trial: Trial, topic: str) -> dict[Where, list[int]]:
    return {where: list(state.replicas) for where, state in states_of(trial).items() if where[0] == topic}


def named(places: Iterable[Where]) -> str:
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(places)) or "none"


def on_disk(trial: Trial) -> dict[Where, set[int]]:
    """The brokers that have something of each partition of this run. By their own word; and where their disks can be looked
    at, by what is there: a replica that is given up is no longer told of, but renamed, and deleted later."""
    held = {where: set(sizes) for where, sizes in trial.cluster.sizes(*trial.topics).items()}
    if trial.cluster.provider != "processes":
        return held
    for broker in trial.cluster.brokers:
        names = {folder.name for folder in trial.cluster.log_dir(broker).iterdir()}
        for topic, facts in trial.topics.items():
            for partition in range(facts["partitions"]):
                if any(name == f"{topic}-{partition}" or name.startswith(f"{topic}-{partition}.") for name in names):
                    held.setdefault((topic, partition), set()).add(broker)
    return held


def leaderless(trial: Trial) -> set[Where]:
    """The partitions of this run that anybody has seen without a leader."""
    seen = [event for event in trial.folder.events() if event["event"] == "partition" and event["topic"] in trial.topics]
    return {(state["topic"], state["partition"]) for state in seen if state["leader"] is None}


def wait_throttled(trial: Trial, rate: int) -> set[str | None]:
    """Until everybody who has to keep to a rate says so: a broker takes a moment to hear of it. Returns what they say."""
    return wait_until(
        lambda: {trial.cluster.effective_config(broker).get(key) for broker in trial.cluster.brokers for key in RATES},
        lambda told: told == {str(rate)}, what="the throttle in effect on every broker", timeout=30,
    )  # fmt: skip


def fill(trial: Trial, topic: str, megabytes: int) -> None:
    """So much data, as fast as it goes, before anything is measured."""
    count = megabytes * 1_000_000 // FILLER_BYTES
    trial.say(f"writing {megabytes} MB to {topic}")
    filler = trial.producer("filler", topic, rate=None, records=count, size=FILLER_BYTES, config=SMALL_BATCHES)
    wait_until(lambda: filler.status.get("ok", 0), lambda done: done >= count, what=f"{count} records written", timeout=90)
    trial.traffic.close("filler")
