"""The leader of a partition is killed, stopped, paused or isolated: nothing acknowledged is lost, and each has its own
signature.

A killed leader is missed when its session runs out. A stopped one hands over first, so nobody should notice. A paused
or isolated one is missed like a killed one, but whoever waits for its answer waits for a timeout of its own: if all look
alike, something is broken. A topic without a replica on the victim must not notice any of it.
"""

import time

from chaos.faults.fault import Fault
from chaos.faults.isolate import Isolate
from chaos.faults.kill_broker import KillBroker
from chaos.faults.pause_broker import PauseBroker
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.scenario import ACKS, Option, Scenario
from chaos.trial import Trial

HOW = ("kill", "stop", "pause", "isolate")


def act(trial: Trial) -> None:
    # The controller is left alone: losing both at once is another question, and would blur the figures of this one.
    controller = trial.cluster.controller()
    victim, *others = [broker for broker in trial.cluster.brokers if broker != controller] + [controller]
    orders = trial.topic("orders", assignment=trial.spread(3, first=victim))
    elsewhere = trial.topic("elsewhere", assignment=[others[:2]])
    acks = trial.options["acks"]
    trial.producer("producer-1", orders, elsewhere, acks=acks, idempotence=acks == "all")
    trial.consumer("reader-1", orders, elsewhere, mode="assign")
    trial.consumer("consumer-1", orders)
    trial.healthy(canary=False)
    trial.warm_up()
    trial.steady()
    fault, how = _fault(trial.options["how"], victim), trial.options["how"]
    bounds = trial.bounds.leader_lost(how)
    with trial.inject(fault, affected=trial.partitions_with(victim), bounds=bounds, role=f"the leader of {orders}-0"):
        began = time.monotonic()
        led = trial.wait(
            "a new leader",
            lambda: trial.partition(orders, 0).leader,
            lambda leader: leader not in (None, victim),
            what=f"{orders}-0 led by another broker than {victim}",
            timeout=bounds["send"].seconds + 60,
        )
        elected = time.monotonic() - began
        trial.say(f"broker {led} leads {orders}-0, {elected:.1f} s after")
        _signature(trial, how, elected)
        trial.traffic.wait_for(acks=20, reads=20, timeout=bounds["send"].seconds + 60)
        trial.steady("sending on without the old leader")
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _fault(how: str, victim: int) -> Fault:
    if how == "isolate":  # from its peers alone: its clients still reach a leader that nobody has told
        return Isolate(victim, clients=False)
    return {"kill": KillBroker, "stop": StopBroker, "pause": PauseBroker}[how](victim)


def _signature(trial: Trial, how: str, elected: float) -> None:
    signature = trial.bounds.election(how)
    trial.expect(
        "signature",
        signature.at_least_s <= elected <= signature.at_most_s,
        f"After a leader is {PAST[how]} the election takes {signature.at_least_s:.1f} to {signature.at_most_s:.1f} s "
        f"({signature.why}); it took {elected:.1f} s.",
    )


PAST = {"kill": "killed", "stop": "stopped", "pause": "paused", "isolate": "isolated"}

SCENARIO = Scenario(
    name="leader-election",
    promise="the leader is killed, stopped, paused or isolated: nothing acknowledged is lost, and it is replaced in time",
    act=act,
    options={"how": Option("kill", HOW, "what happens to the leader"), "acks": ACKS},
    twin={"how": "isolate", "acks": "1"},
    twin_finds="a deposed leader that its clients still reach acknowledges records that are thrown away",
)
