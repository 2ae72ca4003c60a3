"""A member of a streams group, as the broker sees one: heartbeats and commits by hand, for no Python client can join such a
group. The messages' descriptions are those in Kafka's own jar.
"""

import importlib
import sys
import tempfile
import time
import uuid
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetCommitRequest

from compose.jars import kafka_jars
from kernel.cluster import ClusterAddress

MESSAGES = ("StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse")
VERSION = "4.3.1"


def _request() -> Any:
    return _messages()[0]


@cache
def _messages() -> list[Any]:
    """Request and answer; kafka-python itself does not hold on to the second."""
    folder = Path(tempfile.mkdtemp(prefix="kafka-trial-"))
    package = folder / "streams_messages"
    package.mkdir()
    (package / "__init__.py").touch()
    clients = next(jar for jar in kafka_jars(VERSION) if jar.name == f"kafka-clients-{VERSION}.jar")
    with zipfile.ZipFile(clients) as jar:
        for name in MESSAGES:
            (package / f"{name}.json").write_bytes(jar.read(f"common/message/{name}.json"))
    sys.path.insert(0, str(folder))
    described = importlib.import_module("streams_messages")
    return [type(ApiMessage)(name, (ApiMessage,), {"__slots__": ()}, load_json=described) for name in MESSAGES]


class StreamsMember:
    def __init__(self, address: ClusterAddress, group: str, topic: str) -> None:
        self.group, self.topic, self._id = group, topic, str(uuid.uuid4())
        self._client = KafkaAdminClient(**address.kafka_python())
        self._epoch = 0
        self.partitions: list[int] = []

    def beat(self) -> None:
        """Joins with the first, and takes up what it is given."""
        request, first = _request(), self._epoch == 0
        nothing: list[Any] | None = [] if first else None
        told = self._send(
            request(
                group_id=self.group,
                member_id=self._id,
                member_epoch=self._epoch,
                endpoint_information_epoch=0,
                rebalance_timeout_ms=10_000 if first else -1,
                topology=self._topology(request) if first else None,
                active_tasks=nothing,
                standby_tasks=nothing,
                warmup_tasks=nothing,
                client_tags=nothing,
                process_id="one" if first else None,
                min_version=0,
            )
        )
        assert told.error_code == 0, told
        self._epoch = told.member_epoch
        for task in told.active_tasks or ():
            self.partitions = list(task.partitions)

    def commit(self, offset: int) -> None:
        """The same in every partition."""
        topic = OffsetCommitRequest.OffsetCommitRequestTopic
        part = topic.OffsetCommitRequestPartition
        places = [
            part(partition_index=one, committed_offset=offset, committed_leader_epoch=-1, committed_metadata="")
            for one in self.partitions
        ]
        told = self._send(
            OffsetCommitRequest(
                group_id=self.group,
                generation_id_or_member_epoch=self._epoch,
                member_id=self._id,
                topics=[topic(name=self.topic, partitions=places)],
                min_version=9,
                max_version=9,
            )
        )
        assert {one.error_code for where in told.topics for one in where.partitions} == {0}, told

    def leave(self) -> None:
        self._epoch = -1
        self._send(
            _request()(group_id=self.group, member_id=self._id, member_epoch=-1, endpoint_information_epoch=0, min_version=0)
        )
        self._client.close()

    def _topology(self, request: Any) -> Any:
        kind = request.Topology
        part = kind.Subtopology(
            subtopology_id="0",
            source_topics=[self.topic],
            source_topic_regex=[],
            state_changelog_topics=[],
            repartition_sink_topics=[],
            repartition_source_topics=[],
            copartition_groups=[],
        )
        return kind(epoch=0, subtopologies=[part])

    def _send(self, message: Any) -> Any:
        async def ask() -> Any:
            nodes = await self._client._find_coordinator_ids([self.group])
            return await self._client._manager.send(message, node_id=nodes[self.group])

        deadline = time.monotonic() + 20
        while True:
            try:
                return self._client._manager.run(ask)
            except KafkaError:  # a fresh cluster has no coordinator yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
