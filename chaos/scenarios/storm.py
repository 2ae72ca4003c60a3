"""Faults drawn at random from a seed, several at a time, with quiet periods; nothing acknowledged may be lost.

What is drawn never takes away more than quorum and min ISR can bear, so every anomaly is a finding. The schedule is saved
with the nodes it really hit, can be replayed from that file, and shrunk to the fewest faults that still fail.
"""

import time
from contextlib import AbstractContextManager

from chaos.faults.catalogue import from_json
from chaos.scenarios.scenario import ACKS, REPLICATION, Option, Scenario
from chaos.schedule import Schedule, Step
from chaos.trial import Trial

CLIENTS = ("consumer-1", "consumer-2")


def act(trial: Trial) -> None:
    acks = trial.options["acks"]
    orders = trial.topic("orders", replication=int(trial.options["replication"]))
    trial.producer("producer-1", orders, acks=acks, idempotence=acks == "all")
    for name in CLIENTS:
        trial.consumer(name, orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    schedule = trial.replayed or _drawn(trial, orders)
    trial.say(f"{len(schedule.steps)} faults, seed {schedule.seed}")
    _unleash(trial, schedule)
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _drawn(trial: Trial, orders: str) -> Schedule:
    return Schedule.random(
        trial.seed,
        brokers=trial.cluster.brokers,
        partitions=[(orders, partition) for partition in range(3)],
        clients=CLIENTS,
        replication=int(trial.options["replication"]),
        duration_s=float(trial.options["seconds"]),
        period_s=float(trial.options["period"]),
    )


def _unleash(trial: Trial, schedule: Schedule) -> None:
    """Each fault at its time and for its time, as many at once as were drawn; saved as it really was, step by step."""
    file, began = trial.folder.path / "schedule.json", time.monotonic()
    schedule.save(file)
    waiting = sorted(enumerate(schedule.steps), key=lambda numbered: numbered[1].at_s)
    under_way: list[tuple[float, Step, AbstractContextManager[str]]] = []
    try:
        while waiting or under_way:
            starts = waiting[0][1].at_s if waiting else float("inf")
            ends = min((end for end, *_ in under_way), default=float("inf"))
            time.sleep(max(0.0, began + min(starts, ends) - time.monotonic()))
            if starts < ends:
                number, step = waiting.pop(0)
                step = step.resolved(trial.cluster, trial.chance)
                schedule = schedule.with_step(number, step)
                schedule.save(file)
                fault: AbstractContextManager[str] = trial.inject(from_json(step.fault))
                fault.__enter__()
                under_way.append((step.at_s + step.hold_s, step, fault))
            else:
                over = min(under_way, key=lambda entry: entry[0])
                under_way.remove(over)
                _end(trial, over[1], over[2])
    finally:
        for _, step, open_fault in under_way:
            _end(trial, step, open_fault)


def _end(trial: Trial, step: Step, fault: AbstractContextManager[str]) -> None:
    fault.__exit__(None, None, None)
    name = step.fault.get("client")
    if name and not trial.traffic.client(name).running:
        trial.traffic.revive(name)


SCENARIO = Scenario(
    name="storm",
    promise="random faults from a seed, several at a time: nothing acknowledged is lost, and everything comes back",
    act=act,
    replays=True,
    options={
        "acks": ACKS,
        "seconds": Option("40", help="of faults and quiet periods"),
        "period": Option("20", help="seconds after which chance is asked again"),
        "replication": REPLICATION,
    },
    question="Does it all hold when several things break at once?",
    steps="Faults drawn from a seed, several at a time, with quiet periods; never more than quorum and min ISR can bear.",
    expectation="Nothing is lost and everything comes back, so every anomaly is a finding.",
)
