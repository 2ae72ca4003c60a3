"""The stage of a delivery matrix: sixteen topics, four producers, and what all are made to do, and seen to do, at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chaos.matrix import Combination
from chaos.traffic.client import Client
from chaos.trial import Trial
from kernel.waiting import wait_until

# Nobody sends again, or gives up, but for the fault; and a burst leaves in as few requests as there are partitions, because
# an idempotent producer has five under way at most.
PATIENT = {"socket.timeout.ms": 30_000, "message.timeout.ms": 90_000, "linger.ms": 100}


@dataclass(frozen=True, slots=True)
class Stage:
    trial: Trial
    leader: int
    followers: tuple[int, int]
    topics: dict[Combination, str]
    producers: dict[str, Client]

    @property
    def count(self) -> int:
        return int(self.trial.options["records"])

    def where(self, which: Callable[[Combination], bool]) -> set[str]:
        return {topic for combination, topic in self.topics.items() if which(combination)}

    def acked(self) -> dict[str, int]:
        return {topic: count for (topic, _), count in self.trial.traffic.acked().items()}

    def ends(self, topics: Iterable[str]) -> dict[str, int]:
        return {topic: end for (topic, _), end in self.trial.cluster.log_ends(*topics).items()}

    def rest(self) -> dict[str, int]:
        """Everybody pauses; returns where each log ends once it has everything. At acks=0 nobody else could tell."""
        for producer in self.producers.values():
            producer.rest()
        acked = self.acked()
        return self.trial.wait(
            "all arrived", lambda: self.ends(acked), lambda ends: all(ends[t] >= acked[t] for t in acked),
            what="every log as long as what was acknowledged", timeout=60,
        )  # fmt: skip

    def expose(self) -> None:
        for producer in self.producers.values():
            self.trial.exposed += producer.burst(self.count * len(producer.plan.topics))

    def appended(self, before: dict[str, int], topics: Iterable[str]) -> None:
        """As the schedule has it: Kafka promises no such thing, and a burst that needs two batches may not get there."""
        wanted = {topic: before[topic] + self.count for topic in topics}
        wait_until(
            lambda: self.ends(wanted), lambda ends: all(ends[t] >= wanted[t] for t in wanted),
            what=f"{self.count} records more in {len(wanted)} logs, a batch in each", timeout=30,
        )  # fmt: skip

    def acknowledged(self, before: dict[str, int], promised: set[str], why: str) -> None:
        """All of the exposed records in these topics are acknowledged, none in the others, and so it stays."""
        wanted = {topic: count + self.count * (topic in promised) for topic, count in before.items()}
        self.trial.wait(
            "acknowledged", self.acked, lambda now: now == wanted, what=f"{self.count} more in each of {sorted(promised)}",
            timeout=30,
        )  # fmt: skip
        words = f"{why}: the {self.count} records are acknowledged in {len(promised)} topics, none in the other"
        self.trial.stays(
            "acknowledged", lambda: self.acked() == wanted, seconds=self.trial.settings.steady_s,
            words=f"{words} {len(wanted) - len(promised)}",
        )  # fmt: skip

    def led(self, name: str, topics: set[str], good: Callable[[int | None], bool], what: str) -> None:
        def leaders() -> set[int | None]:
            return {state.leader for state in self.trial.cluster.view.partitions(*topics)}

        self.trial.wait(name, leaders, lambda now: all(map(good, now)), what=what, timeout=90)

    def resume(self) -> None:
        for producer in self.producers.values():
            producer.order("resume")

    def answered(self) -> None:
        self.trial.wait(
            "answered", self.open, lambda still: not any(still.values()), what="an answer to everything that was sent",
            timeout=120,
        )  # fmt: skip

    def open(self) -> dict[str, int]:
        """What each producer has no answer to yet."""
        return {name: int(producer.status["open"]) for name, producer in self.producers.items()}
