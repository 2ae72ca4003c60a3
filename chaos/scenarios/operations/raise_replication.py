"""From one replica to three, or back; and what a replica is worth that is not in sync yet.

Raised, and waited for: the leader may be killed, another leads, nothing is lost. Not waited for: there are three replicas on
paper and one in fact, and with that one goes the partition, until it is back.
"""

from chaos import bounds
from chaos.faults.kill_broker import KillBroker
from chaos.scenarios.operations.partitions import fill, leaderless, named, on_disk, replicas_of, states_of, wait_throttled
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial
from kernel.errors import NotReady

DATA_MB = 6
SLOW = 50_000  # bytes a second, at which no copy is complete before the leader is killed
Moves = dict[Where, list[int]]


def act(trial: Trial) -> None:
    wanted = int(trial.options["to"])
    controller = trial.cluster.controller()
    victim = next(broker for broker in trial.cluster.brokers if broker != controller)
    whole = trial.spread(3, first=victim)
    orders = trial.topic("orders", assignment=[replicas[: 4 - wanted] for replicas in whole])
    fill(trial, orders, DATA_MB)
    trial.producer("producer-1", orders)
    trial.consumer("consumer-1", orders)
    trial.settle()
    after = {(orders, place): replicas[:wanted] for place, replicas in enumerate(whole)}
    if wanted == 1:
        _lower(trial, orders, after)
    elif trial.options["wait"] == "yes":
        _raise(trial, orders, after)
        _kill(trial, victim)
    else:
        _hurry(trial, orders, after, victim)
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _raise(trial: Trial, orders: str, after: Moves) -> None:
    bound = bounds.leadership_moved(trial.given())
    with trial.operation(
        "raise-replication", f"{named(after)} get three replicas", affected=after, send=bound, poll=bound
    ) as work:
        trial.cluster.reassign(after)
        trial.cluster.wait_reassigned(after)
        trial.cluster.alter_topic(orders, {"min.insync.replicas": "2"})  # else an acknowledgement may still mean one copy
        work.seen(f"replicas are {', '.join(map(str, states_of(trial).values()))}")
    _as_wanted(trial, after)


def _lower(trial: Trial, orders: str, after: Moves) -> None:
    bound = bounds.leadership_moved(trial.given())
    with trial.operation(
        "lower-replication", f"{named(after)} keep one replica", affected=after, send=bound, poll=bound
    ) as work:
        trial.cluster.alter_topic(orders, {"min.insync.replicas": "1"})  # first, or no send would be acknowledged any more
        trial.cluster.reassign(after)
        trial.cluster.wait_reassigned(after)
        work.seen(f"replicas are {', '.join(map(str, states_of(trial).values()))}")
    _as_wanted(trial, after)
    kept = {where: set(replicas) for where, replicas in after.items()}
    bound = bounds.space_freed(trial.given())
    trial.wait(
        "space freed", lambda: on_disk(trial), lambda there: there == kept, what=f"only the replicas {kept} on disk",
        timeout=bound.seconds,
    )  # fmt: skip
    words = f"Within {bound.seconds:.1f} s brokers have on disk exactly the replicas that were kept"
    trial.expect("space freed", True, f"{words}: {kept}.")


def _as_wanted(trial: Trial, after: Moves) -> None:
    states = states_of(trial)
    now = {where: list(state.replicas) for where, state in states.items()}
    isr = {where: sorted(state.isr) for where, state in states.items()}
    trial.expect("replicas", now == after, f"Replicas are {after}; they are {now}.")
    trial.expect("in sync", isr == {w: sorted(r) for w, r in after.items()}, f"And all are in sync; the ISRs are {isr}.")


def _kill(trial: Trial, victim: int) -> None:
    bound = bounds.kill_broker(trial.given())
    led = {where for where, state in states_of(trial).items() if state.leader == victim}
    with trial.inject(
        KillBroker(victim),
        affected=trial.partitions_with(victim),
        send=bound,
        poll=bound,
        role=f"the leader of {named(led)}",
    ):
        trial.wait(
            "another leads", lambda: {states_of(trial)[where].leader for where in led},
            lambda leaders: not leaders & {victim, None}, what=f"{named(led)} led by others", timeout=bound.seconds + 30,
        )  # fmt: skip
        trial.expect("another leads", True, f"Another broker leads {named(led)}.")
        trial.steady("sending on without the old leader")
    _never_without_leader(trial)


def _hurry(trial: Trial, orders: str, after: Moves, victim: int) -> None:
    """The leader is killed while it is the only one that has everything."""
    before = replicas_of(trial, orders)
    words = f"{named(after)} get three replicas, and nobody waits for them"
    try:
        trial.cluster.throttle(SLOW, before, after)
        wait_throttled(trial, SLOW)
        with trial.operation("raise-replication", words, affected=after) as work:
            trial.cluster.reassign(after)
            pending = trial.cluster.view.reassignments()
            work.seen(f"replicas are to be added to {named(pending)}")
            _kill_the_only_one(trial, victim)
            trial.cluster.unthrottle(orders)
            trial.cluster.wait_reassigned(after, timeout=90)
    finally:
        trial.cluster.unthrottle(orders)
    _as_wanted(trial, after)


def _kill_the_only_one(trial: Trial, victim: int) -> None:
    alone = {where for where, state in states_of(trial).items() if state.isr == {victim}}
    if not alone:
        raise NotReady("all copies were complete before the leader could be killed: nothing would be shown by it.")
    fence = bounds.killed_signature(trial.given()).at_most_s
    with trial.inject(KillBroker(victim), affected=alone, role=f"the only one in sync of {named(alone)}"):
        trial.wait(
            "offline", lambda: {where for where, state in states_of(trial).items() if state.leader is None},
            lambda dark: dark == alone, what=f"{named(alone)} without a leader", timeout=fence + 30,
        )  # fmt: skip
        trial.stays(
            "offline", lambda: all(states_of(trial)[where].leader is None for where in alone),
            seconds=trial.settings.steady_s, words=f"{named(alone)} is offline while broker {victim} is gone",
        )  # fmt: skip
    _never_without_leader(trial)
    words = f"Without a leader were exactly those of which broker {victim} alone was in sync ({named(alone)})"
    trial.expect("exactly those", leaderless(trial) == alone, f"{words}; {named(leaderless(trial))} were.")


def _never_without_leader(trial: Trial) -> None:
    dark = leaderless(trial)
    trial.expect("always led", not dark, f"No partition is ever without a leader; without one: {named(dark)}.")


SCENARIO = Scenario(
    name="raise-replication",
    promise="replication is raised from 1 to 3 and waited for: then the leader may be killed and nothing is lost",
    act=act,
    options={
        "to": Option("3", ("3", "1"), "raise from 1 to 3, or lower from 3 to 1"),
        "wait": Option("yes", ("yes", "no"), "wait until the new replicas are in sync before the leader is killed"),
    },
    config={"auto.leader.rebalance.enable": "false", "log.segment.delete.delay.ms": "1000"},
    twin={"wait": "no"},
    twin_finds="exactly the partitions of which the killed broker alone was in sync are offline until it is back",
    question="When does a replica that was added begin to protect?",
    steps="A topic with one replica gets three by reassignment, under traffic; then the leader of a partition is killed. "
    "Lowering goes the other way, min.insync.replicas first.",
    expectation="Once all three are in sync a kill costs no more than an election and nothing is lost. Killed before, the "
    "partition is offline until the broker is back, and exactly that one. Lowered, exactly the kept replicas are on disk.",
)
