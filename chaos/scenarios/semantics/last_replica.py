"""The last replica standing loses the end of its log. Whom may Kafka then believe?

N records are on three replicas and acknowledged. The followers go one by one, properly; the leader, alone in the ISR,
loses its power, and with it what it had not flushed. It comes back first. Without eligible leader replicas (KIP-966)
it is the only one in the ISR, so it leads, and the others cut their logs to match: what all three had is gone
everywhere. With them the controller knows that it went without a goodbye, and waits for the follower that left the
ISR last.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from chaos.evidence.account import Account
from chaos.faults.lose_tail import LoseTail
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial

LATER = 20  # records that come when the first follower has gone: of the followers, the last to go alone has them
FEATURE = "eligible.leader.replicas.version"


def act(trial: Trial) -> None:
    count, (leader, first, last) = int(trial.options["records"]), trial.cluster.brokers[:3]
    orders = trial.topic("orders", assignment=[[leader, first, last]])
    producer = trial.producer("producer-1", orders)
    reader = trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    reader.rest()
    trial.exposed = producer.burst(count)
    producer.rest()
    with ExitStack() as away:
        away.enter_context(trial.inject(StopBroker(first)))
        trial.exposed += producer.burst(LATER)
        producer.rest()
        end = trial.cluster.log_ends(orders)[orders, 0]
        trial.say(f"{count} records are acknowledged by three replicas, {LATER} more by two, which end at offset {end}")
        away.enter_context(trial.inject(StopBroker(last), role="the last follower in sync"))
        _alone(trial, orders, leader, last)
        with trial.inject(LoseTail(leader, orders, 0, end - count - LATER), role="who is alone in sync"):
            pass  # nobody is left who could be asked; that its file is shorter was seen
        _whom(trial, orders, leader, last)
    trial.healthy("healthy-again", canary=False)
    reader.order("resume")
    # A new producer: librdkafka's idempotent ones fail for good when the log is cut below their sequence numbers.
    trial.producer("producer-2", orders).wait_ready()
    trial.traffic.wait_for(acks=count + LATER + 10, timeout=90)
    trial.steady("sending on with everybody back")


def _alone(trial: Trial, orders: str, leader: int, last: int) -> None:
    state = trial.wait(
        "ISR shrinks", lambda: trial.partition(orders), lambda now: now.isr == {leader}, what="the leader alone in sync",
        timeout=90,
    )  # fmt: skip
    wanted = {last} if trial.options["elr"] == "on" else set()
    words = f"With the leader alone in the ISR, the ELR is {sorted(wanted)}"
    trial.expect("ELR", state.elr == wanted, f"{words}; it is {sorted(state.elr)}.")


def _whom(trial: Trial, orders: str, leader: int, last: int) -> None:
    """The broker that lost its tail is back, the first of all."""
    if trial.options["elr"] == "off":
        trial.wait(
            "who leads", lambda: trial.partition(orders).leader, lambda now: now == leader,
            what=f"broker {leader} leads again, being in the ISR", timeout=60,
        )  # fmt: skip
        trial.expect("who leads", True, f"Broker {leader} leads again, though the end of its log is gone.")
        return
    trial.wait("somebody to ask", lambda: trial.partition(orders), lambda _: True, what="an answer", timeout=60)
    trial.stays(
        "not the one that lost its tail", lambda: trial.partition(orders).leader is None, seconds=trial.settings.steady_s,
        words=f"Broker {leader} is back and may not lead, because it did not shut down properly",
    )  # fmt: skip
    trial.cluster.start(last)
    trial.wait(
        "who leads", lambda: trial.partition(orders).leader, lambda now: now == last,
        what=f"broker {last} leads, which left the ISR last", timeout=60,
    )  # fmt: skip
    trial.expect("who leads", True, f"Broker {last} leads, which left the ISR last and alone has everything.")


def conclude(trial: Trial, account: Account) -> None:
    wanted = set(trial.exposed) if trial.options["elr"] == "off" else set()
    words = f"Exactly the {len(wanted)} records at the end are lost" if wanted else "Nothing that was acknowledged is lost"
    seen = f"{len(account.lost)} are, {len(account.lost & set(trial.exposed))} of them those at the end"
    trial.expect("exact loss", account.lost == account.gone == wanted, f"{words}; {seen}.")


def _spec(options: Mapping[str, str]) -> dict[str, Any]:
    return {"features": {FEATURE: 1 if options["elr"] == "on" else 0}}


SCENARIO = Scenario(
    name="last-replica",
    promise="the last replica in sync loses power and the end of its log: with ELR another leads and nothing is lost",
    act=act,
    conclude=conclude,
    options={
        "elr": Option("on", ("on", "off"), "eligible leader replicas (KIP-966)"),
        "records": Option("50", help="on three replicas, at the end of the log"),
    },
    controllers=1,
    spec=_spec,
    processes=True,
    since="4.0.0",  # eligible leader replicas
    twin={"elr": "off"},
    twin_finds="exactly the records at the end of the log are lost, N of which all three replicas had",
    question="Three replicas have a record, and it is acknowledged. Can it still be lost, if only one broker loses power?",
    steps="N records are acknowledged at acks=all by three replicas, min ISR 2. One follower is stopped, 20 more are "
    "acknowledged by two, the other follower is stopped. The leader, alone in the ISR, is killed, and the end of its log, "
    "all those records, is cut off while it is down. It is started first, the followers after it.",
    expectation="With eligible leader replicas the broker that went without a goodbye may not lead; the follower that left "
    "the ISR last does, and nothing is lost. Without them it leads again, the others cut their logs to match, and exactly "
    "those records are lost, though an intact copy existed.",
)
