"""A broker leaves for good: drained first, then stopped and unregistered; or just taken away, which is the twin.

A broker that is taken away with its replicas leaves them missing for ever: Kafka replaces none by itself. Exactly the
partitions that had a replica there stay under-replicated until somebody reassigns them.
"""

from chaos import bounds
from chaos.scenarios.operations.partitions import named
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial
from compose.reassigning import drained
from kernel.cluster import PartitionState


def act(trial: Trial) -> None:
    *staying, leaving = trial.cluster.brokers
    one, two, three = staying[:3]
    orders = trial.topic(
        "orders", assignment=[[leaving, one, two], [one, two, leaving], [two, three, one], [three, one, two]]
    )
    trial.producer("producer-1", orders)
    trial.consumer("consumer-1", orders)
    trial.settle()
    if trial.options["drain"] == "yes":
        _drain(trial, leaving, staying)
        trial.steady(f"broker {leaving} is there and has nothing")
    had = _having(trial, leaving)
    _remove(trial, leaving)
    trial.steady(f"sending on without broker {leaving}")
    _whole(trial, leaving, had)
    if had:  # what the operator has to do then
        _move_away(trial, leaving, staying)
    trial.healthy("healthy-again")


def _drain(trial: Trial, leaving: int, staying: list[int]) -> None:
    bound = bounds.leadership_moved(trial.given())
    words = f"everything is moved away from broker {leaving}"
    affected = trial.partitions_with(leaving)
    with trial.operation("drain-broker", words, affected=affected, send=bound, poll=bound) as work:
        moves = _move_away(trial, leaving, staying)
        work.seen(f"{len(moves)} partitions were moved: {named(moves)}")
    left = set(_having(trial, leaving))
    trial.expect("drained", not left, f"No partition has a replica on broker {leaving} any more; left: {named(left)}.")


def _move_away(trial: Trial, leaving: int, staying: list[int]) -> dict[Where, list[int]]:
    """All topics, also Kafka's own."""
    moves = drained(trial.cluster.view.partitions(), leaving, staying)
    trial.cluster.reassign(moves)
    trial.cluster.wait_reassigned(moves)
    return moves


def _remove(trial: Trial, leaving: int) -> None:
    bound = bounds.stop_broker(trial.given())
    words = f"broker {leaving} is stopped and unregistered"
    affected = trial.partitions_with(leaving)
    with trial.operation("remove-broker", words, affected=affected, send=bound, poll=bound) as work:
        trial.cluster.remove_broker(leaving)
        known = trial.cluster.view.registered()
        if leaving not in known:
            work.seen(f"the controllers know the brokers {sorted(known)}")


def _whole(trial: Trial, leaving: int, had: dict[Where, PartitionState]) -> None:
    short = {(s.topic, s.partition) for s in trial.cluster.view.partitions() if not s.fully_replicated}
    words = "No partition is under-replicated once the broker is gone"
    trial.expect("fully replicated", not short, f"{words}; {named(short)} {'is' if len(short) == 1 else 'are'}.")
    words = f"Under-replicated are exactly the {len(had)} partitions that had a replica on broker {leaving}"
    trial.expect("exactly those", short == set(had), f"{words} ({named(had)}); {len(short)} are.")


def _having(trial: Trial, broker: int) -> dict[Where, PartitionState]:
    return {(s.topic, s.partition): s for s in trial.cluster.view.partitions() if broker in s.replicas}


SCENARIO = Scenario(
    name="remove-broker",
    promise="a broker is drained, stopped and unregistered: nothing is lost, and no partition is under-replicated after",
    act=act,
    options={"drain": Option("yes", ("yes", "no"), "move its replicas away first")},
    brokers=4,
    least_brokers=4,
    config={"auto.leader.rebalance.enable": "false"},
    twin={"drain": "no"},
    twin_finds="exactly the partitions that had a replica there stay under-replicated",
    spoils=True,
    question="How does a broker leave a cluster for good?",
    steps="All its replicas, Kafka's own topics included, are moved to the others. Then it is stopped and unregistered.",
    expectation="No partition is under-replicated after, nothing is lost, and its going is not noticed. Without draining, "
    "exactly the partitions that had a replica there stay under-replicated, until somebody reassigns them.",
)
