"""A noisy client is slowed down to its quota, and the client beside it is served as before.

Both write to partitions of one broker. The quota holds on that broker for the noisy one alone, by its client.id. The twin
sets no quota: the noisy client gets all it asks for. And a quota is of a name, not of a program: where the other one bears
the same name (`quota=shared`), it is made to wait with it.
"""

import math
import time
from collections.abc import Iterable

from chaos import bounds
from chaos.evidence.account import Account, Sent
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial

NOISY, SIZE = {"client-id": "noisy"}, 1_000  # bytes of its records
ASKED = 5  # times the quota that the noisy client asks for
RATE = 100.0  # records a second of the other one
WINDOW = {"quota.window.num": "5", "quota.window.size.seconds": "1"}
LIMIT = "producer_byte_rate"


def act(trial: Trial) -> None:
    leader, *others = trial.cluster.brokers[:3]
    quota = int(trial.options["bytes"])
    loud = trial.topic("loud", assignment=[[leader, *others]])
    orders = trial.topic("orders", assignment=[[leader, *others]])
    name = NOISY["client-id"] if trial.options["quota"] == "shared" else "quiet"
    trial.producer("quiet", orders, rate=RATE, config={"client.id": name})
    trial.consumer("reader-1", orders, loud, mode="assign")
    trial.healthy(canary=False)
    # Small batches: one that is larger than the quota allows in a second would make the rate a matter of single requests.
    small = {"client.id": "noisy", "batch.size": quota // 10}
    noisy = trial.producer("noisy", loud, size=SIZE, rate=ASKED * quota / SIZE, config=small)
    trial.warm_up()
    noisy.rest()
    _alone(trial, orders, 2 * trial.settings.steady_s)
    try:
        _noise(trial, loud, quota)
    finally:
        trial.cluster.alter_quotas(NOISY, {LIMIT: None})
        noisy.rest()
    _alone(trial, orders, trial.settings.steady_s)


def _alone(trial: Trial, orders: str, seconds: float) -> None:
    trial.phase("steady", "the quiet client alone")
    time.sleep(seconds)  # a stretch of undisturbed traffic is what is asked for
    trial.traffic.wait_for(acks=10, reads=10, on=[(orders, 0)], timeout=90)


def _noise(trial: Trial, loud: str, quota: int) -> None:
    settles, noisy = bounds.quota_window(trial.given()).seconds, trial.traffic.client("noisy")
    sentence = f"a client asks for {ASKED} times {quota:,} bytes a second"
    with trial.operation("noisy-client", sentence, affected=[(loud, 0)]) as work:
        _limit(trial, quota)
        before = noisy.status["ok"]
        noisy.order("resume")
        time.sleep(settles)  # a stretch of time is what a quota is about
        trial.wait(
            "noise", lambda: noisy.status["ok"], lambda ok: ok > before, what="the noisy client served", timeout=60
        )  # fmt: skip
        work.seen(f"{noisy.status['ok']:,} records of the noisy client are acknowledged, {noisy.status['open']:,} wait")
        time.sleep(2 * settles)


def _limit(trial: Trial, quota: int) -> None:
    wanted = {} if trial.options["quota"] == "off" else {LIMIT: float(quota)}
    if wanted:
        trial.cluster.alter_quotas(NOISY, wanted)
    told = trial.wait(
        "read back", lambda: trial.cluster.quotas(NOISY), lambda told: told == wanted,
        what=f"a quota of {wanted.get(LIMIT, 'none')} read back", timeout=30,
    )  # fmt: skip
    trial.expect("read back", True, f"The quota of the noisy client reads back as it was set: {told.get(LIMIT, 'none')}.")


def conclude(trial: Trial, account: Account) -> None:
    ((name, (noise, end)),) = trial.windows.items()
    begin, quota = trial.bitten[name], int(trial.options["bytes"])
    seconds = (end - begin) / 1e9
    least, most = bounds.quota_bytes(trial.given(), quota, seconds=seconds)
    if trial.options["quota"] == "shared":
        least = 0.0  # a part of it is the other's
    sends = [sent for sent in account.sends if sent.client == "noisy"]
    asked = SIZE * sum(begin <= (sent.invoked_ns or 0) < end for sent in sends)
    taken = SIZE * sum(sent.outcome == "ok" and begin <= (sent.completed_ns or 0) < end for sent in sends)
    words = f"In {seconds:.1f} s the noisy client gets {least:,.0f} to {most:,.0f} bytes by its quota of {quota:,} a second"
    told = f"it asked for {asked:,} and got {taken:,}, {taken / seconds:,.0f} a second"
    # One that asks for no more than it may have proves nothing.
    trial.expect("throttled", least <= taken <= most if asked > most else None, f"{words}; {told}.")
    _not_touched(trial, account, noise, end)
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )


def _not_touched(trial: Trial, account: Account, begin: int, end: int) -> None:
    alone = begin - int(2 * trial.settings.steady_s * 1e9)
    before, during = (p99_s(account.sends, "quiet", *stretch) for stretch in ((alone, begin), (begin, end)))
    most = bounds.beside_a_throttled_client(trial.given(), before)
    words = f"99 of 100 records of the quiet client are acknowledged within {most.seconds:.2f} s ({most.why})"
    trial.expect(
        "the other", during <= most.seconds, f"{words}; before it was {before:.3f} s, beside the noise {during:.3f} s."
    )


def p99_s(sends: Iterable[Sent], client: str, begin: int, end: int) -> float:
    """How long acknowledgements took, of what a client sent between two moments."""
    import numpy as np

    took = [
        sent.completed_ns - sent.invoked_ns
        for sent in sends
        if sent.client == client and sent.outcome == "ok" and begin <= (sent.invoked_ns or 0) < end
        if sent.completed_ns is not None and sent.invoked_ns is not None
    ]
    return float(np.percentile(took, 99)) / 1e9 if took else math.inf


SCENARIO = Scenario(
    name="quotas",
    promise="a noisy client is slowed down to its quota, and the client beside it is served as before",
    act=act,
    conclude=conclude,
    options={
        "quota": Option(
            "on",
            ("on", "off", "shared"),
            "one of the noisy client's own, none, or one that it shares with the other by their client.id",
        ),
        "bytes": Option("100000", help="a second that the quota allows on a broker", least=20_000),
    },
    config=WINDOW,
    twin={"quota": "off"},
    twin_finds="the noisy client gets all it asks for, five times as much",
    question="Does a quota hold a noisy client back, and does it protect the others?",
    steps="Two clients write to partitions of one broker. One begins to ask for five times its quota; when the window over "
    "which the broker averages has passed, what it gets is counted for two windows more.",
    expectation="It gets what its quota allows, give or take one sample of the window, and nothing is lost. What the "
    "other one waits for its acknowledgements stays as in quiet; but not where both bear one client.id and share the quota.",
)
