"""A producer loses its right to write in mid-stream, and gets it back.

At acks=all every record after is refused by name, none of them is in the log, and nothing lies between: what was sent is
acknowledged, refused or unknown, exactly. Somebody else on the same topic notices nothing. The twin sends with acks=0 and
is told nothing at all: exactly what it sent after is lost, and it believes that all went well.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from chaos.evidence.account import Account, Sent
from chaos.scenarios.operations.principals import principal
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial
from kernel.errors import NotReady

DENIED = "TOPIC_AUTHORIZATION_FAILED"
ROUNDS = 10  # after which it is given up
ENOUGH = 30  # refusals in a row, over all partitions: then every leader has heard of it


def spec(options: Mapping[str, str]) -> Mapping[str, Any]:
    return {"security": options["security"]}


def act(trial: Trial) -> None:
    acks = trial.options["acks"]
    orders = trial.topic("orders")
    with ExitStack() as known:
        alice, hers = known.enter_context(principal(trial, "alice", orders))
        _, his = known.enter_context(principal(trial, "bob", orders))
        producer = trial.producer("producer-1", orders, address=hers, acks=acks, idempotence=False)
        trial.producer("producer-2", orders, address=his)
        # With acks=0 a producer hears of nothing, so somebody of the same name tells when the rule is gone.
        witness = trial.producer("witness", orders, address=hers, idempotence=False, rate=100) if acks == "0" else producer
        trial.consumer("reader-1", orders, mode="assign")
        trial.settle()
        _revoke(trial, orders, alice, producer, witness)
        _give_back(trial, orders, alice, producer, witness)
        trial.steady("sending on with everybody allowed to")


def _revoke(trial: Trial, orders: str, alice: str, producer: Client, witness: Client) -> None:
    if producer is not witness:  # then only the burst is sent without a right to
        producer.rest()
    with trial.operation("revoke-acl", f"{alice} may no longer write to {orders}", affected=[]) as work:
        gone = trial.cluster.disallow(alice, "WRITE", "TOPIC", orders)
        _all_say(trial, "refused", witness, "fail", f"{ENOUGH} refusals in a row")
        work.seen(f"{gone} rule is gone, and {witness.name} is told {', '.join(witness.status['errors'])}")
        trial.exposed = producer.burst(int(trial.options["records"]))
        producer.rest()
        witness.order("resume")


def _all_say(trial: Trial, name: str, witness: Client, end: str, what: str) -> None:
    """Until every leader has heard of it: so many records in a row ended so, and so did all that were still under way, which
    a leader that is slow to hear would have answered as before. The witness rests then."""
    streak = Streak(witness, end)
    for _ in range(ROUNDS):
        trial.wait(name, streak, _enough, what=what, timeout=60)
        witness.rest()
        if _enough(streak()):
            return
        witness.order("resume")
    raise NotReady(
        f"leaders go on answering {witness.name} in two ways: {what} were seen {ROUNDS} times, and broken each time."
    )


class Streak:
    """How many records in a row ended so (ok or fail), by a client's own counts; the other end begins it anew."""

    def __init__(self, client: Client, end: str) -> None:
        self._client, self._end, self._other = client, end, "ok" if end == "fail" else "fail"
        self._broken, self._from = -1, 0

    def __call__(self) -> int:
        same, other = (int(self._client.status.get(end, 0)) for end in (self._end, self._other))
        if other != self._broken:
            self._broken, self._from = other, same
        return same - self._from


def _enough(streak: int) -> bool:
    return streak >= ENOUGH


def _give_back(trial: Trial, orders: str, alice: str, producer: Client, witness: Client) -> None:
    with trial.operation("grant-acl", f"{alice} may write to {orders} again", affected=[]) as work:
        trial.cluster.allow(alice, "WRITE", "TOPIC", orders)
        _all_say(trial, "allowed again", witness, "ok", f"{ENOUGH} records taken in a row")
        work.seen(f"{ENOUGH} records of {witness.name} in a row are acknowledged")
        trial.seen = producer.burst(int(trial.options["records"]))
        producer.rest()
        for client in {producer, witness}:
            client.order("resume")


def conclude(trial: Trial, account: Account) -> None:
    hers = [sent for sent in account.sends if sent.client == "producer-1"]
    exposed, again = set(trial.exposed), set(trial.seen)
    if trial.options["acks"] == "0":
        believed = {sent.value for sent in hers if sent.value in exposed and sent.outcome == "ok"}
        words = f"With acks=0 the {len(exposed)} records sent without a right to are believed to be written, and lost"
        lost = account.lost
        trial.expect("silently lost", lost == believed == exposed, f"{words}; {len(believed)} and {len(lost)} are.")
    else:
        _told(trial, account, hers, exposed)
    taken = {sent.value for sent in hers if sent.outcome == "ok"} & again & account.drained
    words = f"With the right given back the next {len(again)} records are written"
    trial.expect("goes on", taken == again, f"{words}; {len(taken)} are.")
    others = {sent.error or sent.outcome for sent in account.sends if sent.client == "producer-2" and sent.outcome != "ok"}
    trial.expect("the other", not others, f"Somebody else is not touched; {', '.join(sorted(others)) or 'nothing failed'}.")


def _told(trial: Trial, account: Account, hers: list[Sent], exposed: set[int]) -> None:
    refused = {sent.value for sent in hers if (sent.outcome, sent.error) == ("fail", DENIED)}
    words = f"Each of the {len(exposed)} records sent without a right to is refused as {DENIED}"
    trial.expect("all refused", exposed <= refused, f"{words}; {len(exposed & refused)} are.")
    errors = {sent.error for sent in hers if sent.error}
    trial.expect("a clear error", errors == {DENIED}, f"No other error is told; {', '.join(sorted(errors))}.")
    there = refused & account.drained
    trial.expect("none in the log", not there, f"None of {len(refused)} refused records is in the log; {len(there)} are.")
    ends = {end: {sent.value for sent in hers if sent.outcome == end} for end in ("ok", "fail", "info")}
    first, count = min(sent.value for sent in hers), int(trial.traffic.client("producer-1").status["sent"])
    whole = set().union(*ends.values()) == set(range(first, first + count)) and sum(map(len, ends.values())) == count
    sums = ", ".join(f"{len(values)} {end}" for end, values in ends.items())
    trial.expect("none forgotten", whole, f"Every one of {count} sent records came to exactly one end; {sums}.")


SCENARIO = Scenario(
    name="acl-revoked",
    promise="a producer loses its WRITE rule in mid-stream: a clear error for each record, and none silently dropped",
    act=act,
    conclude=conclude,
    options={
        "acks": Option("all", ("all", "0"), "acknowledgements the producer waits for"),
        "records": Option("60", help="sent without a right to"),
        "security": Option("sasl_ssl", ("sasl_ssl", "tls"), "how principals prove themselves"),
    },
    spec=spec,
    twin={"acks": "0"},
    twin_finds="exactly the records sent without a right to are lost, and the producer was told that all went well",
    question="What becomes of a producer whose right to write is taken away while it sends?",
    steps="Two principals write to one topic. One loses its WRITE rule; when every leader refuses it, a burst of known "
    "records is sent. Then it gets the rule back, and another burst is sent.",
    expectation="Each record of the first burst fails with TOPIC_AUTHORIZATION_FAILED and none of them is in the log; "
    "each of the second is written; what was sent is acknowledged, refused or unknown and nothing else. The other principal "
    "has no error and no gap. With acks=0 the first burst is acknowledged by nobody, believed to be written, and lost.",
)
