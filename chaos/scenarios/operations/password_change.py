"""A SCRAM password is changed while its user sends.

Connections that are open stay open; whoever connects with the new password is let in, and nobody with the old one. So the
change costs nothing as long as no connection breaks. The twin is the client that was not told: its connections are cut, and
it never comes back, though nothing that was acknowledged to it is lost.
"""

from dataclasses import replace

from chaos.evidence.account import Account
from chaos.faults.drop_client_connection import DropClientConnection
from chaos.scenarios.operations.principals import new_password, principal
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial
from compose.logins import login_error
from kernel.cluster import ClusterAddress

REFUSED = "_AUTHENTICATION"
SHORT = {"message.timeout.ms": 5_000}  # so that a client who is shut out is told so in time


def act(trial: Trial) -> None:
    orders = trial.topic("orders")
    with principal(trial, "alice", orders) as (alice, old):
        client = trial.producer("producer-1", orders, address=old, config=SHORT if trial.options["told"] == "no" else {})
        trial.consumer("reader-1", orders, mode="assign")
        trial.settle()
        new = _change(trial, alice, old)
        if trial.options["told"] == "yes":
            client = _hand_over(trial, orders, new)
        _cut(trial, client)
        if trial.options["told"] == "yes":
            client.order("resume")
        else:
            trial.producer("producer-2", orders, address=new).wait_ready()
        trial.steady("sending on with the new password")


def _change(trial: Trial, alice: str, old: ClusterAddress) -> ClusterAddress:
    with trial.operation("change-password", f"the password of {alice} is changed", affected=[]) as work:
        new = trial.cluster.create_user(alice, new_password())
        wanted = dict.fromkeys(trial.cluster.brokers, (None, REFUSED))
        trial.wait(
            "passwords", lambda: {broker: _logins(trial, broker, new, old) for broker in wanted},
            lambda seen: seen == wanted, what="the new password let in and the old one refused by every broker", timeout=60,
        )  # fmt: skip
        work.seen(f"every broker lets {alice} in with the new password, and says {REFUSED} to the old one")
        trial.traffic.wait_for(acks=10, reads=10, timeout=90)  # over the connections there were
    return new


def _logins(trial: Trial, broker: int, *addresses: ClusterAddress) -> tuple[str | None, ...]:
    door = f"127.0.0.1:{trial.cluster.ports_of(broker).client}"
    return tuple(login_error(replace(address, bootstrap=door)) for address in addresses)


def _hand_over(trial: Trial, orders: str, new: ClusterAddress) -> Client:
    """As a deployment does it: another instance with the new password, and then the old one goes."""
    client = trial.producer("producer-2", orders, address=new)
    client.wait_ready()
    trial.traffic.wait_for(acks=10, reads=10, timeout=90)
    trial.traffic.close("producer-1")
    return client


def _cut(trial: Trial, client: Client) -> None:
    client.rest()
    with trial.inject(DropClientConnection(client.name), role="and it has to prove itself again"):
        trial.exposed = client.burst(int(trial.options["records"]))
        client.rest()


def conclude(trial: Trial, account: Account) -> None:
    exposed = set(trial.exposed)
    rest = {sent.error or sent.outcome for sent in account.sends if sent.value not in exposed and sent.outcome != "ok"}
    words = "Connections that were open stay open, and no error reaches an application"
    trial.expect("goes on", not rest, f"{words}; {', '.join(sorted(rest)) or 'none did'}.")
    ends = {(sent.outcome, sent.error) for sent in account.sends if sent.value in exposed}
    taken, there = exposed & account.acked, exposed & account.drained
    words = f"Cut off, the client comes back and its next {len(exposed)} records are acknowledged"
    told = ", ".join(sorted(f"{outcome} {error or ''}".strip() for outcome, error in ends))
    trial.expect("comes back", taken == exposed, f"{words}; {len(taken)} were ({told}).")
    if trial.options["told"] == "no":
        words = f"Not told of the new password, it gets none of {len(exposed)} records acknowledged, and none is in the log"
        trial.expect("shut out", not taken and not there, f"{words}; {len(taken)} and {len(there)} are.")
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )


SCENARIO = Scenario(
    name="password-change",
    promise="a SCRAM password is changed under traffic: open connections go on, the new one is let in, the old one is not",
    act=act,
    conclude=conclude,
    options={
        "told": Option("yes", ("yes", "no"), "whether the client is given the new password before its connections are cut"),
        "records": Option("60", help="sent after the connections were cut"),
    },
    spec=lambda _options: {"security": "sasl_ssl"},
    twin={"told": "no"},
    twin_finds="the client that was not told never comes back: none of its next records is acknowledged, and none is lost",
    question="Can a password be changed without a lost record, and when does a forgotten client notice?",
    steps="Under traffic the password is changed, and both passwords are tried at every broker. A new producer with the new "
    "one takes over from the old. Then the connections of the producer are cut, and a burst of known records is sent.",
    expectation="The old password is refused and the new one let in by every broker, while open connections go on "
    "without an error. After the cut every record of the burst is acknowledged. A client that was not told has none "
    "acknowledged and none in the log.",
)
