"""Groups, transactions and share groups: the coordinators on each broker."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge, summary

_GROUP = "kafka.server:type=group-coordinator-metrics"
_CLASSIC = "kafka.coordinator.group:type=GroupMetadataManager,name="
_TRANSACTION = "kafka.server:type=transaction-coordinator-metrics"
_VERIFYING = "kafka.server:type=AddPartitionsToTxnManager,name="
_NEW: dict[str, Any] = {"since": "4.0"}
_COORDINATING: dict[str, Any] = {"appears": "with the first partition of the coordinator's topic"}

ROWS = (
    gauge(_GROUP, "How idle the group coordinator's threads are, 0 to 1.", "thread-idle-ratio-avg", unit="ratio", **_NEW),
    gauge(_GROUP, "Events waiting for the group coordinator.", "event-queue-size", **_NEW),
    gauge(_GROUP, "Wait of the group coordinator's events, 99th percentile.", "event-queue-time-ms-p99", **_NEW),
    gauge(_GROUP, "Wait of the group coordinator's events, the longest.", "event-queue-time-ms-max", **_NEW),
    gauge(
        _GROUP,
        "Work of the group coordinator on an event, 99th percentile.",
        "event-processing-time-ms-p99",
        **_NEW,
    ),
    counter(_GROUP, "Rebalances of classic groups that were completed.", "group-completed-rebalance-count"),
    counter(_GROUP, "Rebalances of groups with the new protocol.", "consumer-group-rebalance-count", **_NEW),
    counter(_GROUP, "Rebalances of share groups.", "share-group-rebalance-count", **_NEW),
    counter(_GROUP, "Rebalances of streams groups.", "streams-group-rebalance-count", since="4.1"),
    counter(_GROUP, "Offset commits.", "offset-commit-count"),
    counter(_GROUP, "Offsets that expired.", "offset-expiration-count"),
    gauge(_GROUP, "Longest time to load a partition of offsets.", "partition-load-time-max", unit="ms"),
    gauge(
        _GROUP + ",state={state}",
        "Partitions of __consumer_offsets here, by state; failed ones serve nobody.",
        "num-partitions",
        **_NEW,
    ),
    gauge(_GROUP + ",protocol={protocol}", "Groups this broker coordinates, by protocol.", "group-count", **_NEW),
    gauge(_GROUP + ",state={state}", "Groups with the new protocol, by state.", "consumer-group-count", **_NEW),
    gauge(_GROUP + ",state={state}", "Share groups, by state.", "share-group-count", **_NEW),
    gauge(_CLASSIC + "NumGroups", "Classic groups this broker coordinates."),
    gauge(_CLASSIC + "NumGroupsStable", "Classic groups that are stable."),
    gauge(_CLASSIC + "NumGroupsPreparingRebalance", "Classic groups that wait for members to join."),
    gauge(_CLASSIC + "NumGroupsCompletingRebalance", "Classic groups that wait for their leader's assignment."),
    gauge(_CLASSIC + "NumGroupsDead", "Classic groups that are gone."),
    gauge(_CLASSIC + "NumGroupsEmpty", "Classic groups without members."),
    gauge(_CLASSIC + "NumOffsets", "Offsets of classic groups."),
    gauge(
        _TRANSACTION,
        "Time to load a partition of transaction state, on average.",
        "partition-load-time-avg",
        unit="ms",
        note="Not a number until a partition was loaded.",
    ),
    gauge(_TRANSACTION, "Time to load a partition of transaction state, the longest.", "partition-load-time-max", unit="ms"),
    summary(_VERIFYING + "VerificationTimeMs", "Time to verify that a transaction may write to a partition.", unit="ms"),
    counter(_VERIFYING + "VerificationFailureRate", "Verifications of a transaction that failed."),
    gauge(
        "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name=UnknownDestinationQueueSize",
        "Transaction markers for partitions without a leader.",
    ),
    gauge(
        "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name=LogAppendRetryQueueSize",
        "Transactions whose end could not be written yet.",
    ),
    gauge(
        "kafka.server:type=share-coordinator-metrics,state={state}",
        "Partitions of share-group state here, by state.",
        "num-partitions",
        **_NEW,
    ),
    counter("kafka.server:type=share-coordinator-metrics", "Writes of share-group state.", "write-total", **_NEW),
    summary(
        "kafka.server:type=ShareGroupMetrics,name=PartitionLoadTimeMs",
        "Time to load a share partition.",
        unit="ms",
        since="4.1",
    ),
    counter(
        "kafka.server:type=ShareGroupMetrics,name=RecordAcknowledgementsPerSec,ackType={ack_type}",
        "Records that members of share groups acknowledged, by what they said of them.",
        since="4.1",
    ),
)
