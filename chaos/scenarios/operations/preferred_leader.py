"""After a restart a broker follows where it used to lead, and the others carry its load until an election brings it home.

auto.leader.rebalance.enable is off, so that nobody but the operator does it, and the twin shows what is left if he does not.
"""

from chaos import bounds
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.operations.partitions import named, states_of
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial


def act(trial: Trial) -> None:
    controller = trial.cluster.controller()
    victim = next(broker for broker in trial.cluster.brokers if broker != controller)
    orders = trial.topic("orders", assignment=trial.spread(6, first=victim))
    trial.producer("producer-1", orders, config=one_by_one(trial.settings.clients))
    trial.consumer("consumer-1", orders)
    trial.settle()
    homes = {where for where, state in states_of(trial).items() if state.replicas[0] == victim}
    bound = bounds.stop_broker(trial.given())
    with trial.inject(StopBroker(victim), affected=trial.partitions_with(victim), send=bound, poll=bound):
        pass  # it is down, and comes back at once
    trial.healthy("healthy-again")
    skewed = _away(trial)
    words = f"After its restart broker {victim} leads none of {named(homes)}, and all others are where they were"
    trial.expect("skewed", skewed == homes, f"{words}; away from home are {named(skewed)}.")
    if trial.options["elect"] == "yes":
        _elect(trial, homes)
    trial.steady("sending on")
    away = _away(trial)
    trial.expect("leaders at home", not away, f"Every partition is led by its first replica; away from it: {named(away)}.")
    if trial.options["elect"] == "no":
        words = f"Away from home are exactly those whose first replica was restarted ({named(homes)})"
        trial.expect("exactly those", away == homes, f"{words}; {named(away)} are.")


def _elect(trial: Trial, homes: set[Where]) -> None:
    bound = bounds.leadership_moved(trial.given())
    with trial.operation(
        "elect-preferred", "the preferred leaders of all partitions are elected", affected=homes, send=bound, poll=bound
    ) as work:
        refused = trial.cluster.elect_preferred()
        trial.wait(
            "leaders at home", lambda: _away(trial), lambda away: not away, what="every leader at home", timeout=60
        )  # fmt: skip
        work.seen(f"{named(homes)} went home, {len(refused)} elections were refused")


def _away(trial: Trial) -> set[Where]:
    return {where for where, state in states_of(trial).items() if state.leader != state.replicas[0]}


SCENARIO = Scenario(
    name="preferred-leader",
    promise="after a restart leadership is skewed: an election of preferred leaders brings every leader home, none is lost",
    act=act,
    options={"elect": Option("yes", ("yes", "no"), "elect the preferred leaders")},
    config={"auto.leader.rebalance.enable": "false"},
    twin={"elect": "no"},
    twin_finds="leaders away from home: exactly the partitions whose first replica was restarted",
    question="Who leads after a broker was restarted, and what does it cost to bring leadership home?",
    steps="A broker is restarted with auto.leader.rebalance.enable=false; then the preferred leaders of all partitions are "
    "elected.",
    expectation="Before the election exactly the partitions whose first replica was restarted are led by others; after it "
    "none is. A change of leader darkens a partition no longer than clients take to ask again.",
)
