"""The probe's topic on the cluster: looked at, made, and kept as `placing` wants it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporters.probe.placing import Moves
from exporters.probe.seen import Address
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady

TIMEOUT = 10.0
LOOK_TIMEOUT = 5.0  # a broker that hangs is not asked for longer: the others know too
# An hour of a record a second is kept for whoever wants to look at it; the rest goes.
CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000", "segment.ms": "1800000"}


@dataclass(frozen=True, slots=True)
class Looked:
    addresses: Mapping[int, Address]  # of the brokers that are there, as they tell clients
    partitions: Sequence[PartitionState] = ()  # none if there is no such topic

    @property
    def brokers(self) -> frozenset[int]:
        return frozenset(self.addresses)


class ProbeTopic:
    def __init__(self, address: ClusterAddress, config: Mapping[str, Any], topic: str) -> None:
        from confluent_kafka.admin import AdminClient

        self.topic = topic
        self._address = address
        ours = {"socket.timeout.ms": int(LOOK_TIMEOUT * 1000), "allow.auto.create.topics": False, "log_level": 0}
        self._admin = AdminClient({**config, **ours})

    def look(self) -> Looked:
        """By the oldest call there is: any broker answers it. Others go to the one that librdkafka takes for the controller,
        and hang if that one hangs."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            told = self._admin.list_topics(self.topic, timeout=LOOK_TIMEOUT)
        except KafkaException as trouble:
            raise NotReady(f"the cluster does not tell its brokers: {_said(trouble.args[0])}.") from None
        addresses = {broker: (at.host, at.port) for broker, at in told.brokers.items()}
        topic = told.topics[self.topic]
        if topic.error is None:
            return Looked(addresses, [_state(self.topic, partition) for partition in topic.partitions.values()])
        if topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return Looked(addresses)
        raise NotReady(f"the cluster does not tell of topic {self.topic}: {_said(topic.error)}.")

    def id(self) -> str | None:
        """Another one if the topic was deleted and made again; None if there is none."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        asked = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=LOOK_TIMEOUT)
        try:
            return str(asked[self.topic].result().topic_id)
        except KafkaException as trouble:
            if trouble.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise NotReady(f"the cluster does not tell of topic {self.topic}: {_said(trouble.args[0])}.") from None

    def ends(self, partitions: Collection[int]) -> dict[int, int]:
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.latest())

    def beginnings(self, partitions: Collection[int]) -> dict[int, int]:
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.earliest())

    def _offsets(self, partitions: Collection[int], which: Any) -> dict[int, int]:
        """Of those whose leader answers; the others another time."""
        from confluent_kafka import KafkaException, TopicPartition

        if not partitions:
            return {}
        asked = {TopicPartition(self.topic, partition): which for partition in partitions}
        found = {}
        for where, answer in self._admin.list_offsets(asked, request_timeout=LOOK_TIMEOUT).items():
            try:
                offset = int(answer.result().offset)
            except KafkaException:
                continue
            if offset >= 0:  # librdkafka may answer -1001, and no error, while brokers are cut off
                found[int(where.partition)] = offset
        return found

    def create(self, assignment: Sequence[Sequence[int]]) -> None:
        from confluent_kafka.admin import NewTopic

        copies = len(assignment[0])
        config = CONFIG | {"min.insync.replicas": str(min(2, copies))}
        new = NewTopic(self.topic, num_partitions=len(assignment), replica_assignment=assignment, config=config)
        self._done(self._admin.create_topics([new], request_timeout=TIMEOUT)[self.topic], "be created")

    def apply(self, wanted: Moves, count: int) -> None:
        """`count`: the partitions it has now."""
        if wanted.create:
            from confluent_kafka.admin import NewPartitions

            more = NewPartitions(self.topic, count + len(wanted.create), replica_assignment=[*map(list, wanted.create)])
            self._done(
                self._admin.create_partitions([more], request_timeout=TIMEOUT)[self.topic], "be given more partitions"
            )
        if wanted.reassign:
            self._reassign(wanted)
        if wanted.elect:
            self._elect(wanted.elect)

    def _reassign(self, wanted: Moves) -> None:
        """librdkafka has no such call."""
        from kafka.admin import KafkaAdminClient
        from kafka.errors import KafkaError
        from kafka.structs import TopicPartition

        admin = None
        try:
            admin = KafkaAdminClient(**self._address.kafka_python(), request_timeout_ms=int(TIMEOUT * 1000))
            admin.alter_partition_reassignments(
                {TopicPartition(self.topic, partition): list(new) for partition, new in wanted.reassign.items()}
            )
        except KafkaError as trouble:
            why = type(trouble).__name__  # its own words are a page long
            raise NotReady(f"topic {self.topic} could not be reassigned: {why}.") from None
        finally:
            if admin is not None:
                admin.close()

    def _elect(self, partitions: Collection[int]) -> None:
        from confluent_kafka import ElectionType, KafkaException, TopicPartition

        where = [TopicPartition(self.topic, partition) for partition in partitions]
        try:  # without a timeout: confluent-kafka 2.16 refuses every one that is given
            answers = self._admin.elect_leaders(ElectionType.PREFERRED, where).result()
        except KafkaException as trouble:
            raise NotReady(f"leaders of {self.topic} could not be elected: {_said(trouble.args[0])}.") from None
        for place, error in answers.items():
            if error is not None:
                raise NotReady(f"{place.topic}-{place.partition} keeps its leader: {_said(error.args[0])}.")

    def _done(self, answer: Any, what: str) -> None:
        from confluent_kafka import KafkaError, KafkaException

        try:
            answer.result()
        except KafkaException as trouble:
            if trouble.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another probe was quicker
                raise NotReady(f"topic {self.topic} could not {what}: {_said(trouble.args[0])}.") from None


def _said(error: Any) -> str:
    return str(error.str()).rstrip(".")


def _state(topic: str, told: Any) -> PartitionState:
    leader = told.leader if told.leader >= 0 else None
    return PartitionState(topic, told.id, leader, -1, tuple(told.replicas), frozenset(told.isrs))  # epochs are not told
