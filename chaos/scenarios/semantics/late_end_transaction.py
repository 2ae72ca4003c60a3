"""An EndTxn that was given up long ago arrives in the middle of the next transaction (KAFKA-17754).

The request that ends T1 is held on its way and its connection is cut; the client asks again, is told ok and goes on to
T2. Then the late one arrives. A coordinator that cannot tell it from T2's own ends T2 half way, and nobody is told. Since
transaction version 2 every transaction has an epoch of its own, and the late frame is refused; but only from clients that
speak EndTxn v5. librdkafka does not, whatever the cluster's transaction version is.
"""

from collections.abc import Mapping
from itertools import pairwise
from struct import unpack_from
from typing import NamedTuple

from chaos.evidence.account import Account
from chaos.scenarios.scenario import Option, Scenario
from chaos.stepwise.client import LIBRARIES, StepwiseProducer, stepwise
from chaos.trial import Operation, Trial
from compose.frames.proxy import FrameProxy
from compose.frames.rules import Rule
from kernel.errors import NotReady

NAME = "producer-1"
PROTECTED = 5  # the EndTxn version from which on an epoch belongs to one transaction
FLEXIBLE = 3  # the EndTxn version from which on headers have tagged fields
REFUSED = 90  # PRODUCER_FENCED: the epoch is that of an earlier transaction


def act(trial: Trial) -> None:
    count = int(trial.options["records"])
    orders = trial.topic("orders", partitions=2)
    trial.consumer("reader-1", orders, mode="assign")
    trial.healthy(canary=False)
    with trial.cluster.frames() as frames, stepwise(trial, NAME, trial.options["client"]) as (producer, facts):
        trial.warm_up()
        _transaction(producer, orders, count)
        _wait_read(trial, 2 * count)
        with trial.operation("hold-request", f"the EndTxn of T1 of {NAME} is held, and arrives inside T2") as work:
            _late(trial, work, frames, producer, orders)
        _versions(trial, frames, facts)
        _transaction(producer, orders, count)
        to_see = visible(parts_of(list(range(8 * count)), count), trial.options["end"], safe=safe(trial.options))
        _wait_read(trial, len(to_see))
        told = ", ".join(producer.errors) or "none"
        trial.expect("no error", not producer.errors, f"The application is told of no error; it was told: {told}.")


def _transaction(producer: StepwiseProducer, orders: str, count: int, how: str = "commit") -> None:
    producer.begin()
    producer.send(orders, 0, count)
    producer.send(orders, 1, count)
    producer.end(how)


def _late(trial: Trial, work: Operation, frames: FrameProxy, producer: StepwiseProducer, orders: str) -> None:
    count, end = int(trial.options["records"]), trial.options["end"]
    with frames.armed(Rule("hold", "EndTxn", client=NAME)) as late:
        producer.begin()
        producer.send(orders, 0, count)
        producer.send(orders, 1, count)
        ending = producer.start(end)
        held = late.wait_caught()
        frames.cut(late)  # the client connects anew and asks again; the first request is forgotten, and not gone
        producer.ended(ending)
        producer.begin()
        trial.exposed = producer.send(orders, 0, count)
        frames.release(late)
        error = error_of(late.wait_answer(), held.version)
        producer.send(orders, 1, count)
        producer.end(_other(end))
    work.seen(f"EndTxn v{held.version} of T1 was held, and arrived inside T2; the broker answered it with error {error}")
    wanted = REFUSED if safe(trial.options) else 0
    words = f"The late EndTxn is {'refused with error 90' if wanted else 'carried out as if it were that of T2'}"
    trial.expect("late EndTxn", error == wanted, f"{words}; its answer was error {error}.")


def _versions(trial: Trial, frames: FrameProxy, facts: dict[str, object]) -> None:
    """Which client and which cluster this was, as seen on the wire and as the cluster says."""
    spoken, level = sorted(frames.versions("EndTxn", NAME)), trial.cluster.view.features().get("transaction.version", 0)
    facts |= {"end_txn_versions": spoken, "transaction_version": level}
    trial.events.write("transaction-versions", client=NAME, end_txn=spoken, transaction_version=level)
    if level != int(trial.options["transaction_version"]):
        asked = trial.options["transaction_version"]
        trial.expect("transaction version", None, f"The cluster's transaction.version is {level}, not {asked} as asked for.")
    protects = level >= 2 and bool(spoken) and min(spoken) >= PROTECTED
    words = f"{trial.options['client']} speaks EndTxn v{', v'.join(map(str, spoken))} at transaction.version {level}"
    meaning = "an epoch belongs to one transaction" if protects else "transactions share an epoch"
    trial.expect("versions", protects == safe(trial.options), f"{words}, so that {meaning}.")


def _wait_read(trial: Trial, count: int) -> None:
    trial.wait(
        "committed is read", lambda: sum(trial.traffic.read().values()), lambda read: read >= count,
        what=f"{count} records read by reader-1", timeout=60,
    )  # fmt: skip


def conclude(trial: Trial, account: Account) -> None:
    end, count = trial.options["end"], int(trial.options["records"])
    parts = parts_of(sorted(sent.value for sent in account.sends if sent.client == NAME), count)
    wanted, seen = visible(parts, end, safe=safe(trial.options)), account.drained
    words = f"A reader of what is committed sees {in_words(end, safe=safe(trial.options))}, {len(wanted)} records"
    trial.expect("exact reads", seen == wanted, f"{words}; {len(seen)} are seen, {len(seen & wanted)} of them those.")


class Parts(NamedTuple):
    """The values of each transaction; of T2 by half, which is by partition."""

    before: frozenset[int]
    one: frozenset[int]
    first: frozenset[int]
    second: frozenset[int]
    after: frozenset[int]


def parts_of(values: list[int], count: int) -> Parts:
    """In the order in which they were sent: two partitions of each, `count` records to each partition."""
    if len(values) != 8 * count:
        raise NotReady(f"{len(values)} records were sent, not {8 * count}: the schedule was not carried out to its end.")
    ends = [0, 2, 4, 5, 6, 8]
    return Parts(*(frozenset(values[a * count : b * count]) for a, b in pairwise(ends)))


def visible(parts: Parts, end: str, *, safe: bool) -> frozenset[int]:
    """What a committed reader must see. A late commit makes the first half of T2 visible, which is then aborted; a late
    abort takes it away from T2, which is then committed."""
    around = parts.before | parts.after
    if end == "commit":
        return around | parts.one | (frozenset() if safe else parts.first)
    return around | parts.second | (parts.first if safe else frozenset())


def in_words(end: str, *, safe: bool) -> str:
    if end == "commit":
        return "T1 and nothing of T2, which was aborted" if safe else "T1 and the first half of T2, which was aborted"
    return "T2 whole, and nothing of T1" if safe else "the second half of T2 alone, though all of it was committed"


def safe(options: Mapping[str, str]) -> bool:
    """Whether the late frame can be told from a new one: it takes both, the client and the cluster."""
    return options["client"] == "java" and options["transaction_version"] == "2"


def error_of(answer: bytes, version: int) -> int:
    """The error code in an answer to EndTxn: behind the correlation id, tagged fields if any, and the throttle time."""
    return int(unpack_from(">h", answer, 4 + (version >= FLEXIBLE) + 4)[0])


def _other(end: str) -> str:
    return "abort" if end == "commit" else "commit"


SCENARIO = Scenario(
    name="late-end-transaction",
    promise="an EndTxn that was given up arrives inside the next transaction: it is refused, and both end as they were told",
    act=act,
    conclude=conclude,
    options={
        "end": Option("commit", ("commit", "abort"), "how T1 ends, and so what the late frame says; T2 ends the other way"),
        "client": Option("java", LIBRARIES, "whose transactional producer"),
        "transaction_version": Option("2", ("2", "1"), "the cluster's transaction.version"),
        "records": Option("20", help="of a transaction in each of two partitions", least=3),
    },
    spec=lambda options: {} if options["transaction_version"] == "2" else {"features": {"transaction.version": 1}},
    paced=False,
    processes=True,
    plaintext=True,
    since="4.0.0",  # transaction.version 2
    twin={"client": "librdkafka"},
    twin_finds="an aborted read for each record of the first half of T2, which is visible though it was aborted",
    question="A request to end a transaction is delayed so long that its client gives it up, asks again and goes "
    "on. What does it do when it arrives after all, in the middle of the client's next transaction?",
    steps="The frame proxy holds the EndTxn of T1 and cuts its connection. The client connects again, ends T1 "
    "and begins T2. When the first half of T2 is acknowledged the late frame is let go; T2 writes to one "
    "more partition and ends the other way.",
    expectation="The Java client at transaction.version 2 speaks EndTxn v5: the late frame is refused (error 90), and "
    "a reader of what is committed sees exactly the transactions that were. librdkafka speaks v1 at "
    "either version, and Java v4 at transaction.version 1: a late commit leaves the first half of T2 "
    "visible, though it was aborted (aborted-read); a late abort takes it away, though T2 was committed "
    "(lost-write, one torn-transaction, and a poll-skip for each of the two readers). No client is told.",
)
