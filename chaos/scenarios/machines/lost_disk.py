"""What a broker that loses its only log directory is put through, whatever is wrong with the disk."""

from collections.abc import Callable
from typing import Any

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.fail_disk import FailDisk
from chaos.faults.fill_disk import FillDisk
from chaos.scenarios.scenario import Option
from chaos.traffic.client import Client
from chaos.trial import Trial

REPLICAS = Option("3", ("1", "3"), "replicas of each partition; 1: nobody can take over")


def lose_the_disk(
    trial: Trial,
    fault: FillDisk | FailDisk,
    *,
    before: Callable[[Trial, Client], None] = lambda _trial, _producer: None,
) -> None:
    copies = int(trial.options["replication"])
    orders = trial.topic("orders", assignment=trial.spread(3, first=fault.node, replication=copies))
    # Where a log may be cut, librdkafka's idempotent producers would fail for good: their sequence has a gap then.
    alone: dict[str, Any] = {"idempotence": False, "config": {"max.in.flight": 1}} if copies == 1 else {}
    producer = trial.producer("producer-1", orders, **alone)
    if copies > 1:  # what one broker alone has may be lost to whoever has not read it: so nobody reads
        trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    affected = trial.partitions_with(fault.node)
    bound = bounds.kill_broker(trial.given(), active_controller=trial.cluster.controller() == fault.node, leads_again=True)
    before(trial, producer)
    with trial.inject(fault, affected=affected, send=bound) as name:
        producer.order("resume")
        ends_itself(trial, fault.node)
        offline(trial, fault.node, limit=bound.seconds)
        trial.hold(name, bound.seconds)  # what is dark must be seen to be dark for longer than a kill would make it
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def ends_itself(trial: Trial, node: int) -> None:
    trial.wait(
        "ends itself", lambda: trial.cluster.running(node), lambda running: not running,
        what=f"broker {node} ends itself, its only log directory gone", timeout=30,
    )  # fmt: skip
    trial.expect("ends itself", True, f"Broker {node} ends itself: its only log directory has failed.")


def offline(trial: Trial, victim: int, *, limit: float) -> None:
    """Every partition it led is led elsewhere, but for those that nobody else has: these, and no others, have no leader."""
    states = trial.wait(
        "gone as a leader",
        lambda: trial.cluster.view.partitions(*trial.topics),
        lambda states: all(state.leader != victim for state in states),
        what=f"no partition led by broker {victim}", timeout=limit + 30,
    )  # fmt: skip
    dark = {(state.topic, state.partition) for state in states if state.leader is None}
    alone = {(state.topic, state.partition) for state in states if set(state.replicas) == {victim}}
    told = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(dark)) or "none"
    trial.expect("led elsewhere", not dark, f"Every partition is led by another broker; offline: {told}.")
    trial.expect(
        "offline", dark == alone, f"Exactly the partitions that nobody else has ({len(alone)}) are offline: {told}."
    )


def nothing_lost(trial: Trial, account: Account) -> None:
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )
