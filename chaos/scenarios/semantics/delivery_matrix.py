"""One fault, sixteen ways to send: which settings lose or double records, and is that what Kafka's contract permits?

Every combination has a topic, all are led by the same broker and hit by the same fault at the same moment. It is a survey:
an anomaly that a combination permits does not fail it, so what any of them permits is put into the manifest's `permitted`,
and the expectation "within the contract" holds each topic to what its own settings permit: what they forbid fails the run.
"""

from collections.abc import Callable

from chaos import matrix
from chaos.evidence.account import Account
from chaos.evidence.by_topic import examined_by_topic
from chaos.evidence.matrices import write_matrix
from chaos.faults.kill_broker import KillBroker
from chaos.faults.link_fault import LinkFault
from chaos.faults.stop_broker import StopBroker
from chaos.matrix import COMBINATIONS, Combination, Seen
from chaos.scenarios.scenario import Option, Scenario
from chaos.scenarios.semantics.matrix_stage import PATIENT, Stage
from chaos.traffic.client import Client
from chaos.trial import Trial
from compose.links import Link
from compose.toxics import Blackhole

ELR = "eligible.leader.replicas.version"


def act(trial: Trial) -> None:
    trial.permits |= set(matrix.room_in_any(trial.options["claim"]))
    leader, *others = trial.cluster.brokers
    followers = (others[0], others[1])
    topics = {one: trial.topic(one.topic, assignment=[[leader, *followers]], config=_config(one)) for one in COMBINATIONS}
    stage = Stage(trial, leader, followers, topics, _producers(trial, topics))
    trial.settle()
    SCHEDULES[trial.options["fault"]](trial, stage)
    trial.steady("sending on with everybody back")


def _config(one: Combination) -> dict[str, str]:
    return {name: value for name, value in one.settings.items() if name not in ("acks", "enable.idempotence")}


def _producers(trial: Trial, topics: dict[Combination, str]) -> dict[str, Client]:
    """One for each way to send, in a round over the topics that are sent to so."""
    ways = {one.producer: one for one in COMBINATIONS}
    return {
        name: trial.producer(
            name, *(topic for combination, topic in topics.items() if combination.producer == name),
            acks=one.acks, idempotence=one.idempotence, config=PATIENT,
        )
        for name, one in ways.items()
    }  # fmt: skip


def _kill_exposed(trial: Trial, stage: Stage) -> None:
    """The followers stop hearing from the leader, N records reach it alone, and it is killed."""
    stage.rest()
    before = stage.acked()
    # Of the answers, not of the requests: a fetch that is already waiting at the leader would still carry records away.
    links = tuple(Link(follower, stage.leader, "replication") for follower in stage.followers)
    with trial.inject(LinkFault(links, Blackhole(direction="downstream")), role="followers stop hearing from the leader"):
        stage.expose()
        stage.acknowledged(before, stage.where(lambda one: one.acks != "all"), "While no follower has them")
        with trial.inject(KillBroker(stage.leader), role="the only one that has them"):
            stage.led("new leaders", stage.where(lambda _: True), lambda now: now not in (None, stage.leader), "led anew")
            stage.resume()
            trial.traffic.wait_for(acks=stage.count + 10, timeout=90)
    trial.healthy("healthy-again")


def _clean_kill(trial: Trial, stage: Stage) -> None:
    """The leader is killed in the middle of traffic, while its followers keep up."""
    with trial.inject(KillBroker(stage.leader), role="who leads every topic"):
        stage.led("new leaders", stage.where(lambda _: True), lambda now: now not in (None, stage.leader), "led anew")
        trial.traffic.wait_for(acks=10, timeout=90)
    trial.healthy("healthy-again")


def _unclean(trial: Trial, stage: Stage) -> None:
    """The followers stop, N records reach the leader alone, it stops too, and the follower that was last in sync returns."""
    elr, (first, last) = _has_elr(trial), stage.followers
    before = stage.rest()
    with trial.inject(StopBroker(first)), trial.inject(StopBroker(last), role="the last follower in sync"):
        trial.wait(
            "ISR shrinks", lambda: {state.isr for state in trial.cluster.view.partitions(*trial.topics)},
            lambda seen: seen == {frozenset({stage.leader})}, what="the leader alone in sync, everywhere", timeout=90,
        )  # fmt: skip
        acked = stage.acked()
        stage.expose()
        stage.appended(before, stage.where(lambda one: one.min_isr == 1))
        promised = stage.where(lambda one: one.acks != "all" or one.min_isr == 1)
        stage.acknowledged(acked, promised, "While the leader is alone")
        with trial.inject(StopBroker(stage.leader), role="the only one that has them"):
            trial.cluster.start(last)
            _without_leader(stage, elr=elr)
    trial.healthy("healthy-again", canary=False)
    stage.answered()
    # New producers: librdkafka's idempotent ones fail for good when a log is cut below their sequence numbers.
    trial.traffic.stop(stage.producers.values())
    for client in _producers(trial, stage.topics).values():
        client.wait_ready()


def _without_leader(stage: Stage, *, elr: bool) -> None:
    taken = stage.where(lambda one: matrix.taken_over(one, elr=elr))
    waiting, last = set(stage.topics.values()) - taken, stage.followers[1]
    stage.led("taken over", taken, lambda now: now == last, f"led by broker {last}, which was last in sync")
    stage.trial.stays(
        "offline", lambda: {state.leader for state in stage.trial.cluster.view.partitions(*waiting)} == {None},
        seconds=stage.trial.settings.steady_s,
        words=f"{len(waiting)} topics wait for their leader, {len(taken)} have another",
    )  # fmt: skip


def _lost_acks(trial: Trial, stage: Stage) -> None:
    """Acknowledgements are swallowed on their way back, and then connections are closed: who can sends again."""
    before = stage.rest()
    with trial.inject(LinkFault((Link("client", stage.leader),), Blackhole(direction="downstream"))):
        stage.expose()
        stage.appended(before, stage.topics.values())
        trial.wait(
            "no acknowledgement", stage.open,
            lambda still: set(still.values()) == {0, 4 * stage.count} and still["producer-acks-0"] == 0,
            what="none of them acknowledged but at acks=0", timeout=5,
        )  # fmt: skip
    stage.answered()
    stage.resume()
    trial.healthy("healthy-again")


SCHEDULES: dict[str, Callable[[Trial, Stage], None]] = {
    "kill-exposed": _kill_exposed,
    "clean-kill": _clean_kill,
    "unclean": _unclean,
    "lost-acks": _lost_acks,
}


def _has_elr(trial: Trial) -> bool:
    return trial.cluster.view.features().get(ELR, 0) > 0


def conclude(trial: Trial, account: Account) -> None:
    manifest, elr, fault = trial.folder.manifest(), _has_elr(trial), trial.options["fault"]
    topics = dict(zip(COMBINATIONS, trial.topics, strict=True))
    seen = _seen(trial, account, manifest["clients"])
    rows = [
        matrix.row(one, topic, seen[topic], fault=fault, claim=trial.options["claim"], elr=elr)
        for one, topic in topics.items()
    ]
    facts = {name: manifest[name] for name in ("run_id", "scenario", "started", "kafka", "settings")}
    facts |= {"librdkafka": manifest["versions"]["librdkafka"], "elr": elr, **trial.options}
    write_matrix(trial.folder, facts | {"rows": [row.facts() for row in rows]})
    trial.expect("within the contract", *matrix.within_contract(rows))
    trial.expect("as the schedule decides", *matrix.as_decided(rows))


def _seen(trial: Trial, account: Account, clients: dict[str, dict[str, object]]) -> dict[str, Seen]:
    exposed, found = frozenset(trial.exposed), examined_by_topic(trial.folder, trial.topics, clients)
    acked = {t: frozenset(s.value for s in account.sends if s.topic == t and s.outcome == "ok") for t in trial.topics}
    sent = {t: frozenset(s.value for s in account.sends if s.topic == t) for t in trial.topics}
    return {
        topic: Seen(
            acknowledged=acked[topic],
            exposed=exposed & sent[topic],
            lost=acked[topic] & account.lost,
            twice=sent[topic] & account.twice,
            observed=found[topic].counts,
        )
        for topic in trial.topics
    }


SCENARIO = Scenario(
    name="delivery-matrix",
    promise="one fault hits sixteen combinations of settings at once: none loses or doubles what its settings do not permit",
    act=act,
    conclude=conclude,
    options={
        "fault": Option("kill-exposed", matrix.FAULTS, "what happens to the broker that leads all topics"),
        "records": Option("25", help="that each topic has at risk"),
        "claim": Option("kafka", matrix.CLAIMS, "whose word on what may happen is held to; the other is wrong on purpose"),
    },
    controllers=1,
    config={
        "replica.lag.time.max.ms": "120000",  # the ISR must stay complete, or acks=all would be acknowledged by one
        "auto.leader.rebalance.enable": "false",  # acks=0 does not hear that its leader moved
    },
    twin={"claim": "acks-1-is-safe"},
    twin_finds="in exactly the four topics written at acks=1, records are lost that the claim says are safe",
    question="Which settings lose records, or have them twice, when something goes wrong; and is it all that Kafka permits?",
    steps="Sixteen topics (acks 0, 1, all, all with idempotence; min ISR 1, 2; unclean election off, on) are led by one "
    "broker and written together. Then one fault hits all: N records reach the leader alone and it is killed; a plain kill; "
    "the followers go first, then the leader, and a follower returns; or the acknowledgements of N records are swallowed.",
    expectation="Each topic shows only anomalies that its own settings permit. Where the schedule decides, the records that "
    "are lost and those that are there twice are exactly the exposed ones, or none. The table is in matrix.json; "
    "docs/semantics.md is made of such tables.",
)
