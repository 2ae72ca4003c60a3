"""The clock of one broker is wrong. Who notices?

Elections, sessions and replication do not: they go by a clock that nobody can set, and offsets carry no time. But a leader
compares the time of records with its own. One that is two hours behind refuses what comes from its future, by default
from one hour on. One that is ahead puts its own time on the records of a topic with LogAppendTime; and where records are
kept for a time, it deletes at once what is fresh, everywhere, because followers follow its log.
"""

import time

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.kill_broker import KillBroker
from chaos.faults.set_clock import SetClock
from chaos.scenarios.machines.times import append_times
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial

VICTIM = 3
KEPT_MS = 600_000
# The broker says the first. librdkafka hands on the second, where it was told which records of a batch are at fault.
REFUSALS = {"INVALID_TIMESTAMP", "INVALID_RECORD"}
CONFIG = {
    "ordinary": {},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "retained": {"retention.ms": str(KEPT_MS)},
}


def act(trial: Trial) -> None:
    topic, by = trial.options["topic"], int(trial.options["by"])
    orders = trial.topic("orders", assignment=trial.spread(3, first=VICTIM), config=CONFIG[topic])
    producer = trial.producer("producer-1", orders)
    reader = trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    if topic == "retained":
        reader.rest()
        trial.exposed = _burst(trial, producer)
    # Nobody may notice, but for those whose records are refused, and for a reader that stands still on purpose.
    unnoticed = topic != "retained" and not _too_far(trial, by)
    with trial.inject(SetClock(VICTIM, abs(by), behind=by < 0), affected=[] if unnoticed else None):
        {"ordinary": _ordinary, "stamped": _stamped, "retained": _retained}[topic](trial, orders, producer, by)
    trial.cluster.wait_clock_right(VICTIM)
    reader.order("resume")
    producer.order("resume")
    trial.healthy("healthy-again")
    trial.steady("sending on with every clock right")


def _burst(trial: Trial, producer: Client) -> list[int]:
    values = producer.burst(int(trial.options["records"]))
    producer.rest()
    return values


def _ordinary(trial: Trial, orders: str, producer: Client, by: int) -> None:
    """Records are sent, and if they are taken, a leader is lost on top."""
    trial.exposed = _burst(trial, producer)
    if _too_far(trial, by):
        return
    producer.order("resume")
    controller = trial.cluster.controller()
    other = next(broker for broker in trial.cluster.brokers if broker not in (VICTIM, controller))
    bound = bounds.kill_broker(trial.given(), leads_again=True)
    with trial.inject(KillBroker(other), affected=trial.partitions_with(other), send=bound, poll=bound):
        trial.wait(
            "elections", lambda: trial.cluster.view.partitions(orders),
            lambda states: all(state.leader not in (None, other) for state in states),
            what=f"no partition led by broker {other}", timeout=bound.seconds + 30,
        )  # fmt: skip
    trial.expect("elections", True, "With one clock wrong another leader is elected as ever.")
    trial.healthy("healthy-in-skew")
    producer.rest()


def _too_far(trial: Trial, by: int) -> bool:
    """Whether what is sent now lies further in its future than the broker permits."""
    limit = int(trial.cluster.effective_config(VICTIM)["log.message.timestamp.after.max.ms"]) / 1000
    return -by > limit


def _stamped(trial: Trial, orders: str, producer: Client, by: int) -> None:
    trial.exposed = _burst(trial, producer)
    now = time.time()
    for partition in range(3):
        leader = trial.partition(orders, partition).leader
        wanted = by if leader == VICTIM else 0
        off = append_times(trial.cluster.direct_address, orders, partition, last=len(trial.exposed) // 3)
        good = bool(off) and all(abs(stamp - now - wanted) < 60 for stamp in off)
        shown = f"{off[-1] - now:+.0f} s" if off else "none"
        words = (
            f"The {len(off)} newest records of {orders}-{partition}, led by broker {leader}, are stamped {shown} from now"
        )
        trial.expect(f"stamps of {partition}", good, f"{words}; {wanted:+d} s is its clock.")
    trial.expect("right time", False, f"Readers can go by the time of records; those of {orders}-0 are {by:+d} s off.")


def _retained(trial: Trial, orders: str, producer: Client, by: int) -> None:
    """Whoever is ahead by more than what is kept deletes everything it leads: what was there, and what is sent meanwhile."""
    trial.exposed += _burst(trial, producer)
    if by * 1000 > KEPT_MS:
        trial.wait(
            "deleted", lambda: trial.cluster.log_offsets(orders)[0], lambda ends: ends[0] == ends[1] > 0,
            what=f"everything in {orders}-0 deleted", timeout=60,
        )  # fmt: skip
        trial.expect("deleted", True, f"A leader {by} s ahead deletes what is to be kept for {KEPT_MS // 1000} s at once.")
        return
    trial.stays(
        "kept", lambda: trial.cluster.log_offsets(orders)[0][0] == 0, seconds=3 * trial.settings.steady_s,
        words=f"A leader {-by} s behind deletes nothing",
    )  # fmt: skip


def conclude(trial: Trial, account: Account) -> None:
    topic, by = trial.options["topic"], int(trial.options["by"])
    burst = set(trial.exposed)
    there = {sent.value: sent for sent in account.sends if sent.value in burst and sent.partition == 0}
    if topic == "retained" and by > 0:
        words = f"Exactly the {len(there)} records that nobody had read, of the partition it leads, are lost"
        trial.expect("exact loss", account.lost == there.keys(), f"{words}; {len(account.lost)} are.")
        return
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )
    refused = {sent.value: sent.error for sent in account.sends if sent.outcome != "ok"}
    if topic == "ordinary" or refused:
        trial.expect("accepted", not refused, f"Every record is taken; {len(refused)} are not.")
    if refused:
        wrong_since, _ = min(trial.windows.values())
        late = {value for value, sent in there.items() if (sent.invoked_ns or 0) >= wrong_since}
        words = f"Exactly the {len(late)} records for the partition it leads are refused for their time"
        exact = refused.keys() == late and set(refused.values()) <= REFUSALS
        names = ", ".join(sorted({str(error) for error in refused.values()}))
        trial.expect("exact refusal", exact, f"{words}; {len(refused)} are, as {names}.")
        trial.expect("none in the log", not account.drained & refused.keys(), "None of them is in the log.")


SCENARIO = Scenario(
    name="clock-skew",
    promise="a broker's clock is an hour ahead: elections and replication do not notice, and nothing acknowledged is lost",
    act=act,
    conclude=conclude,
    options={
        "by": Option("+3600", ("+3600", "-1800", "-7200"), "seconds that the clock is ahead, or behind"),
        "topic": Option("ordinary", tuple(CONFIG), "as ever, with LogAppendTime, or kept for ten minutes"),
        "records": Option("30", help="sent at once while the clock is wrong, to three partitions", least=3),
    },
    spec=lambda _options: {"clocks": (VICTIM,)},
    config={"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"},
    spoils=True,
    twin={"topic": "retained"},
    twin_finds="exactly what a leader that is ahead deletes before its time is lost",
    question="What does a cluster notice of one broker whose clock is wrong?",
    steps="The clock of broker 3 jumps while it runs, and right again. Meanwhile records are sent; with an ordinary topic "
    "another broker is killed on top.",
    expectation="Elections work and nothing acknowledged is lost. Two hours behind, the broker refuses exactly the records "
    "for what it leads (INVALID_TIMESTAMP). With LogAppendTime exactly those carry its time. Where records are kept for ten "
    "minutes, a leader an hour ahead deletes everything it leads: exactly what nobody had read yet is lost.",
)
