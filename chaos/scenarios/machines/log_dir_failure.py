"""One of a broker's two log directories fails. Is the rest of the broker left alone?

The broker gives the directory up, tells the controller with its next heartbeat, and goes on with the other one: exactly the
partitions that lie on the failed disk are led elsewhere and lack it in their ISR; those on the other disk notice nothing.
"""

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.fail_disk import FailDisk
from chaos.scenarios.machines.lost_disk import REPLICAS, nothing_lost
from chaos.scenarios.scenario import Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial
from compose.disks import Disk
from kernel.cluster import PartitionState

VICTIM, FAILED = 3, 2  # the first directory also has the metadata log: without it a broker cannot go on
PARTITIONS = 4


def act(trial: Trial) -> None:
    copies = int(trial.options["replication"])
    ring = [VICTIM, *(broker for broker in trial.cluster.brokers if broker != VICTIM)]
    orders = trial.topic("orders", assignment=[ring[:copies]] * PARTITIONS)
    producer = trial.producer("producer-1", orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    there = _on_the_disk(trial, FAILED)
    producer.rest()
    trial.cluster.flush_disk(VICTIM, FAILED)  # what one replica alone has must not be lost to memory, which is another trial
    before = _states(trial, orders)
    bound = bounds.log_dir_failure(trial.given(), leads_again=True)
    # With one replica the restart that mends the disk darkens all, for longer than any bound: then it is measured only.
    alone = copies == 1
    affected = trial.partitions_with(VICTIM) if alone else there
    with trial.inject(FailDisk(VICTIM, FAILED), affected=affected, send=None if alone else bound) as name:
        producer.order("resume")
        _moved(trial, orders, there, before, limit=bound.seconds)
        trial.hold(name, bound.seconds)
        trial.expect("broker stays", trial.cluster.running(VICTIM), f"Broker {VICTIM} goes on with its other directory.")
        left = _on_the_disk(trial, FAILED)
        trial.expect("given up", not left, f"Nothing lies in the failed directory as the broker describes it: {len(left)}.")
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _on_the_disk(trial: Trial, directory: int) -> list[Where]:
    """The partitions of this run that lie there, as the broker itself describes it."""
    held = trial.cluster.view.log_dirs(VICTIM).get(str(trial.cluster.log_dir(VICTIM, directory)), frozenset())
    return sorted(where for where in held if where[0] in trial.topics)


def _states(trial: Trial, orders: str) -> dict[Where, PartitionState]:
    return {(state.topic, state.partition): state for state in trial.cluster.view.partitions(orders)}


def _moved(trial: Trial, orders: str, there: list[Where], before: dict[Where, PartitionState], *, limit: float) -> None:
    """Exactly what lies on the failed disk changes: its leader and its ISR, or it is offline if nobody else has it."""

    def changed() -> dict[Where, PartitionState]:
        return {where: state for where, state in _states(trial, orders).items() if state != before[where]}

    now = trial.wait(
        "moved", changed, lambda now: now.keys() >= set(there), what=f"{len(there)} partitions led elsewhere",
        timeout=limit + 30,
    )  # fmt: skip
    words = f"Exactly the {len(there)} of {PARTITIONS} partitions on the failed disk are affected"
    trial.expect("exact partitions", set(now) == set(there) and 0 < len(there) < PARTITIONS, f"{words}: {_told(now)}.")
    dark = sorted(where for where, state in now.items() if state.leader is None)
    trial.expect("led elsewhere", not dark, f"Each is led by another broker; offline: {_told(dark)}.")


def _told(places: "dict[Where, PartitionState] | list[Where]") -> str:
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(places)) or "none"


def conclude(trial: Trial, account: Account) -> None:
    nothing_lost(trial, account)


SCENARIO = Scenario(
    name="log-dir-failure",
    promise="one of a broker's two disks fails: only what lies on it is led elsewhere, the broker stays, nothing is lost",
    act=act,
    conclude=conclude,
    options={"replication": REPLICAS},
    spec=lambda _options: {"log_dirs": 2, "disks": (Disk(VICTIM, FAILED, "ext4", 96),)},
    spoils=True,
    twin={"replication": "1"},
    twin_finds="exactly the partitions that lie on the failed disk alone are offline until it is mended",
    question="When one of a broker's two log directories fails, what else is harmed?",
    steps="Broker 3 leads four partitions, spread over two log directories. The disk of the second turns read-only under "
    "traffic. Later it is checked and mounted again, and the broker restarted.",
    expectation="Exactly the partitions on the failed disk are led elsewhere, one heartbeat later; the broker and the "
    "partitions on its other disk go on. With one replica exactly those partitions are offline until the disk is mended.",
)
