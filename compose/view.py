"""What a cluster says of itself: leaders, ISR, active controller, features, effective configuration.

kafka-python asks, because librdkafka cannot: it has no DescribeQuorum, no eligible leader replicas, no reassignments
and no features. A view is taken through the direct listeners, so that no fault on a link blinds it.
"""

import logging
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from kernel.cluster import ClusterAddress, PartitionState, Quorum
from kernel.errors import NotReady

# Brokers go down here by design; without a handler Python would print each lost connection to the terminal.
logging.getLogger("kafka").addHandler(logging.NullHandler())

T = TypeVar("T")
REQUEST_MS = 5_000


class ClusterView:
    """A small, forgiving admin client: one retry on a new connection, because brokers come and go here by design."""

    def __init__(self, address: Callable[[], ClusterAddress]) -> None:
        self._address = address  # asked anew at each connection: brokers may have been added
        self._admin: Any = None
        self._lock = threading.Lock()

    def brokers(self) -> frozenset[int]:
        """The brokers that are alive and unfenced."""
        answer = self._ask(lambda admin: admin.describe_cluster())
        return frozenset(broker["broker_id"] for broker in answer["brokers"] if not broker.get("is_fenced"))

    def topics(self) -> list[str]:
        return sorted({state.topic for state in self.partitions()})

    def partitions(self, *topics: str) -> list[PartitionState]:
        """Every partition of these topics, or of all."""
        states: list[PartitionState] = []
        cursor = None
        while True:
            page = self._ask(partial(_page, topics, cursor))
            for topic in page["topics"]:
                states += [_partition(topic["name"], partition) for partition in topic["partitions"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return sorted(states, key=lambda state: (state.topic, state.partition))

    def quorum(self) -> Quorum:
        answer = self._ask(lambda admin: admin.describe_metadata_quorum())
        partition = answer["topics"][0]["partitions"][0] if "topics" in answer else answer
        end = max((voter["log_end_offset"] for voter in partition["current_voters"]), default=0)
        leader = partition["leader_id"]
        return Quorum(
            leader=leader if leader >= 0 else None,
            epoch=partition["leader_epoch"],
            voters=tuple(sorted(voter["replica_id"] for voter in partition["current_voters"])),
            lag={voter["replica_id"]: max(0, end - voter["log_end_offset"]) for voter in partition["current_voters"]},
        )

    def features(self) -> dict[str, int]:
        """Finalised feature levels, such as metadata.version and transaction.version."""
        answer = self._ask(lambda admin: admin.describe_features())
        return {name: facts["finalized"][1] for name, facts in sorted(answer.items()) if "finalized" in facts}

    def reassignments(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        answer = self._ask(lambda admin: admin.list_partition_reassignments())
        return {(where.topic, where.partition): facts for where, facts in answer.items()}

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _ask(self, question: Callable[[Any], T]) -> T:
        with self._lock:
            try:
                return question(self._connected())
            except Exception:  # whatever kafka-python raised, a fresh connection to another broker may do better
                self._drop()
            try:
                return question(self._connected())
            except Exception as error:
                self._drop()
                address = self._address().bootstrap
                raise NotReady(
                    f"no broker at {address} answered: {type(error).__name__} {error}", address=address
                ) from error

    def _connected(self) -> Any:
        if self._admin is None:
            with warnings.catch_warnings():  # its own use of importlib, told under the name of whoever imports it
                warnings.simplefilter("ignore", DeprecationWarning)
                from kafka import KafkaAdminClient

            self._admin = KafkaAdminClient(
                **self._address().kafka_python(),
                request_timeout_ms=REQUEST_MS,
                reconnect_backoff_max_ms=200,
                client_id="kafka-trial-view",
            )
        return self._admin

    def _drop(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            with suppress(Exception):  # it is being thrown away; how it dies does not matter
                admin.close()


def _page(topics: tuple[str, ...], cursor: dict[str, Any] | None, admin: Any) -> dict[str, Any]:
    answer: dict[str, Any] = admin.describe_topic_partitions(list(topics), cursor=cursor)
    return answer


def _partition(topic: str, facts: dict[str, Any]) -> PartitionState:
    leader = facts["leader_id"]
    return PartitionState(
        topic=topic,
        partition=facts["partition_index"],
        leader=leader if leader >= 0 else None,
        leader_epoch=facts["leader_epoch"],
        replicas=tuple(facts["replica_nodes"]),
        isr=frozenset(facts["isr_nodes"]),
        elr=frozenset(facts["eligible_leader_replicas"] or ()),
    )
