"""Share groups and streams groups, which librdkafka does not list: by kafka-python, and for what share groups have read by a
message of the protocol (DescribeShareGroupOffsets) that no Python client has, described in `schemas/`.

What cannot be had: who of a share group has acknowledged what out of order. Kafka keeps that for itself; it tells the start
offset, and from version 1 of the message on the lag.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kernel.cluster import ClusterAddress
from lag_monitor.sources import schemas
from lag_monitor.sources.admin import Listed, Partition

log = logging.getLogger(__name__)
NEWER = ("share", "streams")


@dataclass(frozen=True, slots=True)
class Shared:
    start: int
    lag: int  # −1: not told


class ShareAdmin:
    def __init__(self, address: ClusterAddress, timeout: float) -> None:
        patience = int(timeout * 1000)
        self._config = address.kafka_python() | {"request_timeout_ms": patience, "bootstrap_timeout_ms": patience}
        self._client: Any = None
        self._trouble = ""

    def groups(self) -> dict[str, Listed] | None:
        """Those of the newer kinds; None if it could not be asked."""
        try:
            told = self._connected().list_groups()
        except Exception as trouble:
            self._failed(trouble)
            return None
        self._trouble = ""
        return {
            one["group_id"]: Listed(one.get("group_state") or "", one["group_type"].lower())
            for one in told
            if (one.get("group_type") or "").lower() in NEWER
        }

    def offsets(self, groups: Sequence[str]) -> dict[str, dict[Partition, Shared]]:
        """Of share groups, as far as they have begun to read."""
        if not groups:
            return {}
        try:
            client = self._connected()
            answers = client._manager.run(_ask, client, list(groups))
        except Exception as trouble:
            self._failed(trouble)
            return {}
        return {
            group.group_id: {
                (topic.topic_name, one.partition_index): Shared(one.start_offset, one.lag)
                for topic in group.topics
                for one in topic.partitions
                if one.error_code == 0 and one.start_offset >= 0
            }
            for answer in answers
            for group in answer.groups
            if group.error_code == 0
        }

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # it is of no use any more, however it ends
                client.close()

    def _connected(self) -> Any:
        from kafka import KafkaAdminClient

        if self._client is None:
            self._client = KafkaAdminClient(**self._config)
        return self._client

    def _failed(self, trouble: Exception) -> None:
        """A new client next time; what goes on and on is told once."""
        self.close()
        if type(trouble).__name__ != self._trouble:
            self._trouble = type(trouble).__name__
            log.info("share and streams groups could not be listed: %s", self._trouble)


async def _ask(client: Any, groups: list[str]) -> list[Any]:
    """Each group's coordinator, all of its groups at once."""
    request = _messages()
    asked: dict[int, list[str]] = {}
    for group, node in (await client._find_coordinator_ids(groups)).items():
        asked.setdefault(node, []).append(group)
    return [
        await client._manager.send(
            request(groups=[request.Group(group_id=one, topics=None) for one in names], min_version=0), node_id=node
        )
        for node, names in asked.items()
    ]


_KNOWN: Mapping[str, Any] = {}


def _messages() -> Any:
    """The request; its answer is known to kafka-python as soon as its class is there. Made once."""
    global _KNOWN
    if not _KNOWN:
        from kafka.protocol.api_message import ApiMessage

        class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=schemas):  # type: ignore[misc,call-arg]
            pass

        class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=schemas):  # type: ignore[misc,call-arg]
            pass

        _KNOWN = {"request": DescribeShareGroupOffsetsRequest, "response": DescribeShareGroupOffsetsResponse}
    return _KNOWN["request"]
