"""Producers commit and abort, and in the middle of a transaction a broker or the producer itself dies, or is replaced.

One transaction is kept open on purpose, so that it is known exactly what is at stake: its first record is where readers of
committed records stand still (the last stable offset, LSO). With a new leader or a new coordinator it is committed all the
same; of a producer that is killed, or frozen and replaced, nothing of it is ever seen. Either way the LSO moves again in
time. The twin reads uncommitted records, and sees exactly those of transactions that were aborted as well.
"""

import time
from collections.abc import Callable

from chaos import bounds
from chaos.bounds import Bound
from chaos.evidence.account import Account
from chaos.faults.freeze_client import FreezeClient
from chaos.faults.kill_broker import KillBroker
from chaos.faults.kill_client import KillClient
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial

PRODUCERS = ("producer-1", "producer-2")
SUCCESSOR = "successor-1"
TRANSACTION, ABORT_EVERY = 30, 4
# Of the producer that is killed. Long enough for a transaction on a busy machine, or it would be over before the kill.
TIMEOUT_S = 12
PINNED = "last-stable-offset"
LOOK_S = 1.0  # for one answer: a broker that is gone has none, and what it took to find out would count


def act(trial: Trial) -> None:
    orders = trial.topic("orders", assignment=trial.spread(3, first=trial.cluster.brokers[0]))
    first, _ = (_producer(trial, name, name, orders) for name in PRODUCERS)
    trial.consumer("reader-1", orders, mode="assign", isolation=trial.options["isolation"])
    trial.consumer("reader-2", orders, mode="assign", isolation="read_uncommitted")
    trial.settle()
    ends = _opened(trial, first, orders)
    HOW[trial.options["how"]](trial, first, orders, ends)
    trial.healthy("healthy-again")
    trial.steady("committing and aborting on")


def _producer(trial: Trial, name: str, identity: str, orders: str) -> Client:
    config: dict[str, str | int] = {"transactional.id": trial.group(identity)}
    if trial.options["how"] == "producer" and identity == PRODUCERS[0]:
        config |= {"transaction.timeout.ms": TIMEOUT_S * 1000, "message.timeout.ms": TIMEOUT_S * 1000}
    return trial.producer(name, orders, transaction=TRANSACTION, abort_every=ABORT_EVERY, config=config)


# ---- a transaction in the middle of which things happen ----------------------------------------------------------------

Ends = dict[tuple[str, int], int]


def _opened(trial: Trial, producer: Client, orders: str) -> Ends:
    """Half a transaction, behind which the others go on. Where the logs end then, and readers of what is committed stand."""
    trial.phase("open", f"{producer.name} stands still in the middle of a transaction")
    trial.exposed = list(range(*producer.hold()))
    # More of each partition than a transaction has there: so whatever was open before it has ended.
    trial.traffic.wait_for(acks=TRANSACTION // 3 + 1, timeout=60)
    stable = trial.cluster.log_ends(orders, committed=True)
    trial.events.write(PINNED, offsets=[[partition, offset] for (_, partition), offset in sorted(stable.items())])
    return trial.cluster.log_ends(orders)


def _moves_again(trial: Trial, orders: str, ends: Ends, since_ns: int, bound: Bound) -> None:
    """The last stable offset gets past everything that was in the log when a transaction kept it."""
    trial.wait(
        "LSO moves again",
        lambda: trial.cluster.log_ends(orders, committed=True, patience=LOOK_S, attempts=1),
        lambda stable: all(stable[where] >= end for where, end in ends.items()),
        what=f"the last stable offsets past {sorted(ends.values())}", timeout=bound.seconds + 60, every=0.1,
    )  # fmt: skip
    seconds = (time.monotonic_ns() - since_ns) / 1e9
    words = f"The last stable offset moves again within {bound.seconds:.1f} s ({bound.why})"
    trial.expect("LSO moves again", seconds <= bound.seconds, f"{words}; it took {seconds:.1f} s.")


def _leader(trial: Trial, producer: Client, orders: str, ends: Ends) -> None:
    spared = {trial.cluster.controller(), trial.cluster.transaction_coordinator(trial.group(PRODUCERS[0]))}
    victim = next(broker for broker in trial.cluster.brokers if broker not in spared)
    _broker(trial, producer, orders, ends, victim, "leads one of the partitions that the open transaction wrote")


def _coordinator(trial: Trial, producer: Client, orders: str, ends: Ends) -> None:
    victim = trial.cluster.transaction_coordinator(trial.group(PRODUCERS[0]))
    _broker(trial, producer, orders, ends, victim, "coordinates the open transaction")


def _broker(trial: Trial, producer: Client, orders: str, ends: Ends, victim: int, role: str) -> None:
    active = victim == trial.cluster.controller()
    bound = bounds.transaction_broker_killed(trial.given(), active_controller=active)
    affected = trial.partitions_with(victim)
    with trial.inject(KillBroker(victim), affected=affected, send=bound, poll=bound, role=role) as fault:
        producer.order("commit")
        _moves_again(trial, orders, ends, trial.windows[fault][0], bound)
        producer.order("resume")
        trial.traffic.wait_for(acks=10, reads=10, timeout=90)


def _killed(trial: Trial, producer: Client, orders: str, ends: Ends) -> None:
    bound = bounds.transaction_timed_out(trial.given(), timeout_s=TIMEOUT_S)
    with trial.inject(KillClient(producer.name), affected=[], role="in the middle of a transaction") as fault:
        _moves_again(trial, orders, ends, trial.windows[fault][0], bound)


def _replaced(trial: Trial, producer: Client, orders: str, ends: Ends) -> None:
    with trial.inject(FreezeClient(producer.name), affected=[], role="in the middle of a transaction"):
        _producer(trial, SUCCESSOR, PRODUCERS[0], orders).wait_ready()
        _moves_again(trial, orders, ends, time.monotonic_ns(), bounds.transaction_fenced(trial.given()))
    producer.order("commit")
    trial.wait(
        "fenced", lambda: producer.status.get("fatal"), bool,
        what=f"{producer.name}, back from the dead, told that it is fenced", timeout=60,
    )  # fmt: skip


HOW: dict[str, Callable[[Trial, Client, str, Ends], None]] = {
    "leader": _leader,
    "coordinator": _coordinator,
    "producer": _killed,
    "zombie": _replaced,
}


# ---- what the closed ledger tells --------------------------------------------------------------------------------------


def conclude(trial: Trial, account: Account) -> None:
    fates, held, outlives = account.fates, set(trial.exposed), trial.options["how"] in ("leader", "coordinator")
    committed = {value for value, fate in fates.items() if fate == "ok"}
    failed = {value for value, fate in fates.items() if fate == "fail"} | (set() if outlives else held)
    undone = (account.acked & failed) | (failed & held)  # in the log for certain
    # Of an aborted transaction, but not known to have arrived or not: that may be in the log as well.
    open_ended = {sent.value for sent in account.sends if sent.outcome == "info"}
    unknown = {value for value, fate in fates.items() if fate == "info"} - failed
    _pinned(trial, account, held)
    if outlives:
        there = held & committed & account.drained
        words = f"The transaction that was open is committed, with all of its {len(held)} records"
        trial.expect("open transaction", there == held, f"{words}; {len(there)} are there.")
    else:
        words = f"None of the {len(held)} records of the transaction that was open is ever committed"
        trial.expect("open transaction", not held & account.drained, f"{words}; {len(held & account.drained)} are.")
    if trial.options["how"] == "zombie":
        _fenced(trial, account)
    seen = {name: {read.value for read in account.read_by([name])} for name in ("reader-1", "reader-2")}
    wrong = seen["reader-1"] & failed
    words = "reader-1 sees records of committed transactions only"
    trial.expect("committed only", not wrong, f"{words}; {len(wrong)} that it saw are of others.")
    if trial.options["isolation"] == "read_committed":
        words = f"reader-1 sees exactly the {len(committed)} records that were committed"
        trial.expect(
            "exactly the committed", seen["reader-1"] - unknown == committed, f"{words}; it saw {len(seen['reader-1'])}."
        )
    for name in ("reader-1", "reader-2") if trial.options["isolation"] == "read_uncommitted" else ("reader-2",):
        others = seen[name] - committed - unknown
        words = f"{name} reads uncommitted: it sees exactly the {len(undone)} records in the log that were not committed"
        exact = undone <= others <= undone | (failed & open_ended) if undone else None
        trial.expect(f"exactly the aborted: {name}", exact, f"{words}; it saw {len(others)}.")


def _pinned(trial: Trial, account: Account, held: set[int]) -> None:
    """Where readers of committed records stood while the transaction was open: before its first record, everywhere."""
    first: dict[int, int] = {}
    for sent in account.sends:
        if sent.value in held and sent.partition is not None and sent.offset is not None:
            first[sent.partition] = min(sent.offset, first.get(sent.partition, sent.offset))
    stood = next(dict(event["offsets"]) for event in trial.folder.events() if event["event"] == PINNED)
    words = f"An open transaction keeps the last stable offset at its first records, {sorted(first.items())}"
    trial.expect("LSO stands still", stood == first, f"{words} (partition, offset); it stood at {sorted(stood.items())}.")


def _fenced(trial: Trial, account: Account) -> None:
    held = set(trial.exposed)
    names = {sent.txn for sent in account.sends if sent.value in held}
    told = [end for end in account.ends if end.txn in names and end.kind == "commit"]
    words = "The commit of the producer that was replaced fails"
    seen = ", ".join(f"{end.outcome} {end.error or ''}".strip() for end in told) or "it was not asked for"
    trial.expect("fenced", bool(told) and all(end.outcome != "ok" for end in told), f"{words}: {seen}.")


SCENARIO = Scenario(
    name="transactions",
    promise="in mid-transaction a broker or the producer dies: no aborted read, none torn, and the LSO moves again in time",
    act=act,
    conclude=conclude,
    options={
        "how": Option("coordinator", tuple(HOW), "who dies in mid-transaction; a zombie is frozen, replaced and resumed"),
        # More than two transactions a second: one that is open must end by itself long before it times out.
        "rate": Option("300", help="records a second of a producer", least=100),
        "isolation": Option(
            "read_committed", ("read_committed", "read_uncommitted"), "of the reader that is promised whole"
        ),
    },
    config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"},
    twin={"isolation": "read_uncommitted"},
    twin_finds="the reader sees exactly the records of aborted transactions, too",
    question="Does a reader of committed records see whole transactions and nothing else, whatever dies in the middle of "
    "one, and how long does it wait?",
    steps="Two producers commit, and abort every fourth transaction. One stands still in mid-transaction; then the leader "
    "of a partition, the transaction's coordinator or the producer is killed, or the producer is frozen, replaced and "
    "resumed.",
    expectation="The last stable offset stands at the first record of the open transaction and moves again within the "
    "bound. With a new leader or coordinator the transaction is committed whole; of a producer that is gone nothing is "
    "seen, and a zombie's commit fails. A committed reader sees exactly the committed, an uncommitted one exactly the "
    "aborted as well.",
)
