"""A sequence number is missing in one partition while an acknowledgement is lost in another (librdkafka#4953).

Leadership moves away and back between two requests of an idempotent producer: the first is refused because the broker does
not lead, the second because the first is missing. What the client makes of that decides about another partition, with
which nothing is wrong but that its records are in the log and nobody was told. Java's sends everything again under the
numbers it had, and brokers know what they have. librdkafka's begins a new epoch, with new numbers in every partition:
records that were appended and not acknowledged are new to the broker, and there twice.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaos.evidence.account import Account
from chaos.scenarios.scenario import Option, Scenario
from chaos.scenarios.semantics.moved import move
from chaos.stepwise.client import LIBRARIES, StepwiseProducer, stepwise
from chaos.trial import Operation, Trial
from compose.frames.proxy import FrameProxy
from compose.frames.rules import Armed, Rule
from compose.leader_moves import LeaderMoves

NAME = "producer-1"
GAP, UNHEARD = 0, 1  # the partition that misses a number, and the one that loses an acknowledgement
# In a batch of the partition with the gap: librdkafka (2.16) counts records against max.in.flight, not requests. With five
# of a partition under way it sends nothing behind them, and there is no gap.
FEW = 2
REFUSAL = "OutOfOrderSequenceException"
# What is posted at once travels as one batch, and what is held is not given up.
BOTH = {"linger.ms": "50", "delivery.timeout.ms": "60000"}
JAVA = {"acks": "all", "batch.size": "1000000", "request.timeout.ms": "30000"}
LIBRDKAFKA = {"socket.timeout.ms": "30000"}
LONGEST = 30.0  # seconds for a step
QUIET = 1.0  # seconds in which a client that could send would have done so


def act(trial: Trial) -> None:
    count, config = int(trial.options["records"]), settings(trial.options)
    orders = trial.topic("orders", assignment=trial.spread(2, first=trial.cluster.brokers[0]))
    trial.consumer("reader-1", orders, mode="assign", direct=True)
    trial.healthy(canary=False)
    with (
        trial.cluster.frames() as frames,
        stepwise(trial, NAME, trial.options["client"], transactional=False, config=config) as (producer, _),
    ):
        trial.warm_up()
        for partition in (GAP, UNHEARD):
            producer.send(orders, partition, count)
        leader = trial.cluster.leader_of(orders, GAP)
        stage = Stage(trial, frames, producer, orders, leader, refusals(trial.cluster.log(leader), orders))
        with trial.operation("sequence-gap", f"{NAME} misses a number, and elsewhere an acknowledgement") as work:
            with frames.armed(Rule("hold", "Produce", NAME, direction="response")) as answer:
                _unheard(stage, answer)
                _gap(stage, work)
                time.sleep(QUIET)  # for what the client makes of it; then it learns that it will not hear of the others
                frames.cut(answer)
            producer.flush()
        for partition in (GAP, UNHEARD):
            producer.send(orders, partition, count)
        told = ", ".join(producer.errors) or "none"
        trial.expect("no error", not producer.errors, f"The application is told of no error; it was told: {told}.")
    _read_to_the_end(trial, orders)


def settings(options: Mapping[str, str]) -> dict[str, str]:
    own = JAVA if options["client"] == "java" else LIBRDKAFKA
    return BOTH | own | {"max.in.flight.requests.per.connection": options["in_flight"]}


@dataclass(frozen=True, slots=True)
class Stage:
    trial: Trial
    frames: FrameProxy
    producer: StepwiseProducer
    orders: str
    leader: int  # of the partition with the gap
    refused_before: int

    def refused(self) -> int:
        return refusals(self.trial.cluster.log(self.leader), self.orders) - self.refused_before


def _unheard(stage: Stage, answer: Armed) -> None:
    """Records that are in the log, as nobody knows: the answer is on its way, and does not arrive."""
    trial, orders, count = stage.trial, stage.orders, int(stage.trial.options["records"])
    before = trial.cluster.log_ends(orders)[orders, UNHEARD]
    trial.exposed = stage.producer.post(orders, UNHEARD, count)
    answer.wait_caught(timeout=LONGEST)
    trial.wait(
        "appended", lambda: trial.cluster.log_ends(orders)[orders, UNHEARD] - before, lambda more: more == count,
        what=f"{count} records more in {orders}-{UNHEARD}", timeout=LONGEST,
    )  # fmt: skip


def _gap(stage: Stage, work: Operation) -> None:
    trial, leader = stage.trial, stage.leader
    with (
        LeaderMoves(trial.cluster.direct_address) as mover,
        stepwise(trial, "witness-1", "librdkafka", transactional=False) as (witness, _),
    ):

        def led_by(broker: int | None) -> None:
            # All replicas have what the witness wrote, so the old leader follows the new one and no longer leads.
            move(trial, mover, stage.orders, GAP, to=broker)
            witness.send(stage.orders, GAP, 1)

        sent = _refused_twice(stage, led_by)
    refused = stage.refused()
    work.seen(f"broker {leader} did not lead when a request came; {sent} came behind it, {refused} refused as out of order")
    if waits(trial.options):
        words, holds = "Nothing is sent behind a request without an answer", not sent and not refused
    else:
        words, holds = "What comes behind the gap is refused", sent == refused == 1
    trial.expect("gap", holds, f"{words}; {sent} came, {refused} were refused.")


def _refused_twice(stage: Stage, led_by: Callable[[int | None], None]) -> int:
    """Two requests under way, and leadership moves around them. Returns how many came behind the first: none, if the client
    sends nothing before it has heard of it."""
    frames, producer, alone = stage.frames, stage.producer, waits(stage.trial.options)
    with frames.armed(Rule("hold", "Produce", NAME)) as first:
        producer.post(stage.orders, GAP, FEW)
        first.wait_caught(timeout=LONGEST)
        producer.post(stage.orders, GAP, FEW)
        time.sleep(QUIET)  # it is under way behind the first, or waits in the client
        led_by(None)
        # The client hears of both answers at once, when both are given.
        with frames.armed(Rule("hold", "Produce", NAME, direction="response")) as answer:
            with frames.armed(Rule("hold", "Produce", NAME)) as second:
                frames.release(first)
                answer.wait_caught(timeout=LONGEST)
                if not alone:
                    second.wait_caught(timeout=LONGEST)
                led_by(stage.leader)
            if not alone:
                what = f"broker {stage.leader} refuses what comes behind the gap"
                stage.trial.wait("refused", stage.refused, bool, what=what, timeout=LONGEST)
    return len(second.caught)


def _read_to_the_end(trial: Trial, orders: str) -> None:
    ends = sum(trial.cluster.log_ends(orders).values())
    trial.wait(
        "read to the end", lambda: sum(trial.traffic.read().values()), lambda read: read >= ends,
        what=f"{ends} records read by reader-1", timeout=LONGEST,
    )  # fmt: skip


def refusals(log: str, topic: str) -> int:
    """How often a broker says that it refused a batch of this topic whose number was not the next one."""
    return sum(1 for line in log.splitlines() if REFUSAL in line and f"partition {topic}-" in line)


def waits(options: Mapping[str, str]) -> bool:
    """For each answer before it sends the next request."""
    return options["in_flight"] == "1"


def harmed(options: Mapping[str, str]) -> bool:
    """It takes the client that begins anew, and the gap that makes it."""
    return options["client"] == "librdkafka" and not waits(options)


def conclude(trial: Trial, account: Account) -> None:
    exposed, twice = frozenset(trial.exposed), account.twice
    wanted = exposed if harmed(trial.options) else frozenset()
    words = f"Of the {len(exposed)} records that were appended and not acknowledged, {len(wanted)} are there twice"
    others = f"and of all others none; {len(twice & exposed)} and {len(twice - exposed)} are"
    trial.expect("exact duplicates", twice == wanted, f"{words}, {others}.")
    trial.expect("nothing lost", not account.gone, f"Nothing that was sent is lost; {len(account.gone)} records are.")


SCENARIO = Scenario(
    name="sequence-gap",
    promise="a number is missing in one partition, an acknowledgement in another: idempotence writes nothing twice",
    act=act,
    conclude=conclude,
    options={
        "client": Option("java", LIBRARIES, "whose idempotent producer"),
        "in_flight": Option("5", ("5", "1"), "requests under way on a connection"),
        "records": Option("20", help="whose acknowledgement is lost", least=4),
    },
    paced=False,
    processes=True,
    plaintext=True,
    twin={"client": "librdkafka"},
    twin_finds="a duplicate for each record that was appended and not acknowledged, in the partition without a gap",
    config={"auto.leader.rebalance.enable": "false"},  # nobody else moves leaders
    question="Does idempotence hold in every partition, when in one of them a sequence number is missing?",
    steps="Two partitions have two leaders. The frame proxy holds the acknowledgement of a batch that one appended, and "
    "two requests to the other while leadership moves away: the first arrives and is refused because the broker does not "
    "lead, the second when it leads again, and is refused because its number is too high. The client hears of both; then "
    "the connection with the acknowledgement is cut. It sends again what has no answer, and goes on.",
    expectation="Java sends again under the same numbers: nothing is there twice. librdkafka begins a new epoch for all "
    "partitions, and exactly the records whose acknowledgement was lost are there twice. With one request under way at a "
    "time there is no gap, and neither writes anything twice. No client is told of anything.",
)
