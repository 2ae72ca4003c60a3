"""Every broker gets a new certificate while it serves, without a restart.

Whoever connects anew is shown the new one; whoever is connected goes on. A certificate of another name is refused by the
broker itself. One of an authority that clients do not trust is not, which is the twin: exactly those who connect anew are
shut out, and nobody who watches the traffic alone would see it.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaos.evidence.account import Account
from chaos.faults.restart_broker import BEGINS
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial
from compose.certificates import serial_of, serial_shown
from compose.logins import login_error

BOTH = ("CLIENT", "REPLICATION")
WAITED = 30  # records of a newcomer without an answer: then it was given its chance
SHORT = {"message.timeout.ms": 3_000}  # so that a newcomer who is shut out is told so in time


def spec(options: Mapping[str, str]) -> Mapping[str, Any]:
    return {"security": options["security"]}


def act(trial: Trial) -> None:
    orders = trial.topic("orders")
    trial.producer("producer-1", orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    lives = _lives(trial)
    _other_name(trial)
    with _undone(trial) as files:
        _rotate(trial, orders, files)
    trial.producer("producer-3", orders).wait_ready()
    trial.steady("sending on, with one who came last")
    trial.expect("restarts", _lives(trial) == lives, f"No node is restarted; lives by their logs: {_lives(trial)}.")


def _lives(trial: Trial) -> dict[int, int]:
    return {node: trial.cluster.log(node).count(BEGINS) for node in trial.cluster.nodes}


def _other_name(trial: Trial) -> None:
    broker = trial.cluster.brokers[0]
    file = trial.cluster.new_certificate(broker, whose="somebody")
    said = trial.cluster.load_keystore(broker, file, ("CLIENT",))
    file.unlink()
    trial.expect("another name", said is not None, f"A certificate of another name is refused; {said or 'it was not.'}")


@contextmanager
def _undone(trial: Trial) -> Iterator[dict[int, Path]]:
    """Files of new certificates by broker; in the end all have those again that they had at their start."""
    files: dict[int, Path] = {}
    try:
        yield files
    finally:
        for broker, file in files.items():
            trial.cluster.load_keystore(broker, None, BOTH)
            file.unlink()


def _rotate(trial: Trial, orders: str, files: dict[int, Path]) -> None:
    cluster, stranger = trial.cluster, trial.options["authority"] == "other"
    whose = "an authority that clients do not know" if stranger else "the same authority"
    with trial.operation("rotate-certificates", f"every broker gets a certificate of {whose}", affected=[]) as work:
        for broker in cluster.brokers:
            files[broker] = cluster.new_certificate(broker, stranger=stranger)
            said = cluster.load_keystore(broker, files[broker], ("CLIENT",) if stranger else BOTH)
            trial.expect("accepted", said is None, f"Broker {broker} takes its new certificate; {said or 'it did.'}")
        wanted = {broker: "not trusted" if stranger else serial_of(file.read_bytes()) for broker, file in files.items()}
        trial.wait(
            "shown", lambda: {broker: _shown(trial, broker) for broker in cluster.brokers}, lambda seen: seen == wanted,
            what="each broker shows the certificate that was made for it", timeout=30,
        )  # fmt: skip
        work.seen(
            f"new connections to {len(wanted)} brokers are shown {'what they do not trust' if stranger else 'new ones'}"
        )
        _newcomer(trial, orders)
        trial.traffic.wait_for(acks=10, reads=10, timeout=90)


def _shown(trial: Trial, broker: int) -> int | str:
    try:
        return serial_shown(trial.cluster.address, trial.cluster.ports_of(broker).client)
    except ssl.SSLCertVerificationError:
        return "not trusted"


def _newcomer(trial: Trial, orders: str) -> None:
    """Somebody who connects now, for the first time: either served, or given time enough to see that nobody serves him."""
    newcomer = trial.producer("producer-2", orders, config=SHORT if trial.options["authority"] == "other" else {})
    newcomer.wait_ready()
    trial.wait(
        "newcomer answered", lambda: sum(int(newcomer.status.get(end, 0)) for end in ("ok", "fail", "info")),
        lambda answers: answers >= WAITED, what=f"{WAITED} answers to producer-2", timeout=60,
    )  # fmt: skip
    error = login_error(trial.cluster.address)
    trial.traffic.close("producer-2")
    trial.expect("newcomers", error is None, f"Whoever connects anew is let in; {error or 'so it was'}.")


def conclude(trial: Trial, account: Account) -> None:
    ends = {name: {sent.outcome for sent in account.sends if sent.client == name} for name in ("producer-1", "producer-3")}
    words = "Whoever was connected goes on, and whoever comes last is let in"
    trial.expect("the others", set().union(*ends.values()) == {"ok"}, f"{words}; {ends}.")
    sent = {one.value: one for one in account.sends if one.client == "producer-2"}
    taken = {value for value, one in sent.items() if one.outcome == "ok"}
    there = sent.keys() & account.drained
    expected = set() if trial.options["authority"] == "other" else set(sent)
    words = f"Of {len(sent)} records of whoever connected anew, {len(expected)} are acknowledged and in the log"
    trial.expect("exactly newcomers", taken == there == expected, f"{words}; {len(taken)} and {len(there)} are.")
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )


SCENARIO = Scenario(
    name="certificate-rotation",
    promise="every broker gets a new certificate without a restart: newcomers are shown it, nobody notices, nothing is lost",
    act=act,
    conclude=conclude,
    options={
        "authority": Option("same", ("same", "other"), "that signs the new certificates; clients trust the first one only"),
        "security": Option("sasl_ssl", ("sasl_ssl", "tls"), "of the clients' listeners"),
    },
    config={"num.network.threads": "1"},  # each tries the new certificate by a handshake with itself, one after the other
    spec=spec,
    processes=True,
    twin={"authority": "other"},
    twin_finds="exactly those who connect anew are shut out (_SSL), while those who were connected are served",
    question="Can certificates be replaced without a restart, and what does a wrong one do?",
    steps="Under traffic each broker is given a new certificate and told to load it, on its listeners for clients and for "
    "replication; a new connection to each reads its serial number, and a new producer comes. Afterwards the brokers load "
    "their first ones again, and another producer comes.",
    expectation="Each broker shows the very certificate that was made for it, no node is restarted, no partition has a gap, "
    "nothing is lost. A certificate of another name is refused. With one of an unknown authority only new connections fail.",
)
