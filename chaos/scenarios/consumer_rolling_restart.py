"""Members of a group are replaced one by one: closed, killed, or as static members, in both group protocols.

No record is skipped. One that is read twice is one that a killed member had read and not yet committed, and no other.
Each partition stalls no longer than its session and a rebalance allow. The twin commits by itself and crashes in the
middle of its work: exactly what it had in hand is never processed, because its group had already been told it was.
"""

import math
from typing import Any

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.fault import Fault
from chaos.faults.kill_client import KillClient
from chaos.faults.stop_client import StopClient
from chaos.scenarios import in_hand
from chaos.scenarios.scenario import REPLICATION, Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial

MEMBERS = ("consumer-1", "consumer-2", "consumer-3")
PARTITIONS = 6
# A static member's session is chosen longer than its restart, or there would be no use in being static. A restart takes a
# second or two here; on a machine that was busy, 4.4 s have been seen.
STATIC_SESSION_S, STATIC_AWAY_S = 15, 2.0


def act(trial: Trial) -> None:
    orders = trial.topic("orders", partitions=PARTITIONS, replication=int(trial.options["replication"]))
    producer = trial.producer("producer-1", orders)
    if trial.options["how"] == "static" and trial.options["protocol"] == "consumer":
        trial.cluster.alter_group(trial.group(), {"consumer.session.timeout.ms": str(STATIC_SESSION_S * 1000)})
    for name in MEMBERS:
        _member(trial, name, orders)
    trial.settle()
    if trial.options["commit"] == "auto":
        _crash_in_the_middle(trial, orders)
    else:
        for name in MEMBERS:
            _replace(trial, name, orders)
    trial.steady("reading on with everybody back")
    producer.rest()
    in_hand.read_to_the_end(trial)


def _member(trial: Trial, name: str, orders: str) -> Client:
    options = trial.options
    return trial.consumer(
        name,
        orders,
        protocol=options["protocol"],
        static=f"{name}-of-{trial.group()}" if options["how"] == "static" else None,
        commit=options["commit"],
        batch=50,
        config=_config(trial),
    )


def _config(trial: Trial) -> dict[str, int]:
    if trial.options["how"] == "static" and trial.options["protocol"] == "classic":
        return {"session.timeout.ms": STATIC_SESSION_S * 1000}
    return {"auto.commit.interval.ms": 300} if trial.options["commit"] == "auto" else {}


def _replace(trial: Trial, name: str, orders: str) -> None:
    how = trial.options["how"]
    fault: Fault = KillClient(name) if how == "kill" else StopClient(name)
    with trial.inject(fault, affected=_stalled(trial, name), poll=_bound(trial)):
        trial.groups[trial.group()] -= 1
        if how != "static":  # the others take its partitions over before it is replaced
            trial.traffic.wait_for(reads=5, timeout=90)
        _member(trial, name, orders)
    trial.healthy("healthy-again")


def _stalled(trial: Trial, name: str) -> list[tuple[str, int]]:
    """A classic group stops as a whole when it rebalances; one of KIP-848 goes on with whatever does not move."""
    if trial.options["protocol"] == "classic":
        return [(topic, partition) for topic, facts in trial.topics.items() for partition in range(facts["partitions"])]
    return [(topic, partition) for topic, partition in trial.traffic.client(name).status["assigned"]]


def _bound(trial: Trial) -> bounds.Bound:
    how, given = trial.options["how"], trial.given(**{"group.protocol": trial.options["protocol"]})
    if how == "kill":
        return bounds.consumer_killed(given)
    if how == "static":
        return bounds.static_member_back(given, away_s=STATIC_AWAY_S, session_s=STATIC_SESSION_S)
    return bounds.consumer_closed(given)


def _crash_in_the_middle(trial: Trial, orders: str) -> None:
    name = MEMBERS[0]
    held = in_hand.hold(trial, name)
    in_hand.wait_told(trial, name, in_hand.past(held))
    trial.exposed = in_hand.values(held)
    bound = _bound(trial)
    with trial.inject(
        KillClient(name), affected=_stalled(trial, name), poll=bound, role=f"{len(trial.exposed)} records in hand"
    ):
        trial.groups[trial.group()] -= 1
        trial.traffic.wait_for(reads=5, timeout=90)
        _member(trial, name, orders)
    trial.healthy("healthy-again")


def conclude(trial: Trial, account: Account) -> None:
    group = {client.name for client in trial.traffic.clients if client.name.startswith("consumer-")}
    reads = account.read_by(group)
    skipped = account.acked - {read.value for read in reads}
    if trial.options["commit"] == "auto":
        words = f"Exactly the {len(trial.exposed)} records in hand at the crash are never processed"
        trial.expect("exact loss", skipped == set(trial.exposed), f"{words}; {len(skipped)} are not.")
        return
    trial.expect("none skipped", not skipped, f"The group reads every record; it skipped {len(skipped)}.")
    twice = account.read_twice(group)
    allowed = _uncommitted(trial, account)
    words = f"Read twice is only what a killed member had not committed ({len(allowed)} records)"
    trial.expect("duplicates", twice <= allowed, f"{words}; {len(twice)} were, {len(twice - allowed)} of them others.")
    if trial.options["how"] == "static":
        taken = [row for row in account.rebalances if row["kind"] != "assign" and _in_service(trial, row)]
        away = _longest_away_s(trial, account)
        words = f"A static member back in time ({away:.1f} s of {STATIC_SESSION_S} s) moves no partition of the others"
        told = not taken if away < STATIC_SESSION_S else None  # else its session was over, and a rebalance is Kafka's duty
        trial.expect("no rebalance", told, f"{words}; {len(taken)} were taken from somebody.")


def _longest_away_s(trial: Trial, account: Account) -> float:
    """From the order to stop until the one that takes its place has partitions."""
    back = {row["client"]: row["invoked_ns"] for row in reversed(account.rebalances) if row["kind"] == "assign"}
    stopped = zip(trial.schedule, trial.windows.values(), strict=True)
    return max(float(back.get(f"{step['client']}.2", math.inf) - begin) / 1e9 for step, (begin, _) in stopped)


def _in_service(trial: Trial, row: dict[str, Any]) -> bool:
    """Whether a member lost a partition in the middle of its life, and not by leaving, or with everybody at the end."""
    first, last = min(trial.windows.values())[0], max(trial.windows.values())[1]
    left = {step["client"]: window for step, window in zip(trial.schedule, trial.windows.values(), strict=True)}
    begin, end = left.get(row["client"], (0, 0))
    return first <= row["invoked_ns"] <= last and not begin <= row["invoked_ns"] <= end


def _uncommitted(trial: Trial, account: Account) -> set[int]:
    killed = {client.name for client in trial.traffic.clients if client.killed}
    last: dict[tuple[str, str, int], int] = {}
    for commit in account.commits:
        last[commit.client, commit.topic, commit.partition] = commit.offset
    return {r.value for r in account.read_by(killed) if r.offset >= last.get((r.client, r.topic, r.partition), 0)}


SCENARIO = Scenario(
    name="consumer-rolling-restart",
    promise="members of a group are replaced one by one: no record is skipped, none is read twice without need",
    act=act,
    conclude=conclude,
    options={
        "how": Option("close", ("close", "kill", "static"), "how a member goes"),
        "protocol": Option("classic", ("classic", "consumer"), "of the group: classic, or that of KIP-848"),
        "commit": Option("sync", ("sync", "auto"), "after the work is done, or by itself in the background"),
        "replication": REPLICATION,
    },
    twin={"commit": "auto", "how": "kill"},
    twin_finds="exactly the records in hand at the crash are never processed",
    question="What is skipped or read twice when the members of a group are replaced?",
    steps=(
        "Members are closed, killed, or restarted as static members one by one, in the classic group protocol or that"
        " of KIP-848."
    ),
    expectation=(
        "None is skipped; read twice is only what a killed member had not committed; stalls stay within the session; "
        "a static member moves nobody's partition."
    ),
)
