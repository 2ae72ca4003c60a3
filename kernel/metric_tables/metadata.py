"""The metadata log and those who follow it: the raft quorum, each node's copy, its snapshots."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge, state, summary
from kernel.metrics import EVERY_ROLE, Scope

_RAFT = "kafka.server:type=raft-metrics"
_BROKER = "kafka.server:type=broker-metadata-metrics"
_LOADER = "kafka.server:type=MetadataLoader,name="
_NODE: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.NODE}
_REPEATED: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.CONTROLLERS}

ROWS = (
    state(_RAFT, "What this node is in the quorum: leader, follower, candidate, observer …", "current-state", **_NODE),
    gauge(_RAFT, "The node this one takes for the leader of the quorum; -1 for none.", "current-leader", **_NODE),
    gauge(_RAFT, "The quorum's epoch, as this node knows it.", "current-epoch", **_NODE),
    gauge(_RAFT, "The node this one voted for; -1 for none.", "current-vote", **_NODE),
    gauge(_RAFT, "Offset up to which the metadata log is committed.", "high-watermark", **_NODE),
    gauge(_RAFT, "Where this node's copy of the metadata log ends.", "log-end-offset", **_NODE),
    gauge(_RAFT, "Epoch of the last record in this node's copy of the metadata log.", "log-end-epoch", **_NODE),
    gauge(_RAFT, "Voters of the quorum.", "number-of-voters", since="4.0", **_REPEATED),
    gauge(
        _RAFT,
        "Observers of the quorum, brokers above all; the leader counts them.",
        "number-of-observers",
        since="4.0",
        appears="on the leader of the quorum",
        **_NODE,
    ),
    gauge(_RAFT, "Voters whose address is not known.", "number-unknown-voter-connections", **_NODE),
    gauge(_RAFT, "Time to commit a metadata record, on average.", "commit-latency-avg", unit="ms", **_NODE),
    gauge(_RAFT, "Time to commit a metadata record, the longest lately.", "commit-latency-max", unit="ms", **_NODE),
    gauge(
        _RAFT,
        "Time to elect a leader of the quorum, on average.",
        "election-latency-avg",
        unit="ms",
        note="Not a number, and so not exported, until this node has won an election.",
        **_NODE,
    ),
    gauge(_RAFT, "Time to elect a leader of the quorum, the longest lately.", "election-latency-max", unit="ms", **_NODE),
    gauge(_RAFT, "Metadata records appended per second by the leader.", "append-records-rate", **_NODE),
    gauge(_RAFT, "Metadata records fetched per second.", "fetch-records-rate", **_NODE),
    gauge(_RAFT, "How idle the raft thread is, 0 to 1.", "poll-idle-ratio-avg", unit="ratio", **_NODE),
    gauge(
        _BROKER,
        "How far this broker is behind the metadata log.",
        "last-applied-record-lag-ms",
    ),
    gauge(_BROKER, "Offset of the last metadata record this broker applied.", "last-applied-record-offset"),
    counter(_BROKER, "Errors of this broker while it read metadata.", "metadata-load-error-count"),
    counter(_BROKER, "Errors of this broker while it applied metadata.", "metadata-apply-error-count"),
    gauge(
        _LOADER + "CurrentControllerId",
        "The node this one takes for the active controller; -1 for none.",
        note="Nodes that disagree see the cluster split.",
        **_NODE,
    ),
    gauge(_LOADER + "CurrentMetadataVersion", "Feature level of metadata.version.", **_REPEATED),
    counter(_LOADER + "HandleLoadSnapshotCount", "Metadata snapshots loaded.", "Value", **_NODE),
    gauge(
        _LOADER + "AvgIdleRatio", "How idle the thread is that applies metadata, 0 to 1.", unit="ratio", since="4.2", **_NODE
    ),
    gauge(
        _LOADER + "FinalizedLevel,featureName={feature}",
        "Level at which a feature is finalised in the cluster.",
        since="4.2",
        **_REPEATED,
    ),
    gauge(
        "kafka.server:type=SnapshotEmitter,name=LatestSnapshotGeneratedBytes",
        "Size of the latest metadata snapshot this node made; 0 before the first.",
        unit="bytes",
        **_NODE,
    ),
    gauge(
        "kafka.server:type=SnapshotEmitter,name=LatestSnapshotGeneratedAgeMs",
        "Age of the latest metadata snapshot this node made; since start, before the first.",
        unit="ms",
        **_NODE,
    ),
    summary(
        "kafka.server:type=BrokerMetadataListener,name=MetadataBatchProcessingTimeUs",
        "Time this broker takes for a batch of metadata.",
        unit="us",
    ),
)
