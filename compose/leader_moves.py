"""Leadership moved by an operator: the same replicas in another order, then an election of whoever is preferred now."""

from types import TracebackType
from typing import Any

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, UsageError


class LeaderMoves:
    """One connection for many moves. kafka-python asks, because librdkafka cannot reassign."""

    def __init__(self, address: ClusterAddress) -> None:
        self._address = address

    def __enter__(self) -> "LeaderMoves":
        from compose.view import admin_client

        # Errors are told by whoever asks; a node that is down would otherwise be asked for minutes.
        self._admin: Any = admin_client()(
            **self._address.kafka_python(), request_timeout_ms=10_000, client_id="kafka-trial-moves"
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._admin.close()

    def to(self, topic: str, partition: int, replicas: list[int]) -> None:
        """The first of `replicas` is to lead. They are the ones that the partition has, so no record is copied."""
        from kafka.errors import KafkaError

        try:
            self.reassign(topic, partition, replicas)
            self._admin.elect_leaders(0, {topic: [partition]})
        except KafkaError as error:
            raise NotReady(
                f"leadership of {topic}-{partition} could not be moved to broker {replicas[0]}: {error!r}."
            ) from error

    def reassign(self, topic: str, partition: int, replicas: list[int]) -> None:
        from kafka import TopicPartition

        where = TopicPartition(topic, partition)
        if refused := self._admin.alter_partition_reassignments({where: list(replicas)}).get(where):
            raise UsageError(f"{topic}-{partition} cannot be on brokers {replicas}: {refused.__name__}.", replicas=replicas)
