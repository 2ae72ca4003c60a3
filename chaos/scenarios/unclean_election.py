"""The only replica that has the newest records is gone, and one that fell behind is there. May it lead?

Off: no. The partition is offline until its leader is back, and nothing is lost. On beforehand, or afterwards by an
operator's election: yes, and exactly the records that only the old leader had are lost, no more and no fewer. A reader
that had seen some of them is taken back. Controllers are apart, or stopping brokers would end the quorum.
"""

import time

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.stop_broker import StopBroker
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial

SEEN = 10  # records that are read before they are lost


def act(trial: Trial) -> None:
    unclean, count = trial.options["unclean"], int(trial.options["records"])
    leader, behind, third = trial.cluster.brokers[:3]
    config = {"min.insync.replicas": "1", "unclean.leader.election.enable": str(unclean == "on").lower()}
    orders = trial.topic("orders", assignment=[[leader, behind, third]], config=config)
    producer = trial.producer("producer-1", orders)
    reader = trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    with trial.inject(StopBroker(behind)) as _, trial.inject(StopBroker(third)) as _:
        wait_alone(trial, orders, leader)
        trial.seen = producer.burst(SEEN)
        trial.wait(
            "records read", lambda: sum(trial.traffic.read().values()) - sum(trial.traffic.acked().values()),
            lambda ahead: ahead >= 0 and producer.status.get("open") == 0, what="the reader at the end", timeout=60,
        )  # fmt: skip
        reader.rest()
        trial.exposed = producer.burst(count)
        producer.rest()
        trial.say(f"{count} records acknowledged by broker {leader} alone")
        with trial.inject(StopBroker(leader), role=f"the only one that has the last {count} records"):
            trial.cluster.start(behind)
            _without_leader(trial, orders, leader, behind)
    trial.healthy("healthy-again", canary=False)
    reader.order("resume")
    # A new producer: librdkafka's idempotent ones fail for good when the log is cut below their sequence numbers.
    trial.producer("producer-2", orders).wait_ready()
    trial.steady("sending on with everybody back")


def _without_leader(trial: Trial, orders: str, leader: int, behind: int) -> None:
    unclean, given = trial.options["unclean"], trial.given()
    if unclean != "on":
        trial.stays(
            "offline", lambda: trial.partition(orders).leader is None, seconds=trial.settings.steady_s,
            words=f"Without unclean election {orders}-0 is offline although broker {behind} is there",
        )  # fmt: skip
    if unclean == "off":
        return
    began = time.monotonic()
    if unclean == "operator":
        error = trial.cluster.elect(orders, unclean=True)
        trial.expect(
            "operator's election", error is None, f"An operator's unclean election is carried out; it was: {error or 'yes'}."
        )
    bound = bounds.unclean_election(given, enabled="before")
    limit = bound.seconds if bound else 60.0
    wait_behind_leads(trial, orders, behind, timeout=limit + 30)
    took = time.monotonic() - began
    trial.expect("unclean leader", took <= limit, f"Broker {behind} leads within {limit:.1f} s; it did after {took:.1f} s.")


def wait_alone(trial: Trial, orders: str, leader: int) -> None:
    trial.wait(
        "ISR shrinks", lambda: trial.partition(orders).isr, lambda isr: isr == {leader}, what="the leader alone", timeout=90
    )


def wait_behind_leads(trial: Trial, orders: str, behind: int, *, timeout: float) -> None:
    trial.wait(
        "unclean leader", lambda: trial.partition(orders).leader, lambda now: now == behind,
        what=f"broker {behind} leads, though it fell behind", timeout=timeout,
    )  # fmt: skip


def conclude(trial: Trial, account: Account) -> None:
    exposed, seen = set(trial.exposed), set(trial.seen)
    if trial.options["unclean"] == "off":
        trial.expect(
            "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
        )
        return
    words = f"Exactly the {len(exposed)} records that only the old leader had are lost"
    trial.expect(
        "exact loss",
        account.lost == exposed,
        f"{words}; {len(account.lost)} are, {len(account.lost & exposed)} of them those.",
    )
    words = f"With them go the {len(seen)} that a reader had already read"
    trial.expect("exact truncation", account.gone == exposed | seen, f"{words}; {len(account.gone)} are gone in all.")
    back = [
        (a, b)
        for a, b in zip(account.reads, account.reads[1:], strict=False)
        if b.offset <= a.offset and a.client == b.client
    ]
    newer = [b for a, b in back if (b.epoch or 0) > (a.epoch or 0)]
    words = "A reader that was ahead is taken back, and sees a newer leader epoch"
    trial.expect(
        "truncation seen", bool(newer), f"{words}; {'it was, to offset ' + str(newer[0].offset) if newer else 'it was not'}."
    )


SCENARIO = Scenario(
    name="unclean-election",
    promise="the only complete replica is gone: off, the partition waits for it; on, exactly what only it had is lost",
    act=act,
    conclude=conclude,
    options={
        "unclean": Option("off", ("off", "on", "operator"), "off, on beforehand, or afterwards by an operator"),
        "records": Option("50", help="acknowledged by the leader alone"),
    },
    controllers=1,
    twin={"unclean": "on"},
    twin_finds="exactly the exposed records are lost, and a reader is taken back",
    question="The only complete replica is gone and one that fell behind is there: may it lead?",
    steps="With min ISR 1 only the leader has the last N records; it goes, and one that fell behind comes back.",
    expectation=(
        "Off: the partition is offline until its leader is back, 0 lost. On beforehand, or by an operator afterwards:"
        " exactly those N are lost, and a reader that was ahead is taken back in a newer leader epoch."
    ),
)
