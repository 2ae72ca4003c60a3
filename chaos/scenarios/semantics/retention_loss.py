"""Retention overtakes a consumer that is too slow: what it never read is deleted, and the ledger names it.

Acknowledged means kept until retention says otherwise, and retention asks nobody who reads. The consumer is told nothing
either: with auto.offset.reset=earliest it goes on at the new beginning of the log, and only the leap in its offsets tells.
"""

from itertools import pairwise

from chaos.evidence.account import Account, Sent
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Operation, Trial

READER = "reader-1"
SEGMENT = 1 << 20  # bytes; Kafka 4 takes no smaller segment
SIZE = 1000  # bytes of a record here, so that some thousands fill a few segments
CHECK_MS = 500
WEEK_MS = 7 * 24 * 3600 * 1000
LIMITS = {
    "bytes": {"retention.bytes": str(SEGMENT)},
    "ms": {"retention.ms": "3000"},  # longer than a reader that keeps up is ever behind
}


def act(trial: Trial) -> None:
    orders = trial.topic("orders", assignment=[trial.cluster.brokers[:3]], config=_config(trial))
    producer = trial.producer("producer-1", orders)
    reader = trial.consumer(READER, orders, mode="assign")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    with trial.operation("slow-consumer", f"{READER} is paused while records come in") as work:
        reader.rest()
        trial.exposed = producer.burst(int(trial.options["records"]))
        producer.rest()
        _overtaken(trial, orders, work)
        reader.order("resume")
    producer.order("resume")
    trial.steady("reading on")


def _config(trial: Trial) -> dict[str, str]:
    """The same log in both: only how much of it is kept differs."""
    limit = LIMITS[trial.options["limit"]] if trial.options["retention"] == "short" else {}
    return {"segment.bytes": str(SEGMENT), **limit}


def _overtaken(trial: Trial, orders: str, work: Operation) -> None:
    """Wait until retention has had its turn, and write down where the log begins then. Nothing is sent meanwhile."""
    position = trial.traffic.read()[orders, 0]
    if trial.options["retention"] == "long":
        trial.stays(
            "kept", lambda: trial.cluster.log_offsets(orders)[0][0] == 0, seconds=4 * CHECK_MS / 1000,
            words="With retention as long as the consumer is slow the log begins where it began",
        )  # fmt: skip
        work.seen(f"{len(trial.exposed)} records wait for {READER}, which is at offset {position}")
        return
    start = _settled(trial, orders, position)
    work.seen(f"the log begins at offset {start}, and {READER} is at {position}")
    # Whoever notices sets it up: what comes from here on is kept, so that exactly the window is at stake.
    trial.cluster.alter_topic(orders, {"retention.ms": str(WEEK_MS), "retention.bytes": "-1"})
    trial.events.write("log-start", topic=orders, partition=0, offset=start)


def _settled(trial: Trial, orders: str, position: int) -> int:
    """The log start once it is past the reader and stays. By size, whole segments go; by age, in the end all of them."""
    seen: list[tuple[int, int]] = []
    by_age = trial.options["limit"] == "ms"

    def look() -> list[tuple[int, int]]:
        seen.append(trial.cluster.log_offsets(orders)[0])
        return seen[-3:]

    def settled(looks: list[tuple[int, int]]) -> bool:
        start, end = looks[-1]
        return len(looks) == 3 and len(set(looks)) == 1 and start > position and (start == end or not by_age)

    last = trial.wait(
        "overtaken", look, settled, what=f"the log of {orders} begins past offset {position} (start and end are shown)",
        timeout=60, every=2 * CHECK_MS / 1000,
    )  # fmt: skip
    return last[-1][0]


def conclude(trial: Trial, account: Account) -> None:
    mine = [read for read in account.reads if read.client == READER]
    missed = account.acked - {read.value for read in mine}
    if trial.options["retention"] == "long":
        trial.expect("none missed", not missed, f"The slow consumer reads every record; it missed {len(missed)}.")
        return
    start = next(event["offset"] for event in trial.folder.events() if event["event"] == "log-start")
    deleted = {sent.value for sent in _in_window(trial, account) if (sent.offset or 0) < start}
    words = f"Exactly the {len(deleted)} records below the log start offset {start} that nobody had read are lost to it"
    trial.expect("exact loss", account.lost == missed == deleted, f"{words}; {len(missed)} are.")
    leaps = [(a, b) for a, b in pairwise(mine) if b.offset > a.offset + 1]
    told = leaps[0][1].offset if leaps else None
    words = f"The consumer goes on at offset {start}"
    trial.expect("reset to the log start", len(leaps) == 1 and told == start, f"{words}; it leaps to {told}.")
    errors = trial.traffic.client(READER).status.get("errors", {})
    trial.expect("told nothing", not errors, f"No error tells it that records are gone; it was told {errors or 'none'}.")


def _in_window(trial: Trial, account: Account) -> list[Sent]:
    window = set(trial.exposed)
    return [sent for sent in account.sends if sent.value in window]


SCENARIO = Scenario(
    name="retention-loss",
    promise="a consumer is slow while records come in: as long as retention lets it, it catches up and misses none",
    act=act,
    conclude=conclude,
    options={
        "retention": Option("long", ("long", "short"), "longer or shorter than the consumer is slow"),
        "limit": Option("bytes", ("bytes", "ms"), "what short retention goes by: size or age"),
        "records": Option("4000", help="that come in meanwhile", least=3000),
        "size": Option(str(SIZE), help="bytes of a record", least=SIZE),
    },
    config={"log.retention.check.interval.ms": str(CHECK_MS), "log.initial.task.delay.ms": str(CHECK_MS)},
    twin={"retention": "short"},
    twin_finds="exactly the records below the new log start offset that nobody had read are lost",
    question="What happens to a consumer that is slower than retention? It misses records, and nothing tells it so.",
    steps=(
        "A reader is paused while a few segments are written. Once retention has deleted what it may, and the log begins "
        "past the reader's position, retention is set up and the reader goes on."
    ),
    expectation=(
        "With retention=long nothing is missed. With retention=short exactly the acknowledged records below the log start "
        "offset that nobody had read are lost, each named (lost-write); the reader goes on at the log start (one poll-skip) "
        "and gets no error: auto.offset.reset=earliest hides the loss."
    ),
)
