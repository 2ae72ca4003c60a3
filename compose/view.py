"""What a cluster says of itself: leaders, ISR, active controller, features, reassignments.

A broker that is cut off from the controllers goes on answering from metadata that no longer moves, and one that is
paused does not answer at all. So a view never trusts just anybody: it first asks every broker how far it has followed
the metadata log, and puts its question to the one that is furthest. kafka-python asks, because librdkafka has none of
these calls. It asks through the direct listeners, so that no fault on a link blinds it.
"""

import logging
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from kernel.cluster import ClusterAddress, PartitionState, Quorum
from kernel.errors import NotReady

# Brokers go down here by design; without a handler Python would print each lost connection to the terminal.
logging.getLogger("kafka").addHandler(logging.NullHandler())

T = TypeVar("T")
PATIENCE_MS = 2_500  # for one answer
HESITATION = 0.3  # seconds that the slowest broker may take longer than the quickest


class ClusterView:
    """Takes the address of each broker, asked for anew each time: brokers may have been added."""

    def __init__(self, addresses: Callable[[], Mapping[int, ClusterAddress]]) -> None:
        self._addresses = addresses
        self._admins: dict[int, Any] = {}
        self._locks: dict[int, threading.Lock] = defaultdict(threading.Lock)  # kafka-python's clients are not shared

    def brokers(self) -> frozenset[int]:
        """The brokers that are alive and unfenced."""
        answer = self._ask(lambda admin: admin.describe_cluster())
        return frozenset(broker["broker_id"] for broker in answer["brokers"] if not broker.get("is_fenced"))

    def registered(self) -> frozenset[int]:
        """The brokers that the controllers know, also those that are down."""
        return frozenset(broker["broker_id"] for broker in self._ask(lambda admin: admin.describe_cluster())["brokers"])

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
        """As the active controller tells it. Raises `NotReady` while there is none, or none that answers."""
        return self._ask(_quorum)

    def features(self) -> dict[str, int]:
        """Finalised feature levels, such as metadata.version and transaction.version."""
        answer = self._ask(lambda admin: admin.describe_features())
        return {name: facts["finalized"][1] for name, facts in sorted(answer.items()) if "finalized" in facts}

    def log_dirs(self, broker: int) -> dict[str, frozenset[tuple[str, int]]]:
        """What a broker says lies in each of its log directories; nothing in one that has failed."""
        try:
            answer = self._ask_one(broker, lambda admin: admin.describe_log_dirs(brokers=[broker]))
        except _Silent as silence:
            raise NotReady(f"broker {broker} did not say what its log directories hold.", broker=broker) from silence
        return {place["log_dir"]: _replicas(place) for part in answer for place in part["log_dirs"]}

    def reassignments(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        answer = self._ask(lambda admin: admin.list_partition_reassignments())
        return {(where.topic, where.partition): facts for where, facts in answer.items()}

    def close(self) -> None:
        for broker in list(self._admins):
            self._drop(broker)

    def _ask(self, question: Callable[[Any], T]) -> T:
        offsets = self._metadata_offsets()
        for broker in sorted(offsets, key=lambda broker: -offsets[broker]):
            with suppress(_Silent):
                return self._ask_one(broker, question)
        where = ",".join(address.bootstrap for address in self._addresses().values())
        raise NotReady(f"no broker at {where} answered ({len(offsets)} were reached).", address=where)

    def _metadata_offsets(self) -> dict[int, int]:
        """How far each broker has followed the metadata log. Whoever is much slower than the first is left out."""
        admin_client()  # imported once and here, not by several threads at the same time
        brokers = list(self._addresses())
        together = ThreadPoolExecutor(len(brokers), thread_name_prefix="kafka-trial-view")
        asked = {together.submit(self._ask_one, broker, _metadata_offset): broker for broker in brokers}
        together.shutdown(wait=False)  # whoever hangs ends by itself, when its patience does
        waiting = set(asked)
        while waiting and not any(_answered(answer) for answer in asked):
            waiting = wait(waiting, return_when=FIRST_COMPLETED).not_done
        wait(waiting, HESITATION)
        return {broker: answer.result() for answer, broker in asked.items() if _answered(answer)}

    def _ask_one(self, broker: int, question: Callable[[Any], T]) -> T:
        lock = self._locks[broker]
        if not lock.acquire(timeout=HESITATION):
            raise _Silent  # an earlier question still hangs there: waiting for it would only make a queue
        try:
            return question(self._connected(broker))
        except Exception as error:  # whatever kafka-python raised: this broker did not answer, another may
            self._drop(broker)
            raise _Silent from error
        finally:
            lock.release()

    def _connected(self, broker: int) -> Any:
        if broker not in self._admins:
            admin = admin_client()(
                **self._addresses()[broker].kafka_python(),
                request_timeout_ms=PATIENCE_MS,
                bootstrap_timeout_ms=PATIENCE_MS,
                reconnect_backoff_max_ms=200,
                client_id="kafka-trial-view",
            )
            # The client would spread its questions over all brokers it learns of; this one is to ask this broker only.
            admin._manager.least_loaded_node = lambda: broker
            self._admins[broker] = admin
        return self._admins[broker]

    def _drop(self, broker: int) -> None:
        admin = self._admins.pop(broker, None)
        if admin is not None:
            with suppress(Exception):  # it is being thrown away; how it dies does not matter
                admin.close()


class _Silent(Exception):
    """A broker did not answer."""


@cache
def admin_client() -> Any:
    with warnings.catch_warnings():  # of its own use of importlib, told under the name of whoever imports it
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaAdminClient

    return KafkaAdminClient


def _answered(answer: "Future[Any]") -> bool:
    return answer.done() and answer.exception() is None


def _metadata_offset(admin: Any) -> int:
    """In KRaft the epoch of the finalised features is the offset of the metadata image they are read from."""
    return max(feature.get("finalized_epoch") or 0 for feature in admin.describe_features().values())


def _quorum(admin: Any) -> Quorum:
    answer = admin.describe_metadata_quorum()
    partition = answer["topics"][0]["partitions"][0] if "topics" in answer else answer
    leader = partition["leader_id"]
    if leader < 0:
        raise _Silent
    nodes = [*partition["current_voters"], *partition["observers"]]
    end = max(node["log_end_offset"] for node in nodes)
    # A broker that was set up anew is listed twice for five minutes, under its old directory.id and under its new one.
    furthest: dict[int, int] = {}
    for node in nodes:
        furthest[node["replica_id"]] = max(furthest.get(node["replica_id"], 0), node["log_end_offset"])
    return Quorum(
        leader=leader,
        epoch=partition["leader_epoch"],
        voters=tuple(sorted(voter["replica_id"] for voter in partition["current_voters"])),
        lag={node: max(0, end - offset) for node, offset in furthest.items()},
    )


def _page(topics: tuple[str, ...], cursor: dict[str, Any] | None, admin: Any) -> dict[str, Any]:
    answer: dict[str, Any] = admin.describe_topic_partitions(list(topics), cursor=cursor)
    return answer


def _replicas(place: dict[str, Any]) -> frozenset[tuple[str, int]]:
    return frozenset((topic["name"], part["partition_index"]) for topic in place["topics"] for part in topic["partitions"])


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
