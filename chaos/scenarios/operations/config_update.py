"""Configuration is changed under traffic, and believed only where it is read back: from every broker, and for every topic.

What is dynamic takes effect without a restart, to the byte; what is static takes a rolling restart. The twin has a topic
with a setting of its own, which hides the new default of the brokers: the change was accepted everywhere, and is not in
effect there.
"""

from collections.abc import Callable, Mapping
from typing import Any

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.restart_broker import BEGINS
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial
from kernel.errors import NotReady
from kernel.waiting import wait_until

LIMIT = 20_000  # bytes of a batch
# A batch of one record without key or headers, that carries 8 KB or more: 61 bytes of the batch's own, 11 of the record's.
OVERHEAD = 72
RECORDS = 6
HOUR_MS = 3_600_000
TOPIC = {"retention.ms": str(5 * HOUR_MS), "min.insync.replicas": "1", "max.message.bytes": str(LIMIT)}
BROKERS = {"log.retention.ms": str(7 * HOUR_MS), "message.max.bytes": "500000", "num.io.threads": "9"}
# What a topic without settings of its own makes of those.
INHERITED = {"retention.ms": BROKERS["log.retention.ms"], "max.message.bytes": BROKERS["message.max.bytes"]}
WHO, QUOTA = {"client-id": "producer-1"}, {"producer_byte_rate": 50_000_000.0}
STATIC = "queued.max.requests"

Wrong = dict[str, str]


def act(trial: Trial) -> None:
    orders = trial.topic("orders")
    own = {"retention.ms": str(HOUR_MS)} if trial.options["override"] == "topic" else {}
    payments = trial.topic("payments", config=own)
    trial.producer("producer-1", orders, payments, config=one_by_one(trial.settings.clients) | {"client.id": "producer-1"})
    trial.consumer("reader-1", orders, payments, mode="assign")
    trial.settle()
    before = _lives(trial)
    if trial.options["how"] == "dynamic":
        _dynamic(trial, orders, payments)
        _refused(trial)
        _to_the_byte(trial, orders)
    else:
        _static(trial)
    trial.steady("sending on with the new configuration")
    more = 0 if trial.options["how"] == "dynamic" else 1
    lives = {node: lives - before[node] for node, lives in _lives(trial).items()}
    words = "No node is restarted" if not more else "Each node is restarted once"
    trial.expect("restarts", set(lives.values()) == {more}, f"{words}; by their logs {_told(lives)} times.")


def _lives(trial: Trial) -> dict[int, int]:
    return {node: trial.cluster.log(node).count(BEGINS) for node in trial.cluster.nodes}


# ---- without a restart --------------------------------------------------------------------------------------------


def _dynamic(trial: Trial, orders: str, payments: str) -> None:
    cluster = trial.cluster
    with trial.operation("alter-configs", "a topic, all brokers and a quota get a new configuration", affected=[]) as work:
        cluster.alter_topic(orders, TOPIC)
        trial.topics[orders]["config"] |= TOPIC
        refused = cluster.alter_brokers(BROKERS)
        trial.expect("accepted", refused is None, f"A new default of all brokers is accepted; {refused or 'it was.'}")
        cluster.alter_quotas(WHO, QUOTA)
        wrong = _settled(trial, lambda: _wrong(trial, orders, payments))
        work.seen(f"read back from {len(cluster.brokers)} brokers and {len(trial.topics)} topics")
    words = "What was changed is in effect on every broker and for every topic"
    trial.expect("in effect", not wrong, f"{words}; {_told(wrong) if wrong else 'it is'}.")


def _wrong(trial: Trial, orders: str, payments: str) -> Wrong:
    cluster = trial.cluster
    found = differing(f"topic {orders}", TOPIC, cluster.topic_config(orders))
    found |= differing(f"topic {payments}", INHERITED, cluster.topic_config(payments))
    for broker in cluster.brokers:
        found |= differing(f"broker {broker}", BROKERS, cluster.effective_config(broker))
    limits = {key: str(value) for key, value in cluster.quotas(WHO).items()}
    return found | differing("quota", {key: str(value) for key, value in QUOTA.items()}, limits)


def differing(where: str, wanted: Mapping[str, str], found: Mapping[str, str]) -> Wrong:
    """What is not as it was asked for, each with the value that is there."""
    return {
        f"{where} {key}": f"{found.get(key, 'unset')}, not {value}"
        for key, value in wanted.items()
        if found.get(key) != value
    }


def _settled(trial: Trial, look: Callable[[], Wrong]) -> Wrong:
    """Brokers learn of a change from the metadata log, a moment after it was accepted."""
    try:
        return wait_until(look, lambda wrong: not wrong, what="in effect", timeout=trial.settings.noise_s, every=0.1)
    except NotReady:
        return look()


def _refused(trial: Trial) -> None:
    """Two things that cannot be changed so, and are refused instead of being ignored."""
    one, value = trial.cluster.brokers[0], int(trial.cluster.effective_config(trial.cluster.brokers[0])[STATIC])
    said = trial.cluster.alter_brokers({STATIC: str(value + 1)})
    trial.expect("static refused", said is not None, f"{STATIC} needs a restart, and is refused; {said or 'it was not.'}")
    if trial.cluster.view.features().get("eligible.leader.replicas.version"):
        said = trial.cluster.alter_brokers({"min.insync.replicas": "1"}, one)
        words = "With eligible leader replicas one broker alone cannot have another min.insync.replicas"
        trial.expect("min ISR of one broker", said is not None, f"{words}; {said or 'it was not refused.'}")


def _to_the_byte(trial: Trial, orders: str) -> None:
    single = {"batch.num.messages": 1, "linger.ms": 0, "compression.type": "none"}
    for name, size in (("fits", LIMIT - OVERHEAD), ("too-large", LIMIT - OVERHEAD + 1)):
        client = trial.producer(name, orders, records=RECORDS, rate=50, size=size, config=single, idempotence=False)
        client.wait_ready()
        _answered(trial, client)


def _answered(trial: Trial, client: Client) -> None:
    what = f"an answer to each of {RECORDS} records"
    trial.wait(f"answers to {client.name}", lambda: client.status, _all_answered, what=what, timeout=60)


def _all_answered(status: Mapping[str, int]) -> bool:
    return status.get("sent") == RECORDS and status.get("open") == 0


# ---- with one -----------------------------------------------------------------------------------------------------


def _static(trial: Trial) -> None:
    cluster, controller = trial.cluster, trial.cluster.controller()
    wanted = {STATIC: str(int(cluster.effective_config(controller)[STATIC]) + 100)}
    bound = bounds.stop_broker(trial.given(), leads_again=True)
    for broker in sorted(cluster.brokers, key=lambda broker: broker == controller):
        sentence = f"broker {broker} is restarted with {STATIC}={wanted[STATIC]}"
        affected = trial.partitions_with(broker)
        with trial.operation("restart-with-config", sentence, affected=affected, send=bound) as work:
            cluster.restart(broker, config=wanted)
            work.seen(f"broker {broker} says that {STATIC} is {cluster.effective_config(broker)[STATIC]}")
        trial.healthy("healthy-again")
    wrong: Wrong = {}
    for broker in cluster.brokers:
        wrong |= differing(f"broker {broker}", wanted, cluster.effective_config(broker))
    words = "What was changed is in effect on every broker"
    trial.expect("in effect", not wrong, f"{words}; {_told(wrong) if wrong else 'it is'}.")


def conclude(trial: Trial, account: Account) -> None:
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )
    others = {sent.error or sent.outcome for sent in account.sends if sent.client == "producer-1" and sent.outcome != "ok"}
    trial.expect("no error", not others, f"No error reaches the traffic; {', '.join(sorted(others)) or 'none did'}.")
    if trial.options["how"] == "static":
        return
    for name, wanted in (("fits", {("ok", None)}), ("too-large", {("fail", "MSG_SIZE_TOO_LARGE")})):
        sends = [sent for sent in account.sends if sent.client == name]
        ends = {(sent.outcome, sent.error) for sent in sends}
        there = {sent.value for sent in sends} & account.drained
        right = ends == wanted and len(sends) == RECORDS and len(there) == (RECORDS if name == "fits" else 0)
        what = f"{LIMIT} bytes are taken" if name == "fits" else f"{LIMIT + 1} bytes are refused"
        told = ", ".join(sorted(f"{outcome} {error or ''}".strip() for outcome, error in ends))
        trial.expect(name, right, f"Batches of {what}; {len(sends)} ended in {told}, {len(there)} of them are in the log.")


def _told(facts: Mapping[Any, object]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in facts.items())


SCENARIO = Scenario(
    name="config-update",
    promise="topics, brokers and quotas get a new configuration under traffic: in effect everywhere, and nobody notices",
    act=act,
    conclude=conclude,
    options={
        "how": Option("dynamic", ("dynamic", "static"), "without a restart, or something that needs a rolling one"),
        "override": Option("none", ("none", "topic"), "a topic has a setting of its own, which hides that of the brokers"),
    },
    spoils=True,
    twin={"override": "topic"},
    twin_finds="the one topic on which the new retention is not in effect, with both values",
    question="Is a change of configuration in effect once Kafka has accepted it, and what does it cost?",
    steps="Under traffic a topic gets another retention, min ISR and largest batch, all brokers another default of "
    "retention, batch size and threads, a client a quota; all of it is read back from every broker and topic. Then batches "
    "of exactly the limit and of one byte more are sent. With how=static a setting that needs a restart is changed broker "
    "by broker.",
    expectation="Everything reads back as it was set, no node is restarted, no partition has a gap. A batch of the limit is "
    "taken, one of a byte more is refused. A static setting, and the min ISR of one broker alone, are refused.",
)
