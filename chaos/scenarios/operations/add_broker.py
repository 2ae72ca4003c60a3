"""A broker joins, and some partitions are moved to it: one that it is to lead, one that it is to follow.

Kafka gives a new broker nothing by itself: whoever does not reassign has a machine that serves nobody, which is the twin.
"""

from chaos import bounds
from chaos.scenarios.operations.partitions import named, replicas_of, states_of
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial


def act(trial: Trial) -> None:
    orders = trial.topic("orders", assignment=trial.spread(4, first=trial.cluster.brokers[0]))
    trial.producer("producer-1", orders)
    trial.consumer("consumer-1", orders)
    trial.settle()
    with trial.operation("add-broker", "one more broker joins", affected=()) as joining:
        new = trial.cluster.add_broker()
        joining.seen(f"the brokers are {sorted(trial.cluster.view.brokers())}")
    trial.steady(f"broker {new} is there and has nothing")
    before = replicas_of(trial, orders)
    share = _share(before, new)
    if trial.options["move"] == "yes":
        _move(trial, share, new)
    _serves(trial, before, share, new)
    trial.healthy("healthy-again")
    trial.steady("sending on with one more")


def _share(before: dict[Where, list[int]], new: int) -> dict[Where, list[int]]:
    """Of two partitions, the first in place of its leader, the second in place of a follower."""
    led, followed = sorted(before)[:2]
    return {led: [new, *before[led][1:]], followed: [*before[followed][:-1], new]}


def _move(trial: Trial, share: dict[Where, list[int]], new: int) -> None:
    bound = bounds.leadership_moved(trial.given())
    words = f"{named(share)} are moved to broker {new}"
    with trial.operation("reassign-partitions", words, affected=share, send=bound, poll=bound) as moving:
        trial.cluster.reassign(share)
        trial.cluster.wait_reassigned(share)
        moving.seen(f"replicas are {', '.join(str(state) for where, state in states_of(trial).items() if where in share)}")


def _serves(trial: Trial, before: dict[Where, list[int]], share: dict[Where, list[int]], new: int) -> None:
    states = states_of(trial)
    inside = {where for where, state in states.items() if new in state.isr}
    words = f"Broker {new} is in the ISR of exactly {named(share)}"
    trial.expect("in sync", inside == set(share), f"{words}; it is in that of {named(inside)}.")
    first = {where for where, replicas in share.items() if replicas[0] == new}
    led = {where for where, state in states.items() if state.leader == new}
    words = f"It leads exactly {named(first)}, whose leader it replaces"
    trial.expect("leads", led == first, f"{words}; it leads {named(led)}.")
    changed = {where for where in before if where not in share and list(states[where].replicas) != before[where]}
    trial.expect("others untouched", not changed, f"No other partition is moved; moved: {named(changed)}.")


SCENARIO = Scenario(
    name="add-broker",
    promise="a fourth broker joins and partitions are moved to it: it leads and follows what it was given, nothing is lost",
    act=act,
    options={"move": Option("yes", ("yes", "no"), "move partitions to it")},
    config={"auto.leader.rebalance.enable": "false"},  # leadership is asserted, so nobody else may move it
    twin={"move": "no"},
    twin_finds="a new broker that is in no ISR and leads nothing: Kafka moves no partition by itself",
    spoils=True,
    question="What does a cluster gain from a broker that joins, and what do its clients notice?",
    steps="A broker joins under traffic. Of two partitions one is moved to it in place of the leader, one in place of a "
    "follower.",
    expectation="It is in the ISR of exactly those two and leads exactly the first; no other partition moves, nothing is "
    "lost, and a change of leader darkens a partition no longer than clients take to ask again.",
)
