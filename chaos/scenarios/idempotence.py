"""Acknowledgements are lost on their way back, so a producer sends again what the broker already has.

Without idempotence each of those records is in the log twice, exactly once more than it was sent; with it, the broker
knows them by their sequence numbers, and each is there once.
"""

from chaos.evidence.account import Account
from chaos.faults.link_fault import LinkFault
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial
from compose.links import Link
from compose.toxics import Blackhole


def act(trial: Trial) -> None:
    count, idempotent = int(trial.options["records"]), trial.options["idempotence"] == "on"
    leader = trial.cluster.brokers[0]
    orders = trial.topic("orders", assignment=trial.spread(1, first=leader))
    # The heal closes the connection, and then it sends again: at once, and only what the fault touched. A short timeout
    # would do the same to whatever the machine was slow with.
    patient = {"socket.timeout.ms": 30000, "message.timeout.ms": 60000}
    producer = trial.producer("producer-1", orders, idempotence=idempotent, config=patient)
    trial.consumer("reader-1", orders, mode="assign", direct=True)
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    before = sum(trial.traffic.read().values())
    with trial.inject(LinkFault((Link("client", leader),), Blackhole(direction="downstream"))):
        trial.exposed = producer.burst(count)
        # The reader goes round the fault: what it reads has been appended, and its acknowledgement swallowed.
        trial.wait(
            "records appended", lambda: sum(trial.traffic.read().values()) - before, lambda read: read >= count,
            what=f"{count} records in the log", timeout=30,
        )  # fmt: skip
        trial.wait(
            "no acknowledgement", lambda: producer.status.get("open"), lambda still: still == count,
            what="not one of them acknowledged", timeout=5,
        )  # fmt: skip
    trial.wait(
        "acknowledged after all", lambda: producer.status.get("open"), lambda still: still == 0,
        what="all of them acknowledged after the heal", timeout=90,
    )  # fmt: skip
    producer.order("resume")
    trial.healthy("healthy-again")
    trial.steady("sending on")


def conclude(trial: Trial, account: Account) -> None:
    exposed = set(trial.exposed)
    seats: dict[int, set[int]] = {}
    for read in account.reads:
        seats.setdefault(read.value, set()).add(read.offset)
    twice = {value for value, offsets in seats.items() if len(offsets) > 1}
    wanted = set() if trial.options["idempotence"] == "on" else exposed
    words = (
        "No record is in the log twice"
        if not wanted
        else f"Exactly the {len(exposed)} records sent again are in the log twice"
    )
    trial.expect("exact duplicates", twice == wanted, f"{words}; {len(twice)} are.")


SCENARIO = Scenario(
    name="idempotence",
    promise="acknowledgements are lost on their way back: an idempotent producer's records are there once all the same",
    act=act,
    conclude=conclude,
    options={
        "idempotence": Option("on", ("on", "off"), "enable.idempotence"),
        "records": Option("50", help="whose acknowledgement is lost"),
    },
    twin={"idempotence": "off"},
    twin_finds="exactly those records are there twice",
    question="What is in the log when an acknowledgement was lost on its way back?",
    steps="Acknowledgements of N records are swallowed, so the producer sends them again.",
    expectation="On: each record is there once. Off: exactly those N are there twice.",
)
