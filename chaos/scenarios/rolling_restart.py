"""Brokers are restarted one by one, the active controller last, each only when the one before is whole again.

Done right, nothing is lost and no error reaches an application. The twin does not wait for the cluster to be healthy
in between: two replicas are away at once, and partitions fall below their min ISR.
"""

from contextlib import ExitStack

from chaos import bounds
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.scenario import REPLICATION, Option, Scenario
from chaos.scenarios.unnoticed import expect_unnoticed
from chaos.trial import Trial


def act(trial: Trial) -> None:
    orders = trial.topic("orders", replication=int(trial.options["replication"]))
    trial.producer("producer-1", orders, config=one_by_one(trial.settings.clients))
    trial.consumer("consumer-1", orders)
    trial.consumer("consumer-2", orders)
    trial.settle()
    controller = trial.cluster.controller()
    others = [broker for broker in trial.cluster.brokers if broker != controller]
    if trial.options["wait"] == "yes":
        for broker in others:
            _restart(trial, broker)
    else:
        _hurry(trial, others[:2])
    _restart(trial, controller, role="the active controller, last")
    trial.steady("sending on with everybody back")


def _restart(trial: Trial, broker: int, role: str = "") -> None:
    bound = bounds.stop_broker(trial.given(), leads_again=True)
    with trial.inject(StopBroker(broker), affected=trial.partitions_with(broker), send=bound, role=role):
        pass  # it is down, and comes back at once
    trial.healthy("healthy-again")


def _hurry(trial: Trial, brokers: list[int]) -> None:
    """Each is started again, and the next is stopped before it can be up."""
    bound = bounds.stop_broker(trial.given(), leads_again=True)
    with ExitStack() as restarts:
        for broker in brokers:
            affected = trial.partitions_with(broker)
            restarts.enter_context(trial.inject(StopBroker(broker), affected=affected, send=bound))
            trial.cluster.start(broker, wait=False)
    trial.healthy("healthy-again")


SCENARIO = Scenario(
    name="rolling-restart",
    promise="brokers restart one by one, the controller last: nothing is lost, and no error reaches an application",
    act=act,
    conclude=expect_unnoticed,
    options={
        "wait": Option("yes", ("yes", "no"), "wait for a healthy cluster before the next one"),
        "replication": REPLICATION,
    },
    twin={"wait": "no"},
    twin_finds="two replicas away at once: partitions below their min ISR",
    question="Can every broker be restarted without anybody's noticing?",
    steps="Brokers restart one by one, the active controller last, each only when the cluster is healthy again.",
    expectation="Nothing is lost, no error reaches an application, no partition falls below its min ISR.",
)
