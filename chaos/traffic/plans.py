"""What a client is to do, as plain values: checked before it starts, sent to its process, kept in the manifest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from chaos.traffic.failing import MOST_ATTEMPTS
from interceptors.ledger.valuing import SMALLEST
from kernel.errors import UsageError

ACKS = ("0", "1", "all")
PROTOCOLS = ("classic", "consumer")  # Kafka's words for the old group protocol and that of KIP-848
WAYS = ("topics", "skip", "block")  # what an application does with a record that fails
COMMITS = ("sync", "auto", "store", "none")  # store: in the background too, but only what was said to be processed

Config = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerPlan:
    topics: Mapping[str, int]  # topic: partitions
    rate: float | None = 300.0  # records a second in all; None: as fast as it goes
    size: int = 100  # bytes of a record
    size_max: int | None = None  # sizes are drawn evenly from size to size_max
    records: int | None = None  # stop after so many
    acks: str = "all"
    idempotence: bool = True
    keys: int | None = None  # so many keys, partition by key; None: round-robin over all partitions
    transaction: int | None = None  # records in a transaction; None: no transactions
    abort_every: int | None = None  # abort every so many transactions on purpose
    config: Config = field(default_factory=dict)  # librdkafka's, on top
    seed: int = 0
    role: ClassVar[str] = "producer"

    def __post_init__(self) -> None:
        _topics(self.topics)
        _positive("rate", self.rate)
        _positive("records", self.records)
        _positive("keys", self.keys)
        _positive("transaction", self.transaction)
        _positive("abort_every", self.abort_every)
        if self.abort_every is not None and self.transaction is None:
            raise UsageError(f"abort_every {self.abort_every} aborts nothing: give transaction, too.")
        if self.acks not in ACKS:
            raise UsageError(f"acks {self.acks!r} is not known: choose one of {', '.join(ACKS)}.")
        if self.size < SMALLEST:
            raise UsageError(f"record size {self.size} is too small: a record carries its value, {SMALLEST} bytes at least.")
        if self.size_max is not None and self.size_max < self.size:
            raise UsageError(f"record sizes from {self.size} to {self.size_max} are none: give the smaller first.")
        if self.acks != "all" and (self.idempotence or self.transaction):
            raise UsageError(f"acks {self.acks} cannot be idempotent or transactional: use acks all, or switch those off.")

    @property
    def ordered(self) -> bool:
        in_flight = [self.config.get(name) for name in ("max.in.flight", "max.in.flight.requests.per.connection")]
        return self.idempotence or self.transaction is not None or "1" in map(str, in_flight)

    @property
    def flat_out(self) -> bool:
        """Whether records can go in batches of one partition each, as fast as that goes."""
        return not (self.rate or self.transaction or self.keys or self.records or self.size_max)

    def facts(self) -> dict[str, Any]:
        """For the manifest: what the checkers and the contract need to know of this client."""
        on = self.idempotence or self.transaction is not None
        return {"ordered": self.ordered, "acks": self.acks, "idempotence": on, "role": self.role, **_shared(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlan:
    topics: Mapping[str, int]
    mode: Literal["subscribe", "assign"] = "subscribe"
    group: str = "trial"
    protocol: str = "classic"
    static: str | None = None  # group.instance.id
    isolation: str = "read_committed"
    commit: str = "sync"
    commit_every: float = 0.5  # seconds
    batch: int = 500  # records a poll returns at most
    process_ms: float = 0.0  # time that a record takes to process
    config: Config = field(default_factory=dict)
    role: ClassVar[str] = "consumer"

    def __post_init__(self) -> None:
        _topics(self.topics)
        _positive("batch", self.batch)
        _positive("commit_every", self.commit_every)
        if self.process_ms < 0:
            raise UsageError(f"process_ms {self.process_ms} cannot be: give 0 or more.")
        for what, value, known in (
            ("mode", self.mode, ("subscribe", "assign")),
            ("group protocol", self.protocol, PROTOCOLS),
            ("isolation", self.isolation, ("read_committed", "read_uncommitted")),
            ("commit", self.commit, COMMITS),
        ):
            if value not in known:
                raise UsageError(f"{what} {value!r} is not known: choose one of {', '.join(known)}.")

    def facts(self) -> dict[str, Any]:
        return {
            "isolation": self.isolation,
            "mode": self.mode,
            "role": self.role,
            "group": self.group if self.mode == "subscribe" else None,
            "protocol": self.protocol if self.mode == "subscribe" else None,
            "auto_commit": self.commit == "auto",
            **_shared(self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePlan:
    """Reads one topic and writes one record for each to the same partition of another, with the offsets in the transaction.

    Without `transactions` the same at least once: sent and flushed, then committed."""

    topics: Mapping[str, int]  # what it reads
    target: str  # what it writes: a topic with as many partitions at least
    identity: str  # its transactional.id: the same in every life, so that each fences the one before
    group: str = "pipeline"
    transactions: bool = True
    batch: int = 50  # records of a transaction at most
    config: Config = field(default_factory=dict)  # librdkafka's, of its consumer and of its producer
    role: ClassVar[str] = "pipeline"

    def __post_init__(self) -> None:
        _topics(self.topics)
        _positive("batch", self.batch)
        if self.target in self.topics:
            raise UsageError(f"a pipeline from {self.target!r} into itself never ends: give another target.")

    def facts(self) -> dict[str, Any]:
        known = {"isolation": "read_committed", "mode": "subscribe", "group": self.group, "auto_commit": False}
        known |= {"ordered": True, "acks": "all", "idempotence": True, "role": self.role}
        return {**known, "target": self.target, "transactions": self.transactions, **_shared(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPlan(ConsumerPlan):
    """An application that some records fail in. Its topics are what it reads: the retry topic is one of them."""

    retry: str
    results: str
    dead_letters: str
    way: str = "topics"
    attempts: int = 3  # in all, before a record is given up
    delay_ms: int = 300  # between two
    role: ClassVar[str] = "retrying"

    def __post_init__(self) -> None:
        ConsumerPlan.__post_init__(self)
        if self.way not in WAYS:
            raise UsageError(f"way {self.way!r} is not known: choose one of {', '.join(WAYS)}.")
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise UsageError(f"attempts {self.attempts} cannot be: give 1 to {MOST_ATTEMPTS}.")
        if self.delay_ms < 0:
            raise UsageError(f"delay_ms {self.delay_ms} cannot be: give 0 or more.")
        if self.retry not in self.topics:
            raise UsageError(f"retry topic {self.retry!r} is not read: name it among the topics.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """The closing reader: everything from offset 0 to the end of each log, as a committed reader sees it."""

    topics: Mapping[str, int]
    timeout: float = 60.0
    config: Config = field(default_factory=dict)
    role: ClassVar[str] = "drain"

    def facts(self) -> dict[str, Any]:
        return {"isolation": "read_committed", "mode": "assign", "role": self.role}


Plan = ProducerPlan | ConsumerPlan | PipelinePlan | DrainPlan
PLANS: dict[str, type[ProducerPlan] | type[ConsumerPlan] | type[PipelinePlan] | type[DrainPlan]] = {
    plan.role: plan for plan in (ProducerPlan, ConsumerPlan, RetryPlan, PipelinePlan, DrainPlan)
}


def to_json(plan: Plan) -> dict[str, Any]:
    return {"role": plan.role, **asdict(plan)}


def from_json(facts: Mapping[str, Any]) -> Plan:
    return PLANS[facts["role"]](**{name: value for name, value in facts.items() if name != "role"})


def _shared(plan: ProducerPlan | ConsumerPlan | PipelinePlan) -> dict[str, Any]:
    return {"topics": dict(plan.topics), "config": dict(plan.config)}


def _topics(topics: Mapping[str, int]) -> None:
    if not topics:
        raise UsageError("a client without a topic has nothing to do: give {topic: partitions}.")
    for topic, partitions in topics.items():
        if partitions < 1:
            raise UsageError(f"topic {topic!r} with {partitions} partitions cannot be: give 1 or more.")


def _positive(what: str, value: float | None) -> None:
    if value is not None and value <= 0:
        raise UsageError(f"{what} {value} cannot be: give more than 0.")
