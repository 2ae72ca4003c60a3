"""What an acknowledgement is worth: N records reach the leader and nobody else, then the leader is killed.

The followers' fetches go out and come back empty-handed, so the ISR stays complete and nobody knows. acks=1 has promised
those N and loses exactly them; acks=all has promised none of them, and loses nothing; acks=0 never promised anything
that a producer could check, and is told "sent" all the same.
"""

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.kill_broker import KillBroker
from chaos.faults.link_fault import LinkFault
from chaos.scenarios.scenario import ACKS, Option, Scenario
from chaos.trial import Trial
from compose.links import Link
from compose.toxics import Blackhole


def act(trial: Trial) -> None:
    acks, count = trial.options["acks"], int(trial.options["records"])
    controller = trial.cluster.controller()
    leader, *followers = [broker for broker in trial.cluster.brokers if broker != controller] + [controller]
    orders = trial.topic("orders", assignment=[[leader, *followers[:2]]])
    producer = trial.producer("producer-1", orders, acks=acks, idempotence=acks == "all")
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    # Of the answers, not of the requests: a fetch that is already waiting at the leader would still carry records away.
    links = tuple(Link(follower, leader, "replication") for follower in followers[:2])
    before = sum(trial.traffic.acked().values())
    with trial.inject(
        LinkFault(links, Blackhole(direction="downstream")), role="the followers stop hearing from the leader"
    ):
        trial.exposed = producer.burst(count)
        _acknowledged(trial, acks, count, before)
        bound = bounds.kill_broker(trial.given(), leads_again=True)
        where = [(orders, 0)]
        with trial.inject(KillBroker(leader), affected=where, send=bound, role="the only one that has them"):
            trial.wait(
                "a new leader", lambda: trial.partition(orders).leader, lambda now: now not in (None, leader),
                what=f"{orders}-0 led by another broker than {leader}", timeout=bound.seconds + 60,
            )  # fmt: skip
            producer.order("resume")
            trial.traffic.wait_for(acks=count + 10, timeout=90)
    trial.healthy("healthy-again")
    trial.steady("sending on with everybody back")


def _acknowledged(trial: Trial, acks: str, count: int, before: int) -> None:
    """What the producer is told while no follower can have the records."""
    if acks == "all":
        trial.stays(
            "none acknowledged", lambda: sum(trial.traffic.acked().values()) == before, seconds=2.0,
            words=f"At acks=all none of the {count} records is acknowledged while no follower has them",
        )  # fmt: skip
        return
    trial.wait(
        "all acknowledged", lambda: sum(trial.traffic.acked().values()) - before, lambda acked: acked == count,
        what=f"{count} records acknowledged at acks={acks}", timeout=30,
    )  # fmt: skip
    trial.expect(
        "all acknowledged", True, f"At acks={acks} all {count} records are acknowledged, though no follower has them."
    )


def conclude(trial: Trial, account: Account) -> None:
    exposed = set(trial.exposed)
    if trial.options["acks"] == "all":
        words = "Nothing that was acknowledged is lost"
        trial.expect("nothing lost", not account.lost, f"{words}; {len(account.lost)} records are.")
        return
    words = f"Exactly the {len(exposed)} records that only the leader had are lost"
    seen = f"{len(account.lost)} are, {len(account.lost & exposed)} of them those"
    trial.expect("exact loss", account.lost == exposed, f"{words}; {seen}.")


SCENARIO = Scenario(
    name="acks-exposure",
    promise="N records reach the leader alone, which is then killed: acks=all promised none of them and loses none",
    act=act,
    conclude=conclude,
    options={"acks": ACKS, "records": Option("100", help="that reach the leader alone")},
    config={"replica.lag.time.max.ms": "120000"},  # the ISR must stay complete, or acks=all would be acknowledged by one
    twin={"acks": "1"},
    twin_finds="exactly the N records are lost",
    question="What is an acknowledgement worth?",
    steps="Answers to the followers' fetches are swallowed, N records are sent, the leader is killed.",
    expectation=(
        "`acks=all`: none of the N is acknowledged while no follower has them, none is lost. `acks=1`: exactly those "
        "N. `acks=0`: the same, and the producer never knew an offset."
    ),
)
