"""Producers, consumers or both lose their brokers, for less or for more than their timeouts; or the line is merely bad.

What was acknowledged is there. For less than its timeout a producer notices nothing but a delay; beyond it, what timed
out is unknown, not failed: it may be in the log. Whoever was not cut off must not notice.
"""

from chaos import bounds
from chaos.evidence.account import Account, Sent
from chaos.faults.link_fault import LinkFault
from chaos.scenarios.scenario import REPLICATION, Option, Scenario
from chaos.trial import Trial
from compose.links import CLIENT, Link
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, Reset, Toxic

HOW: dict[str, Cut | Toxic] = {
    "cut": Cut(),
    "blackhole": Blackhole(direction="upstream"),
    "latency": Latency(ms=400, direction="downstream"),
    "bandwidth": Bandwidth(kbytes=30, direction="upstream"),
    "reset": Reset(),
}
GONE = ("cut", "blackhole", "reset")  # the others are a bad line, over which traffic goes on
MARGIN_S = 0.5  # by which librdkafka may find out late that a record's time is up (seen: 0.04 s)
TIMEOUT_MS = 8000  # of a record, in the quick settings


def act(trial: Trial) -> None:
    who, how = trial.options["who"], trial.options["how"]
    orders = trial.topic("orders", replication=int(trial.options["replication"]))
    config = _impatience(trial)
    trial.producer("producer-1", orders, direct=who == "consumer", config=config)
    trial.consumer("consumer-1", orders, direct=who == "producer")
    trial.settle()
    given = trial.given(**config)
    hold = _hold(trial, given)
    bound = bounds.cut_clients(given, held_s=hold) if how in GONE else None
    links = tuple(Link(CLIENT, broker) for broker in trial.cluster.brokers)
    everywhere = trial.partitions_with(*trial.cluster.brokers)
    send, poll = (bound if who in (kind, "both") else None for kind in ("producer", "consumer"))
    with trial.inject(
        LinkFault(links, HOW[how]), affected=everywhere, send=send, poll=poll, role=f"for {hold:.1f} s"
    ) as cut:
        if how not in GONE:
            trial.traffic.wait_for(acks=5, reads=5, timeout=60)
            trial.expect("traffic goes on", True, f"Traffic goes on over a line with {how}.")
        trial.hold(cut, hold)
    trial.healthy("healthy-again")
    trial.steady("sending on over a good line")


def _hold(trial: Trial, given: bounds.Given) -> float:
    """Shorter than a session and a record's timeout, or longer than both."""
    shortest = min(given.of_client("message.timeout.ms"), given.of_client("session.timeout.ms"))
    longest = max(given.of_client("message.timeout.ms"), given.of_client("session.timeout.ms"))
    return shortest / 2 if trial.options["length"] == "short" else longest + 4.0


def conclude(trial: Trial, account: Account) -> None:
    trial.expect("all there", not account.gone, f"What was acknowledged is there; {len(account.gone)} records are not.")
    refused = [sent for sent in account.sends if sent.outcome == "fail"]
    trial.expect(
        "unknown, not failed", not refused, f"What was not acknowledged is unknown, not failed; {len(refused)} failed."
    )
    unknown = [sent for sent in account.sends if sent.outcome == "info"]
    cut_off = trial.options["who"] != "consumer" and trial.options["how"] in GONE
    if cut_off and trial.options["length"] == "long":
        hopeless = _hopeless(trial, account)
        late = [sent for sent in hopeless if sent.outcome == "ok"]
        words = f"Of the {len(hopeless)} records whose time was up before the line was back, none is acknowledged"
        trial.expect("timed out", bool(hopeless) and not late, f"{words}; {len(late)} are.")
    else:
        words = "Nothing times out in so short a time" if cut_off else "No send is left without an answer"
        trial.expect("nothing timed out", not unknown, f"{words}; {len(unknown)} did.")


def _hopeless(trial: Trial, account: Account) -> list[Sent]:
    """Sent when the line was seen to be gone (cutting several links takes a moment), out of time before it was back."""
    timeout = trial.given(**_impatience(trial)).of_client("message.timeout.ms")
    first, last = trial.bitten["f1"], trial.windows["f1"][1] - int((timeout + MARGIN_S) * 1e9)
    return [sent for sent in account.sends if sent.invoked_ns and first < sent.invoked_ns < last]


def _impatience(trial: Trial) -> dict[str, int]:
    """Kafka's own five minutes, or a few seconds."""
    return {"message.timeout.ms": TIMEOUT_MS, "socket.timeout.ms": 2000} if trial.settings.name == "quick" else {}


SCENARIO = Scenario(
    name="clients-disconnected",
    promise="clients lose their brokers for less or more than their timeouts: what was acknowledged is there",
    act=act,
    conclude=conclude,
    options={
        "who": Option("both", ("producer", "consumer", "both"), "who is cut off"),
        "how": Option("cut", tuple(HOW), "refused, swallowed, late, throttled or reset"),
        "length": Option("long", ("short", "long"), "than the timeouts of records and sessions"),
        "replication": REPLICATION,
    },
    question="What became of records whose sender lost its brokers?",
    steps=(
        "Producer, consumer or both are cut off for less or more than their timeouts; or the line is late, throttled "
        "or reset."
    ),
    expectation=(
        "What was acknowledged is there; what timed out is unknown, not failed; for less than the timeout nothing "
        "times out, and no record whose time was up before the line was back is acknowledged."
    ),
)
