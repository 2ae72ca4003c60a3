"""The leader of a partition is killed, stopped, paused or isolated: nothing acknowledged is lost, and each has its own
signature.

A killed leader is missed when its session runs out. A stopped one hands over first, so nobody should notice. A paused
or isolated one is missed like a killed one, but whoever waits for its answer waits for a timeout of its own: if all look
alike, something is broken. A topic without a replica on the victim must not notice any of it.
"""

from collections.abc import Callable

from chaos import bounds
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
    trial.producer("producer-1", orders, acks=acks, idempotence=acks == "all")
    # A producer of its own: a broker answers one request of a connection after the other, so behind a send that waits
    # for the victim, one to a partition without it waits as well. Seen here: dark for as long as the others.
    trial.producer("producer-2", elsewhere, rate=100, acks=acks, idempotence=acks == "all")
    trial.consumer("reader-1", orders, elsewhere, mode="assign")
    trial.consumer("consumer-1", orders)
    trial.settle()
    how, given = trial.options["how"], trial.given()
    signature = bounds.stopped_signature(given) if how == "stop" else bounds.killed_signature(given)
    hold = signature.at_most_s + trial.settings.steady_s  # of an isolation, which its clients only learn of at its end
    send, poll = (_bound(how, given, kind, hold) for kind in ("send", "poll"))
    affected = trial.partitions_with(victim)
    with trial.inject(
        _fault(how, victim), affected=affected, send=send, poll=poll, role=f"the leader of {orders}-0"
    ) as lost:
        led = trial.wait(
            "a new leader",
            lambda: trial.partition(orders, 0).leader,
            lambda leader: leader not in (None, victim),
            what=f"{orders}-0 led by another broker than {victim}",
            timeout=signature.at_most_s + 60,
        )
        elected = trial.led_elsewhere_after(lost, orders, 0, victim)
        trial.say(f"broker {led} leads {orders}-0, {elected:.1f} s after")
        trial.expect("signature", signature.fits(elected), _words(how, signature, elected))
        if how == "isolate":
            trial.hold(lost, hold)
        else:
            trial.steady("sending on without the old leader")
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _fault(how: str, victim: int) -> Fault:
    if how == "isolate":  # from its peers alone: its clients still reach a leader that nobody has told
        return Isolate(victim, clients=False)
    faults: dict[str, Callable[[int], Fault]] = {"kill": KillBroker, "stop": StopBroker, "pause": PauseBroker}
    return faults[how](victim)


def _bound(how: str, given: bounds.Given, kind: str, hold: float) -> bounds.Bound:
    if how == "isolate":
        return bounds.isolate_leader(given, held_s=hold, clients_connected=True)
    if how == "pause":
        return bounds.pause_broker(given, kind)
    return (bounds.kill_broker if how == "kill" else bounds.stop_broker)(given, leads_again=True)


def _words(how: str, signature: bounds.Signature, elected: float) -> str:
    return (
        f"When a leader is {PAST[how]}, another is elected after {signature.at_least_s:.1f} to {signature.at_most_s:.1f} s "
        f"by the timeouts in force; it took {elected:.1f} s."
    )


PAST = {"kill": "killed", "stop": "stopped", "pause": "paused", "isolate": "isolated"}

SCENARIO = Scenario(
    name="leader-election",
    promise="the leader is killed, stopped, paused or isolated: nothing acknowledged is lost, and it is replaced in time",
    act=act,
    options={"how": Option("kill", HOW, "what happens to the leader"), "acks": ACKS},
    twin={"how": "isolate", "acks": "1"},
    twin_finds="a deposed leader that its clients still reach acknowledges records that are thrown away",
    question="What does a leader's end cost, and does the way it goes matter?",
    steps=(
        "The leader of a partition is killed, stopped, paused or cut off from its peers (`how`), while a producer, a "
        "reader and a group are at work and another topic has no replica on the victim."
    ),
    expectation=(
        "Nothing acknowledged is lost; the election takes as long as the timeouts in force say, and no two ways look "
        "alike; the topic elsewhere does not notice."
    ),
)
