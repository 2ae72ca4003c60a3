"""Kafka's requests by name: what a rule or a schedule calls them, and the number that is on the wire."""

from kernel.errors import UsageError

APIS = {
    "Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3, "OffsetCommit": 8, "OffsetFetch": 9, "FindCoordinator": 10,
    "JoinGroup": 11, "Heartbeat": 12, "LeaveGroup": 13, "SyncGroup": 14, "DescribeGroups": 15, "ListGroups": 16,
    "ApiVersions": 18, "CreateTopics": 19, "DeleteTopics": 20, "DeleteRecords": 21, "InitProducerId": 22,
    "OffsetForLeaderEpoch": 23, "AddPartitionsToTxn": 24, "AddOffsetsToTxn": 25, "EndTxn": 26, "TxnOffsetCommit": 28,
    "DescribeConfigs": 32, "DescribeCluster": 60, "ConsumerGroupHeartbeat": 68, "GetTelemetrySubscriptions": 71,
    "PushTelemetry": 72, "DescribeTopicPartitions": 75, "ShareGroupHeartbeat": 76, "ShareFetch": 78, "ShareAcknowledge": 79,
}  # fmt: skip
_NAMES = {key: name for name, key in APIS.items()}


def api_key(api: str | int) -> int:
    """By name, or by its number."""
    if isinstance(api, int):
        return api
    if api not in APIS:
        raise UsageError(f"api {api!r} is not known: choose one of {', '.join(APIS)}, or give its key.", api=api)
    return APIS[api]


def api_name(key: int) -> str:
    return _NAMES.get(key, f"api {key}")
