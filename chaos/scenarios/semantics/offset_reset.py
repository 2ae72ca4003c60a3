"""A consumer's position is no longer in the log: records were deleted above it, or the log was cut below it.

Where it goes on is its auto.offset.reset, or where the logs part. What is gone is gone; the question is what it misses of
what is still there, what it reads again, and whether anybody tells it.
"""

from chaos.evidence.account import Account
from chaos.scenarios.scenario import Option, Scenario
from chaos.scenarios.semantics import log_cut
from chaos.scenarios.semantics.resetting import AT_THE_END, RESET, expect_told, wait_told
from chaos.traffic.client import Client
from chaos.trial import Trial

CONSUMER = "consumer-1"


def act(trial: Trial) -> None:
    if trial.options["how"] == "truncated":
        return log_cut.act(trial)
    orders = trial.topic("orders", assignment=[trial.cluster.brokers[:3]])
    producer = trial.producer("producer-1", orders)
    # Somebody else reads everything in time, so that what is deleted is missed by this group and not lost to the world.
    trial.consumer("reader-1", orders, mode="assign")
    _member(trial, orders, "earliest")
    trial.settle()
    producer.rest()
    trial.traffic.wait_caught_up()
    with trial.operation("delete-records", f"records are deleted above the offset of {CONSUMER}, which is away") as work:
        _leaves(trial)
        trial.exposed = producer.burst(int(trial.options["records"]))
        producer.rest()
        trial.traffic.wait_caught_up()
        work.seen(_deleted(trial, orders))
        _back(trial, orders, trial.options["reset"])
    producer.order("resume")
    trial.steady("reading on")
    producer.rest()
    return None


def _member(trial: Trial, orders: str, reset: str) -> Client:
    return trial.consumer(CONSUMER, orders, config={"auto.offset.reset": reset, "enable.partition.eof": True})


def _leaves(trial: Trial) -> None:
    trial.traffic.close(CONSUMER)
    trial.groups[trial.group()] -= 1


def _deleted(trial: Trial, orders: str) -> str:
    """Half of what came in while the group was away."""
    committed, (_, end) = trial.cluster.committed(trial.group())[orders, 0], trial.cluster.log_offsets(orders)[0]
    start = trial.cluster.delete_records({(orders, 0): committed + len(trial.exposed) // 2})[orders, 0]
    trial.events.write("offsets", committed=committed, start=start, end=end)
    return f"the group is at offset {committed}; the log begins at {start} and ends at {end}"


def _back(trial: Trial, orders: str, reset: str) -> None:
    client = _member(trial, orders, reset)
    if reset != "error":
        return wait_told(trial, client, AT_THE_END)
    wait_told(trial, client, RESET)
    trial.stays(
        "waits", lambda: not any(client.status["read"][orders].values()), seconds=trial.settings.steady_s,
        words="With auto.offset.reset=error it reads nothing until somebody decides",
    )  # fmt: skip
    _leaves(trial)
    return _back(trial, orders, "earliest")  # what its operator decides


def conclude(trial: Trial, account: Account) -> None:
    if trial.options["how"] == "truncated":
        return log_cut.conclude(trial, account)
    known = next(event for event in trial.folder.events() if event["event"] == "offsets")
    group = {client.name for client in trial.traffic.clients if client.name.startswith(CONSUMER)}
    missed = account.acked - {read.value for read in account.read_by(group)}
    there = missed & account.drained
    trial.expect("none missed", not there, f"No record that is still in the log is missed; {len(there)} are.")
    _gap(trial, account, missed, known)
    twice = account.read_twice(group)
    trial.expect("none again", not twice, f"No record is read again; {len(twice)} are.")
    return expect_told(trial, group)


def _gap(trial: Trial, account: Account, missed: frozenset[int], known: dict[str, int]) -> None:
    deleted = {sent.value for sent in account.sends if known["committed"] <= (sent.offset or 0) < known["start"]}
    between = {sent.value for sent in account.sends if known["start"] <= (sent.offset or 0) < known["end"]}
    wanted, words = deleted, f"Missed are exactly the {len(deleted)} records that were deleted"
    if trial.options["reset"] == "latest":
        wanted, words = deleted | between, f"{words} and the {len(between)} between log start and log end"
    trial.expect("exact gap", missed == wanted, f"{words}; {len(missed)} are, {len(missed & wanted)} of them those.")


SCENARIO = Scenario(
    name="offset-reset",
    promise="a consumer comes back to an offset that is no longer in the log: it misses nothing that is still there",
    act=act,
    conclude=conclude,
    options={
        "how": Option("deleted", ("deleted", "truncated"), "records deleted above its offset, or the log cut below it"),
        "reset": Option("earliest", ("earliest", "latest", "error"), "auto.offset.reset"),
        "records": Option("100", help="of which half are deleted, or all cut off", least=10),
    },
    controllers=1,
    twin={"reset": "latest"},
    twin_finds="exactly the records between log start and log end are missed as well",
    question="Where does a consumer go on when its offset is no longer in the log, and is it told?",
    steps=(
        "deleted: while a group is away records come in, and the log start is moved above its committed offset. truncated: "
        "an unclean election cuts off what a consumer had read, and twice as many others take their place."
    ),
    expectation=(
        "deleted: with earliest nothing that still exists is missed, with latest exactly what lies between log start and "
        "log end is missed as well, and neither is told; with error it is told _AUTO_OFFSET_RESET once and reads nothing "
        "until it is restarted. truncated (always a FAIL: the log has lost records): librdkafka notices by the leader "
        "epoch; with earliest and latest alike it goes back to where the logs part: nothing is missed, nothing read twice."
    ),
)
