"""What the admin calls tell: topics, groups, members, commits, ends. Batched, with a bound on how many are under way.

One client for all calls, made anew now and then because librdkafka never forgets a topic it was asked about, and after a
call that went wrong because it does not forget a broker that died either: it would ask that one for ever. Every call ends in
time: what did not answer is left out and counted, and the rest is used.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from kernel.cluster import ClusterAddress
from kernel.errors import CollectionFailed

log = logging.getLogger(__name__)
Partition = tuple[str, int]
T = TypeVar("T")

MANY = 10_000  # partitions in one call: more would make an answer that takes too long to build
GROUPS = 200  # groups that are described in one call
AT_ONCE = 32  # groups whose commits are asked for at the same time, as Kafka wants a call for each
RECYCLE = 3_600.0  # seconds
INVALID = -1001  # what librdkafka tells of a partition whose leader did not answer, without calling it an error
# What is so because of us, or because of whom we asked: another client would not do better.
LASTING = (
    "UNKNOWN_TOPIC_OR_PART",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
)
LATEST, EARLIEST = "latest", "earliest"
UNCOMMITTED_READS, COMMITTED_READS = "read_uncommitted", "read_committed"
DEAD = "Dead"  # of a group: there is none of that name
STATES = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": DEAD,
    "EMPTY": "Empty",
}


@dataclass(frozen=True, slots=True)
class Topic:
    partitions: int
    id: bytes = b""


@dataclass(frozen=True, slots=True)
class Listed:
    state: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Described:
    state: str
    kind: str
    members: int
    owners: Mapping[Partition, tuple[str, str]] = field(default_factory=dict)  # host and client id


class ClusterAdmin:
    def __init__(
        self, address: ClusterAddress, settings: Mapping[str, Any], timeout: float, clock: Callable[[], float]
    ) -> None:
        quiet = {"log_level": 0, "socket.timeout.ms": int(timeout * 1000), "reconnect.backoff.max.ms": 2_000}
        self._config = address.librdkafka() | quiet | dict(settings)
        self._timeout, self._clock = timeout, clock
        self._made_at = 0.0
        self._client: Any = None
        self.errors: Counter[str] = Counter()

    @property
    def client(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._client is None or self._clock() - self._made_at > RECYCLE:
            self._client, self._made_at = AdminClient(self._config), self._clock()
        return self._client

    def _count(self, error: str, times: int = 1) -> None:
        if times:
            self.errors[error] += times
        if times and error not in LASTING:
            self._client = None

    def topics(self) -> dict[str, int]:
        """Every topic and how many partitions it has."""
        from confluent_kafka import KafkaException

        try:
            told = self.client.list_topics(timeout=self._timeout)
        except KafkaException as trouble:
            raise self._failed(trouble) from None
        return {
            name: len(topic.partitions) for name, topic in told.topics.items() if topic.error is None and topic.partitions
        }

    def topic_ids(self, names: Sequence[str]) -> tuple[dict[str, bytes], set[str]]:
        """Ids of topics, and those that are said not to be there."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        ids: dict[str, bytes] = {}
        missing: set[str] = set()
        for part in _parts(names, GROUPS):
            asked = self.client.describe_topics(TopicCollection(part), request_timeout=self._timeout)
            for name, answer in self._answers(asked):
                try:
                    ids[name] = _uuid(answer.result().topic_id)
                except KafkaException as trouble:
                    if trouble.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                        missing.add(name)
                    else:
                        self._failed(trouble)
        return ids, missing

    def offsets(
        self, partitions: Sequence[Partition], spec: str | float = LATEST, isolation: str = UNCOMMITTED_READS
    ) -> dict[Partition, int]:
        """Where logs end or begin, or (with a time in seconds) where they were then; −1 if nothing is as young as that."""
        return self._list_offsets(dict.fromkeys(partitions, spec), isolation)

    def offsets_at(self, times: Mapping[Partition, float]) -> dict[Partition, int]:
        """Where each log was at a time of its own."""
        return self._list_offsets(times, UNCOMMITTED_READS)

    def _list_offsets(self, specs: Mapping[Partition, str | float], isolation: str) -> dict[Partition, int]:
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        level = IsolationLevel.READ_COMMITTED if isolation == COMMITTED_READS else IsolationLevel.READ_UNCOMMITTED
        known: dict[str | float, Any] = {LATEST: OffsetSpec.latest(), EARLIEST: OffsetSpec.earliest()}
        for spec in {*specs.values()} - {LATEST, EARLIEST}:
            known[spec] = OffsetSpec.for_timestamp(int(float(spec) * 1000))
        found: dict[Partition, int] = {}
        for part in _parts(specs.items(), MANY):
            asked = self.client.list_offsets(
                {TopicPartition(topic, number): known[spec] for (topic, number), spec in part},
                isolation_level=level,
                request_timeout=self._timeout,
            )
            for where, answer in self._answers(asked):
                try:
                    offset = answer.result().offset
                except KafkaException as trouble:
                    self._failed(trouble)
                    continue
                if offset == INVALID:
                    self._count("_TIMED_OUT")
                else:
                    found[where.topic, where.partition] = offset
        return found

    def groups(self) -> dict[str, Listed]:
        from confluent_kafka import KafkaException

        try:
            told = self.client.list_consumer_groups(request_timeout=self._timeout).result(self._timeout + 1)
        except (KafkaException, TimeoutError) as trouble:
            raise self._failed(trouble) from None
        failed = [self._failed(error) for error in told.errors]
        if failed and not told.valid:
            raise failed[0]
        return {one.group_id: Listed(STATES.get(one.state.name, ""), _kind(one.type)) for one in told.valid}

    def describe(self, groups: Sequence[str]) -> dict[str, Described]:
        from confluent_kafka import KafkaException

        found: dict[str, Described] = {}
        for part in _parts(groups, GROUPS):
            for name, answer in self._answers(self.client.describe_consumer_groups(part, request_timeout=self._timeout)):
                try:
                    found[name] = _described(answer.result())
                except KafkaException as trouble:
                    self._failed(trouble)
        return found

    def commits(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """For each group that answered, everything it has committed."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        found: dict[str, dict[Partition, int]] = {}
        waiting: dict[Future[Any], str] = {}
        left = iter(groups)

        def ask(count: int) -> None:
            for name in islice(left, count):
                asked = self.client.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(name)], request_timeout=self._timeout
                )
                waiting[asked[name]] = name

        ask(AT_ONCE)
        while waiting:
            done, _ = wait(waiting, timeout=self._timeout + 1, return_when="FIRST_COMPLETED")
            if not done:
                self._count("_TIMED_OUT", len(waiting))
                break
            for answer in done:
                name = waiting.pop(answer)
                try:
                    told = answer.result().topic_partitions
                except KafkaException as trouble:
                    self._failed(trouble)
                    continue
                found[name] = {
                    (one.topic, one.partition): one.offset for one in told if one.error is None and one.offset >= 0
                }
            ask(len(done))
        return found

    def _answers(self, asked: Mapping[T, "Future[Any]"]) -> Iterator[tuple[T, "Future[Any]"]]:
        """Those that came in time."""
        _, late = wait(asked.values(), timeout=self._timeout + 1)
        self._count("_TIMED_OUT", len(late))
        for name, answer in asked.items():
            if answer not in late:
                yield name, answer

    def _failed(self, trouble: Any) -> CollectionFailed:
        """Counted by Kafka's name for it."""
        error = trouble.args[0] if getattr(trouble, "args", None) else trouble
        name = error.name() if hasattr(error, "name") else "_TIMED_OUT"
        self._count(name)
        return CollectionFailed(f"the cluster did not answer ({name.lstrip('_').lower().replace('_', ' ')}).", reason=name)


def _described(told: Any) -> Described:
    owners: dict[Partition, tuple[str, str]] = {}
    for member in told.members:
        for where in member.assignment.topic_partitions or () if member.assignment else ():
            owners[where.topic, where.partition] = (member.host, member.client_id)
    return Described(STATES.get(told.state.name, ""), _kind(told.type), len(told.members), owners)


def _kind(told: Any) -> str:
    name = told.name.lower() if told is not None else ""
    return "" if name == "unknown" else name


def _uuid(told: Any) -> bytes:
    high, low = told.get_most_significant_bits(), told.get_least_significant_bits()
    return bytes(high.to_bytes(8, "big", signed=True) + low.to_bytes(8, "big", signed=True))


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part
