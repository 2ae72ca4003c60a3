"""Brokers are restarted one by one, the active controller last, each only when the one before is whole again.

Done right, nothing is lost and no error reaches an application. The twin does not wait for the cluster to be healthy
in between: two replicas are away at once, and partitions fall below their min ISR.
"""

from contextlib import ExitStack

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.scenario import REPLICATION, Option, Scenario
from chaos.trial import Trial


def act(trial: Trial) -> None:
    orders = trial.topic("orders", replication=int(trial.options["replication"]))
    trial.producer("producer-1", orders)
    trial.consumer("consumer-1", orders)
    trial.consumer("consumer-2", orders)
    trial.healthy(canary=False)
    trial.warm_up()
    trial.steady()
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


def conclude(trial: Trial, account: Account) -> None:
    refused = {sent.error for sent in account.sends if sent.outcome != "ok"}
    words = "No error reaches an application"
    seen = sorted({*trial.traffic.errors(), *(error for error in refused if error)})
    trial.expect("no error", not seen, f"{words}; {', '.join(seen) if seen else 'none did'}.")
    short = trial.below_min_isr()
    words = "No partition falls below its min ISR or is without a leader"
    trial.expect("min ISR", not short, f"{words}; {', '.join(sorted(short)) if short else 'none did'}.")


SCENARIO = Scenario(
    name="rolling-restart",
    promise="brokers restart one by one, the controller last: nothing is lost, and no error reaches an application",
    act=act,
    conclude=conclude,
    options={
        "wait": Option("yes", ("yes", "no"), "wait for a healthy cluster before the next one"),
        "replication": REPLICATION,
    },
    twin={"wait": "no"},
    twin_finds="two replicas away at once: partitions below their min ISR",
)
