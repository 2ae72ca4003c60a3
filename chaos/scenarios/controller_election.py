"""The active controller is killed: another takes over within the bound, topics can be created again, data flows on.

Controllers of their own, so that nothing but the control plane is hit: every data partition is elsewhere and must not
notice. Killing two of three is the twin: a quorum that is gone cannot elect, data still flows, and metadata stands still.
"""

import time

from chaos import bounds
from chaos.faults.kill_broker import KillBroker
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial
from kernel.cluster import Quorum
from kernel.errors import NotReady, SuiteError


def act(trial: Trial) -> None:
    orders = trial.topic("orders")
    trial.producer("producer-1", orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    active = trial.cluster.controller()
    if trial.options["victims"] == "2":
        standby = next(node for node in trial.cluster.spec.controller_ids if node != active)
        with trial.inject(KillBroker(standby), affected=[], role="a standby controller"):
            _take_over(trial, active)
    else:
        _take_over(trial, active)
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _take_over(trial: Trial, active: int) -> None:
    bound = bounds.controller_kill(trial.given())
    with trial.inject(KillBroker(active), affected=[], role="the active controller"):
        began = time.monotonic()
        quorum: Quorum = trial.wait(
            "a new controller",
            trial.cluster.view.quorum,
            lambda now: now.leader != active,
            what=f"another active controller than {active}",
            timeout=bound.seconds + 3,
        )
        took = time.monotonic() - began
        words = f"Another controller than {active} is active within {bound.seconds:.1f} s ({bound.why})"
        trial.expect("a new controller", took <= bound.seconds, f"{words}; {quorum.leader} was after {took:.1f} s.")
        created = _create(trial, began, timeout=bound.seconds + 10)
        words = "Topics can be created again as soon as there is a controller"
        trial.expect("topic creation", True, f"{words}; one was, {created:.1f} s after the kill.")
        trial.steady("sending on under the new controller")


def _create(trial: Trial, began: float, timeout: float) -> float:
    def attempt() -> bool:
        try:
            trial.topic("created-without-the-old-controller", partitions=1)
            return True
        except SuiteError as trouble:
            raise NotReady(trouble.message) from trouble

    trial.wait("topic creation", attempt, bool, what="a topic created", timeout=timeout)
    return time.monotonic() - began


SCENARIO = Scenario(
    name="controller-election",
    promise="the active controller is killed: another takes over in time, topics can be created, no partition notices",
    act=act,
    options={"victims": Option("1", ("1", "2"), "controllers killed, of three")},
    controllers=3,
    twin={"victims": "2"},
    twin_finds="without a quorum nobody takes over, and metadata stands still",
    question="Who notices when the active controller dies?",
    steps="The active controller is killed, or two of the three voters (`victims`).",
    expectation="Another is active within the bound and topics can be created; no data partition notices.",
)
