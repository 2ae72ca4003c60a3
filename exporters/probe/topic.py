"""The probe's topic on the cluster: looked at, made, and kept as `placing` wants it."""

from collections.abc import Collection, Sequence
from typing import Any

from exporters.probe.placing import Moves
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady

TIMEOUT = 10.0
# An hour of a record a second is kept for whoever wants to look at it; the rest goes.
CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000", "segment.ms": "1800000"}


class ProbeTopic:
    def __init__(self, address: ClusterAddress, topic: str) -> None:
        from confluent_kafka.admin import AdminClient

        self.topic = topic
        self._address = address
        self._admin = AdminClient(address.librdkafka() | {"log_level": 0})

    def look(self) -> tuple[frozenset[int], list[PartitionState]]:
        """The brokers that are there, and the topic's partitions: none if there is no such topic."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        try:
            alive = self._admin.describe_cluster(request_timeout=TIMEOUT).result().nodes
            asked = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=TIMEOUT)[self.topic]
        except KafkaException as trouble:
            raise NotReady(f"the cluster does not tell its brokers: {trouble.args[0].str()}.") from None
        brokers = frozenset(node.id for node in alive)
        try:
            told = asked.result().partitions
        except KafkaException as trouble:
            if trouble.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return brokers, []
            raise NotReady(f"the cluster does not tell of topic {self.topic}: {trouble.args[0].str()}.") from None
        return brokers, [_state(self.topic, partition) for partition in told]

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
            raise NotReady(f"topic {self.topic} could not be reassigned: {trouble}.") from None
        finally:
            if admin is not None:
                admin.close()

    def _elect(self, partitions: Collection[int]) -> None:
        from confluent_kafka import ElectionType, KafkaException, TopicPartition

        where = [TopicPartition(self.topic, partition) for partition in partitions]
        try:
            self._admin.elect_leaders(ElectionType.PREFERRED, where, request_timeout=TIMEOUT).result()
        except KafkaException as trouble:
            raise NotReady(f"leaders of {self.topic} could not be elected: {trouble.args[0].str()}.") from None

    def _done(self, answer: Any, what: str) -> None:
        from confluent_kafka import KafkaError, KafkaException

        try:
            answer.result()
        except KafkaException as trouble:
            if trouble.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another probe was quicker
                raise NotReady(f"topic {self.topic} could not {what}: {trouble.args[0].str()}.") from None


def _state(topic: str, told: Any) -> PartitionState:
    return PartitionState(
        topic,
        told.id,
        told.leader.id if told.leader is not None and told.leader.id >= 0 else None,
        -1,  # not told
        tuple(node.id for node in told.replicas),
        frozenset(node.id for node in told.isr),
    )
