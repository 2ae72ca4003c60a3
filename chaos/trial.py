"""One trial, as a scenario sees it: a cluster, traffic, faults that must bite, and expectations that go on record.

A scenario says what to do; everything it does here leaves a trace in the run folder, from which alone the verdict is
made. So a verdict can be made again, by another engine or years later.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from chaos.bounds import Bound, Given, event_bounds
from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.faults.catalogue import to_json
from chaos.faults.fault import Fault
from chaos.health import clauses, wait_healthy
from chaos.schedule import Schedule
from chaos.settings import Settings
from chaos.traffic.client import Client
from chaos.traffic.plans import ConsumerPlan, DrainPlan, PipelinePlan, ProducerPlan
from chaos.traffic.traffic import Traffic, Where
from chaos.watch import facts_of
from compose.cluster import Cluster
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady
from kernel.waiting import wait_until

T = TypeVar("T")
Say = Callable[[str], None]


class TrialOver(Exception):
    """The rest of the scenario makes no sense any more; what is on record decides."""


class Operation:
    """An operator's work under way, by its id in the evidence."""

    def __init__(self, trial: "Trial", name: str) -> None:
        self.id, self._trial = name, trial

    def seen(self, sentence: str) -> None:
        """What shows that it really took place. Without it the run is INCONCLUSIVE: nothing may have been done at all."""
        self._trial.bitten[self.id] = int(self._trial.events.write("bite", id=self.id, sentence=sentence)["t_ns"])
        self._trial.say(f"seen: {sentence}")


class Trial:
    def __init__(
        self,
        cluster: Cluster,
        folder: RunFolder,
        events: EventLog,
        *,
        run_id: str,
        options: Mapping[str, str],
        settings: Settings,
        seed: int,
        suffix: str = "",
        replayed: Schedule | None = None,
        say: Say = lambda _: None,
    ) -> None:
        self.cluster, self.folder, self.events = cluster, folder, events
        self.options, self.settings, self.seed, self.say = dict(options), settings, seed, say
        self.chance = random.Random(seed)
        self.traffic = Traffic(folder, run_id, cluster.address.librdkafka() | dict(settings.clients))
        self.topics: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, int] = {}
        self.schedule: list[dict[str, Any]] = []
        self.replayed = replayed
        self.exposed: list[int] = []  # values that the scenario puts at risk on purpose
        self.seen: list[int] = []  # values at risk that a reader has already read
        self.permits: set[str] = set()  # anomalies that a survey of many settings leaves to its own expectations to judge
        self.stalls: list[tuple[int, int]] = []  # from when to when a disk stood still
        self.over = False  # before its time: what is on record decides
        self.verdict: dict[str, Any] = {}
        self.windows: dict[str, tuple[int, int]] = {}  # by fault: from when to when
        self.bitten: dict[str, int] = {}  # by fault: when it was seen to be in full effect
        self.began_ns = time.monotonic_ns()
        self._suffix = suffix  # on a shared cluster, so that every run has topics and groups of its own
        self._faults = 0
        # Read while everybody is there to be asked.
        self._effective = cluster.effective_config(cluster.brokers[0])

    # ---- the stage --------------------------------------------------------------------------------------------

    def phase(self, name: str, words: str = "") -> None:
        self.events.write("phase", phase=name)
        if words:
            self.say(words)

    def topic(
        self,
        name: str,
        *,
        partitions: int = 3,
        replication: int | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic for this run, min.insync.replicas 2 unless said otherwise; returns the name it really has."""
        real = name + self._suffix
        copies = len(assignment[0]) if assignment else replication or min(3, len(self.cluster.brokers))
        settings = {"min.insync.replicas": str(min(2, copies)), **(config or {})}
        self.cluster.create_topic(
            real, partitions=partitions, replication=replication, assignment=assignment, config=settings
        )
        count = len(assignment) if assignment else partitions
        self.topics[real] = {"partitions": count, "replication": copies, "config": settings}
        return real

    def spread(self, partitions: int, *, first: int, avoid: Iterable[int] = (), replication: int = 3) -> list[list[int]]:
        """An assignment whose first partition is led by `first`, the others by the next brokers in turn."""
        others = [broker for broker in self.cluster.brokers if broker not in (first, *avoid)]
        ring = [first, *others]
        return [[ring[(lead + i) % len(ring)] for i in range(min(replication, len(ring)))] for lead in range(partitions)]

    def producer(
        self, name: str, *topics: str, direct: bool = False, address: ClusterAddress | None = None, **plan: Any
    ) -> Client:
        """Start a producer; `direct` gives it connections that no fault on a link touches, `address` another principal."""
        asked = {name: kind(self.options[name]) for name, kind in (("rate", float), ("size", int)) if name in self.options}
        wanted = ProducerPlan(topics=self._partitions(topics), seed=self.seed, **{**asked, **plan})
        return self.traffic.start(name, wanted, wait=False, config=self._road(direct, address))

    def consumer(
        self, name: str, *topics: str, direct: bool = False, kind: type[ConsumerPlan] = ConsumerPlan, **plan: Any
    ) -> Client:
        """Start a consumer; one that subscribes counts as a member its group must have."""
        config = dict(plan.pop("config", {}))
        if plan.get("mode", "subscribe") == "subscribe":
            group = plan["group"] = plan.get("group", "trial") + self._suffix
            if plan.get("protocol", "classic") == "classic":
                config = {**self.settings.classic, **config}
            self.groups[group] = self.groups.get(group, 0) + 1
        else:
            plan.setdefault("group", f"reader{self._suffix}")
        wanted = kind(topics=self._partitions(topics), config=config, **plan)
        return self.traffic.start(name, wanted, wait=False, config=self._road(direct))

    def pipeline(self, name: str, source: str, target: str, *, group: str = "pipeline", **plan: Any) -> Client:
        """Start a pipeline, a member of its group; under the same name it has the same transactional.id in every life."""
        config = {**self.settings.classic, **plan.pop("config", {})}
        group = self.group(group)
        self.groups[group] = self.groups.get(group, 0) + 1
        identity, topics = self.group(name), self._partitions([source])
        wanted = PipelinePlan(topics=topics, target=target, identity=identity, group=group, config=config, **plan)
        return self.traffic.start(name, wanted, wait=False, config=self._road(False))

    def _road(self, direct: bool, address: ClusterAddress | None = None) -> dict[str, str]:
        return (address or (self.cluster.direct_address if direct else self.cluster.address)).librdkafka()

    def group(self, name: str = "trial") -> str:
        return name + self._suffix

    def _partitions(self, topics: Sequence[str]) -> dict[str, int]:
        return {topic: self.topics[topic]["partitions"] for topic in topics or self.topics}

    def counts_in_words(self) -> str:
        acked, read = sum(self.traffic.acked().values()), sum(self.traffic.read().values())
        unknown = self.traffic.count("info") + self.traffic.count("fail")
        return f"{acked:,} acknowledged, {read:,} read" + (f", {unknown:,} not acknowledged" if unknown else "")

    # ---- states -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """A healthy cluster, every client at work, and a stretch of undisturbed traffic: what comes then is the fault's."""
        self.healthy(canary=False)
        self.warm_up()
        self.steady()

    def warm_up(self) -> None:
        """Every client is up, and every partition has seen acknowledgements and reads."""
        self.phase("warm-up", "warming up")
        for client in self.traffic.clients:
            client.wait_ready()
        self.traffic.wait_for(acks=10, reads=10 if self.reading else 0, timeout=90)

    def steady(self, words: str = "steady traffic") -> None:
        self.phase("steady", words)
        end = time.monotonic() + self.settings.steady_s
        self.traffic.wait_for(acks=10, reads=10 if self.reading else 0, timeout=90)
        time.sleep(max(0.0, end - time.monotonic()))  # a stretch of undisturbed traffic is what is asked for

    @property
    def reading(self) -> bool:
        return any(isinstance(client.plan, ConsumerPlan) for client in self.traffic.clients)

    def healthy(self, phase: str = "healthy", *, timeout: float = 120, canary: bool = True) -> None:
        """Every clause of health, held for a while. That the cluster comes back after a fault is part of the promise."""
        self.phase(phase, "waiting for a healthy cluster")
        known = clauses(self.cluster, brokers=frozenset(self.cluster.brokers), groups=self.groups)
        try:
            wait_healthy(known, self._told, hold_s=self.settings.hold_s, timeout=timeout)
            if canary and any(isinstance(c.plan, ProducerPlan) and c.running for c in self.traffic.clients):
                self.traffic.wait_for(acks=1, reads=1 if self.reading else 0, timeout=timeout)
                self._told("a record written and read on every partition", True)
        except NotReady as trouble:
            self.expect(phase, False, f"The cluster is not healthy: {trouble.message}")
            raise TrialOver from trouble

    def _told(self, clause: str, holds: bool) -> None:
        self.events.write("health", clause=clause, holds=holds)

    def wait(
        self, name: str, look: Callable[[], T], good: Callable[[T], bool], *, what: str, timeout: float, every: float = 0.05
    ) -> T:
        """Wait for something Kafka promises. If it does not come, that is a finding, and the scenario ends here."""
        try:
            return wait_until(look, good, what=what, timeout=timeout, every=every)
        except NotReady as trouble:
            self.expect(name, False, trouble.message)
            raise TrialOver from trouble

    def stays(self, name: str, look: Callable[[], bool], *, seconds: float, words: str) -> None:
        """Something that must not change for a while, looked at all the time. A look that nobody answers is none; but
        how it is in the end must be known, and is looked for as long again."""
        end, held, answered = time.monotonic() + seconds, True, False
        while held and (time.monotonic() < end or (not answered and time.monotonic() < end + seconds)):
            answered = False
            with suppress(NotReady):
                held, answered = look(), True
            time.sleep(0.05)
        if not answered:
            self.expect(name, None, f"{words}; after {seconds:.1f} s nobody answered.")
            return
        self.expect(name, held, f"{words}; so it was{'' if held else ' not'} for {seconds:.1f} s.")

    def partition(self, topic: str, partition: int = 0) -> PartitionState:
        return self.cluster.partition(topic, partition)

    def partitions_with(self, *brokers: int) -> list[Where]:
        """The partitions of this run that have a replica on one of these brokers."""
        states = self.cluster.view.partitions(*self.topics)
        return [(state.topic, state.partition) for state in states if set(state.replicas) & set(brokers)]

    def led_elsewhere_after(self, fault: str, topic: str, partition: int, old: int) -> float:
        """Seconds from a fault until another broker was seen to lead: by whoever watches, or by whoever asks now, which
        then goes on record, so that there is one figure. A fault may take a while to be applied (a controlled shutdown
        does), and the election be over by then."""
        began = self.windows[fault][0]
        others = [
            int(state["t_ns"])
            for state in self._states()
            if (state["topic"], state["partition"]) == (topic, partition) and state["leader"] not in (None, old)
        ]
        seen = [t_ns for t_ns in others if t_ns > began]
        first = min(seen) if seen else self.events.write("partition", **facts_of(self.partition(topic, partition)))["t_ns"]
        return (int(first) - began) / 1e9

    def below_min_isr(self) -> dict[str, int]:
        """The partitions of this run that were seen below their min ISR or without a leader, and how often."""
        short: dict[str, int] = {}
        for state in self._states():
            least = int(self.topics[state["topic"]]["config"]["min.insync.replicas"])
            if state["leader"] is None or len(state["isr"]) < least:
                where = f"{state['topic']}-{state['partition']}"
                short[where] = short.get(where, 0) + 1
        return short

    def _states(self) -> list[dict[str, Any]]:
        """Every state in which a partition of this run was seen."""
        return [event for event in self.folder.events() if event["event"] == "partition" and event["topic"] in self.topics]

    # ---- faults -----------------------------------------------------------------------------------------------

    @contextmanager
    def inject(
        self,
        fault: Fault,
        *,
        affected: Iterable[Where] | None = None,
        send: Bound | None = None,
        poll: Bound | None = None,
        role: str = "",
    ) -> Iterator[str]:
        """Apply a fault, prove that it bites, and heal it whatever happens inside. Yields its id.

        `affected` are the partitions it may darken, each for no longer than the bounds for sends and polls say; on all
        others it must not be noticed."""
        self._faults += 1
        name = f"f{self._faults}"
        self.phase("inject", fault.sentence + (f", {role}" if role else ""))
        began = time.monotonic_ns()
        step = {"at_s": round((began - self.began_ns) / 1e9, 3), "hold_s": 0.0, **to_json(fault)}
        self.schedule.append(step)
        self.windows[name] = (began, began)
        facts = self._told_of(fault.kind, fault.sentence, affected, event_bounds(send, poll))
        self.events.write("fault", t_ns=began, id=name, **facts)
        try:
            with fault.applied(self):
                self._prove(fault, name)
                self.phase("hold")
                yield name
                self.phase("heal", "healing")
        finally:
            healed = int(self.events.write("heal", id=name)["t_ns"])
            self.windows[name] = (began, healed)
            step["hold_s"] = round((healed - began) / 1e9, 3)

    @contextmanager
    def operation(
        self,
        kind: str,
        sentence: str,
        *,
        affected: Iterable[Where] | None = None,
        send: Bound | None = None,
        poll: Bound | None = None,
    ) -> Iterator["Operation"]:
        """Something an operator does on purpose, from its beginning to its end. It goes on record as a fault does, so that
        its recovery is measured and judged the same; and as a fault has to bite, it has to be seen: say so by `seen`."""
        self._faults += 1
        operation = Operation(self, f"f{self._faults}")
        self.phase("inject", sentence)
        began = time.monotonic_ns()
        step = {"at_s": round((began - self.began_ns) / 1e9, 3), "hold_s": 0.0, "fault": kind}
        self.schedule.append(step)
        self.windows[operation.id] = (began, began)
        facts = self._told_of(kind, sentence, affected, event_bounds(send, poll))
        self.events.write("fault", t_ns=began, id=operation.id, operation=True, **facts)
        try:
            yield operation
        finally:
            ended = int(self.events.write("heal", id=operation.id)["t_ns"])
            self.windows[operation.id] = (began, ended)
            step["hold_s"] = round((ended - began) / 1e9, 3)

    def hold(self, fault: str, seconds: float) -> None:
        """Until a fault has lasted so long, the time that its proof took included."""
        end = self.windows[fault][0] / 1e9 + seconds
        time.sleep(max(0.0, end - time.monotonic()))

    def _prove(self, fault: Fault, name: str) -> None:
        try:
            seen = fault.bite(self)
        except NotReady as trouble:
            self.events.write("no-bite", id=name, sentence=trouble.message)
            self.say(f"it did not bite: {trouble.message}")
            raise TrialOver from trouble
        self.bitten[name] = int(self.events.write("bite", id=name, sentence=seen)["t_ns"])
        self.say(f"it bites: {seen}")

    def _told_of(self, kind: str, sentence: str, affected: Iterable[Where] | None, bounds: dict[str, Any]) -> dict[str, Any]:
        facts: dict[str, Any] = {"fault": kind, "sentence": sentence, "affected": None}
        if affected is not None:
            facts |= {"affected": [list(where) for where in affected], "noise_s": self.settings.noise_s}
        return facts | ({"bounds": bounds} if bounds else {})

    def given(self, **client: Any) -> Given:
        """What bounds are made of: the brokers' word for what is in effect, the clients' settings, the machine's noise."""
        return Given(self._effective, {**self.settings.clients, **self.settings.classic, **client}, self.settings.noise_s)

    # ---- what goes on record ----------------------------------------------------------------------------------

    def expect(self, name: str, holds: bool | None, sentence: str) -> None:
        """A check of the scenario's own. False fails the run, None leaves it open."""
        self.events.write("expectation", name=name, holds=holds, sentence=sentence)
        self.say(f"{'as expected' if holds else 'NOT as expected' if holds is False else 'cannot be told'}: {sentence}")

    # ---- the end ----------------------------------------------------------------------------------------------

    def wind_down(self) -> None:
        """Clients finish what they are at, then everything is read back over connections that no fault touches."""
        self.phase("drain", "reading everything back")
        self.traffic.stop_producers()
        if self.reading and not self.traffic.wait_read_out():
            self.events.write("not-caught-up", lag={f"{t}-{p}": n for (t, p), n in self.traffic.lag().items() if n > 0})
        self.traffic.stop_consumers()
        if self.topics:
            self.traffic.drain(DrainPlan(topics=self._partitions(())), self.cluster.direct_address.librdkafka())
