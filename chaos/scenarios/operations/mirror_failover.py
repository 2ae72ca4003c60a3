"""One cluster is mirrored to another by MirrorMaker 2, is lost, and a group goes on at the other: what is missed or re-read?

Planned (producers stopped, mirror level, then switched): nothing is missed, and nothing is read again. The twin is a
disaster: the mirror was dead before the source was lost. Exactly what it had not copied is missed, and exactly what the
group had read beyond its last checkpoint is read again. In both, the mirror is killed and restarted on the way: there
twice is exactly what it had copied and not yet written down, or with exactly-once support nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from chaos import bounds
from chaos.evidence import copied
from chaos.evidence.folder import RunFolder
from chaos.faults.clients_seen import gone
from chaos.faults.kill_client import KillClient
from chaos.faults.nodes_seen import gone as broker_gone
from chaos.scenarios.operations.mirror_conclusion import TARGET, conclude
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.traffic.plans import ConsumerPlan, DrainPlan
from chaos.traffic.traffic import Traffic
from chaos.trial import Trial
from compose.cluster import Cluster
from compose.mirror import MirrorMaker, mirror_properties, mirrored
from compose.mirror_topics import checkpoints, ends, flushed, tails
from kernel.waiting import wait_until

T = TypeVar("T")

PARTITIONS = 3
FLUSH_MS = 2000  # how often the mirror writes down how far it is; Kafka's default is a minute, longer than a trial
PATIENCE_S = 150.0  # for a mirror to start, or to catch up; nothing is judged by it


@dataclass
class Pair:
    """The source is the trial's own cluster; this is what stands beside it."""

    trial: Trial
    target: Cluster
    mirror: MirrorMaker
    folder: RunFolder
    traffic: Traffic
    orders: str

    @property
    def copy(self) -> str:
        return mirrored(self.orders)

    def wait(self, look: Callable[[], T], good: Callable[[T], bool], what: str) -> T:
        """What does not come leaves the run open: that a mirror is quick is no promise of Kafka's."""
        return wait_until(look, good, what=what, timeout=PATIENCE_S, every=0.2)

    def ends(self) -> dict[int, int]:
        return ends(self.target.direct_address, self.copy, PARTITIONS)

    def level(self) -> bool:
        here = tails(self.trial.cluster.direct_address, self.orders, PARTITIONS)
        there = tails(self.target.direct_address, self.copy, PARTITIONS)
        return {p: content for p, (_, content) in here.items()} == {p: content for p, (_, content) in there.items()}


def act(trial: Trial) -> None:
    orders = trial.topic("orders", partitions=PARTITIONS)
    producer, consumer = trial.producer("producer-1", orders), trial.consumer("consumer-1", orders)
    with _pair(trial, orders) as pair:
        pair.mirror.start()
        trial.healthy(canary=False)
        trial.warm_up()
        pair.wait(pair.ends, lambda now: all(now.values()), "the mirror copies every partition")
        trial.steady("steady traffic, copied")
        _kill_mirror(pair)
        trial.steady("copied on")
        _all_level(pair, producer)
        if trial.options["how"] == "planned":
            _planned(pair, producer)
        else:
            _disaster(pair, producer, consumer)
        _lose_the_source(pair)
    trial.healthy("healthy-again", canary=False)
    # What was missed is still on the source, and so is all the rest: it was the switch that lost it, not Kafka.
    trial.consumer("reader-1", orders, mode="assign").wait_ready()
    trial.traffic.wait_caught_up()


@contextmanager
def _pair(trial: Trial, orders: str) -> Iterator[Pair]:
    source, folder = trial.cluster, copied.folder_beside(trial.folder, TARGET)
    wanted = replace(source.spec, brokers=1, controllers=None, port=None, config=dict(trial.settings.brokers))
    with Cluster(wanted, provider=source.provider, say=trial.say) as target:
        properties = mirror_properties(
            source.address, target.address, topics=[orders], groups=[trial.group()], replicas=(3, 1), flush_ms=FLUSH_MS,
            exactly_once=trial.options["exactly_once"] == "enabled",
        )  # fmt: skip
        run_id = str(trial.folder.manifest()["run_id"])
        config = target.address.librdkafka() | dict(trial.settings.clients)
        with MirrorMaker(target, properties, trial.say) as mirror, Traffic(folder, run_id, config) as traffic:
            try:
                yield Pair(trial, target, mirror, folder, traffic, orders)
            finally:
                (trial.folder.logs / "mirror.log").write_text(mirror.log)
                (trial.folder.logs / "target-1.log").write_text(target.log(1))
                traffic.end()
                traffic.seal()


def _kill_mirror(pair: Pair) -> None:
    trial, mirror = pair.trial, pair.mirror
    with trial.operation("kill-mirror", "MirrorMaker is killed (SIGKILL) and started again") as work:
        pid = mirror.pid
        mirror.kill()
        work.seen(gone("MirrorMaker", pid))
        time.sleep(0.5)  # what it had sent may still be on its way; there is no state that says it is not
        there, done = pair.ends(), flushed(pair.target.direct_address, pair.orders)
        trial.events.write("mirror-killed", ends=there, flushed=done)
        mirror.start()
        pair.wait(pair.ends, lambda now: all(now[p] > there[p] for p in there), "the mirror copies on")


def _all_level(pair: Pair, producer: Client) -> None:
    """Producers at rest, the group at the end, the copy level, and the group's place known on the target."""
    trial, group = pair.trial, pair.trial.group()
    producer.rest()
    last = _group_at_the_end(pair)
    pair.wait(pair.level, bool, "the copy ends in the same records")

    # A checkpoint may have the right place of the source and point short of it on the target: it is translated by the
    # newest sync that has arrived, and made again when a newer one does. Only at the end of the copy is it exact.
    exact = {p: offset + 1 for p, (offset, _) in tails(pair.target.direct_address, pair.copy, PARTITIONS).items()}
    wanted = {(pair.copy, p): (last[p], exact[p]) for p in last}

    def places() -> dict[tuple[str, int], tuple[int, int]]:
        known, told = checkpoints(pair.target.direct_address, group), pair.target.committed(group)
        return {where: (one.upstream, one.downstream) for where, one in known.items() if told.get(where) == one.downstream}

    pair.wait(places, lambda seen: seen == wanted, f"the group's place on the source is known on the target as {wanted}")
    trial.say("the mirror is level, and the group's place is known on the target")


def _group_at_the_end(pair: Pair) -> dict[int, int]:
    """All that was acknowledged is read, and committed: so it is in the ledger as well, whatever becomes of the reader."""
    trial = pair.trial
    trial.traffic.wait_caught_up()
    last = ends(trial.cluster.direct_address, pair.orders, PARTITIONS)
    pair.wait(
        lambda: trial.cluster.committed(trial.group()),
        lambda at: at == {(pair.orders, p): end for p, end in last.items()},
        "the group has committed everything",
    )
    return last


def _planned(pair: Pair, producer: Client) -> None:
    """The group leaves first; what is still sent finds its way, and is for the group on the target."""
    trial = pair.trial
    trial.traffic.close("consumer-1")
    trial.groups.pop(trial.group())
    late = producer.burst(int(trial.options["records"]))
    producer.rest()
    pair.wait(pair.level, bool, f"the copy has the last {len(late)} records")
    pair.mirror.stop()
    _plan(trial, again=[])


def _disaster(pair: Pair, producer: Client, consumer: Client) -> None:
    """The mirror has what the group is about to read, dies, and never hears that it was read, nor of what comes then."""
    trial = pair.trial
    consumer.rest()
    ahead = producer.burst(int(trial.options["ahead"]))
    producer.rest()
    pair.wait(pair.level, bool, f"the copy has the {len(ahead)} records")
    with trial.operation("mirror-dies", "MirrorMaker is killed (SIGKILL), and nobody starts it again") as work:
        pid = pair.mirror.pid
        pair.mirror.kill()
        work.seen(gone("MirrorMaker", pid))
    consumer.order("resume")
    _group_at_the_end(pair)
    with trial.inject(KillClient("consumer-1")):
        trial.groups.pop(trial.group())
    trial.exposed = producer.burst(int(trial.options["records"]))
    producer.rest()
    trial.say(f"{len(trial.exposed)} records acknowledged by the source, with nobody to copy them")
    _plan(trial, again=ahead)


def _plan(trial: Trial, again: list[int]) -> None:
    """What by the schedule must be read again, on record before it is."""
    trial.events.write("fail-over-plan", again=again, missed=trial.exposed)


def _lose_the_source(pair: Pair) -> None:
    trial, source, group = pair.trial, pair.trial.cluster, pair.trial.group()
    plan = ConsumerPlan(topics={pair.copy: PARTITIONS}, group=group, config=dict(trial.settings.classic))
    try:
        with trial.operation(
            "lose-cluster", "every broker of the source is killed; the group goes on on the target"
        ) as work:
            for node in source.nodes:
                source.kill(node)
            work.seen(", ".join(broker_gone(source, broker) for broker in source.brokers))
            starts = {p: offset for (topic, p), offset in pair.target.committed(group).items() if topic == pair.copy}
            pair.traffic.start("consumer-2", plan)
            trial.events.write("failed-over", starts=starts)
            last = {p: offset for p, (offset, _) in tails(pair.target.direct_address, pair.copy, PARTITIONS).items()}
            pair.wait(
                lambda: pair.target.committed(group),
                lambda at: all(at.get((pair.copy, p), 0) > offset for p, offset in last.items()),
                "the group has read the copy to its end",
            )
        pair.traffic.stop_consumers()
        pair.traffic.drain(DrainPlan(topics={pair.copy: PARTITIONS}), pair.target.direct_address.librdkafka())
        bound = bounds.fail_over(replace(trial.given(), broker=pair.target.effective_config(1)))
        trial.events.write("fail-over-bound", seconds=bound.seconds, why=bound.why)
    finally:
        for node in source.nodes:  # all of them before one is waited for: a lone voter never gets up
            source.start(node, wait=False)


SCENARIO = Scenario(
    name="mirror-failover",
    promise="a mirrored cluster is lost and its group goes on at the mirror: nothing is missed, nothing is read again",
    act=act,
    conclude=conclude,
    options={
        "how": Option("planned", ("planned", "disaster"), "the mirror is level when the source goes, or was dead before"),
        "records": Option("90", help="sent last: copied if planned, missed in a disaster", least=PARTITIONS),
        "ahead": Option("60", help="read beyond the last checkpoint in a disaster", least=PARTITIONS),
        "exactly_once": Option("disabled", ("disabled", "enabled"), "MirrorMaker's exactly.once.source.support"),
    },
    spoils=True,
    twin={"how": "disaster"},
    twin_finds="exactly what the dead mirror had not copied is missed, and what was read past the checkpoint is read again",
    question="What is missed and what is read again when a mirrored cluster is lost and a group goes on at the other?",
    steps=(
        "MirrorMaker 2 copies a topic and its group's offsets to a second cluster of one broker. It is killed and restarted "
        "under traffic. Planned: producers stop, the group leaves, the mirror gets level and stops. Disaster: the mirror is "
        "killed first, the group reads on, and more is acknowledged. Then every broker of the source is killed, and the "
        "group starts on the target."
    ),
    expectation=(
        "Planned: missed is the empty set, read again is the empty set. Disaster: missed are exactly the records sent after "
        "the mirror's death, read again exactly those beyond the last checkpoint. Twice on the target is exactly what the "
        "killed mirror had copied and not yet written down; with exactly-once support nothing."
    ),
)
