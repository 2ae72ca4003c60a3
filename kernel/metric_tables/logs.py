"""Log directories, flushes, the cleaner, and the log of each partition."""

from typing import Any

from kernel.metric_tables.rows import gauge, summary
from kernel.metrics import EVERY_ROLE, Scope

_MANAGER = "kafka.log:type=LogManager,name="
_CLEANER = "kafka.log:type=LogCleaner,name="
_CLEANING = "kafka.log:type=LogCleanerManager,name="
_LOG = "kafka.log:type=Log,name={0},topic={{topic}},partition={{partition}}"
_PARTITION = "kafka.cluster:type=Partition,name={0},topic={{topic}},partition={{partition}}"
_EACH: dict[str, Any] = {"scope": Scope.PARTITION, "everyday": False, "appears": "with the first partition"}

ROWS = (
    gauge(_MANAGER + "OfflineLogDirectoryCount", "Log directories that failed.", star=True),
    gauge(_MANAGER + "LogDirectoryOffline,logDirectory={log_directory}", "1 for a log directory that failed, else 0."),
    gauge(_MANAGER + "CordonedLogDirectoryCount", "Log directories that take no new partitions.", since="4.2"),
    summary(
        "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
        "Time to flush a log to disk.",
        unit="ms",
        roles=EVERY_ROLE,
        scope=Scope.NODE,
    ),
    gauge(_CLEANER + "DeadThreadCount", "Log cleaner threads that died: compacted topics grow for ever."),
    gauge(
        _CLEANER + "max-clean-time-secs",
        "Longest time the cleaner took lately.",
        unit="seconds",
        least=0,
        note="Reads some -1.8 thousand million until the first run: not exported until then.",
    ),
    gauge(_CLEANER + "max-compaction-delay-secs", "Longest time a record waited for compaction.", unit="seconds", least=0),
    gauge(_CLEANER + "max-buffer-utilization-percent", "How full the cleaner's buffer was, in per cent.", unit="percent"),
    gauge(_CLEANING + "uncleanable-partitions-count,logDirectory={log_directory}", "Partitions that the cleaner gave up."),
    gauge(_CLEANING + "uncleanable-bytes,logDirectory={log_directory}", "Bytes that the cleaner gave up.", unit="bytes"),
    gauge(_CLEANING + "max-dirty-percent", "How dirty the dirtiest log is, in per cent.", unit="percent"),
    gauge(_CLEANING + "time-since-last-run-ms", "Time since the cleaner last ran."),
    gauge(
        _LOG.format("Size"),
        "Size of a partition's log on this broker.",
        unit="bytes",
        roles=EVERY_ROLE,
        by_topic="sum",
        **_EACH,
    ),
    gauge(_LOG.format("LogStartOffset"), "Where the log of a partition begins.", roles=EVERY_ROLE, **_EACH),
    gauge(_LOG.format("LogEndOffset"), "Where the log of a partition ends.", roles=EVERY_ROLE, **_EACH),
    gauge(_LOG.format("NumLogSegments"), "Segments of a partition's log.", roles=EVERY_ROLE, by_topic="sum", **_EACH),
    gauge(
        _LOG.format("RetentionSizeInPercent"),
        "How much of retention.bytes a log has used, in per cent.",
        since="4.2",
        unit="percent",
        roles=EVERY_ROLE,
        by_topic="max",
        **_EACH,
    ),
    gauge(
        _PARTITION.format("UnderReplicated"),
        "1 if a partition has fewer in-sync replicas than replicas.",
        by_topic="sum",
        **_EACH,
    ),
    gauge(_PARTITION.format("UnderMinIsr"), "1 if a partition refuses acks=all writes.", by_topic="sum", **_EACH),
    gauge(
        _PARTITION.format("AtMinIsr"),
        "1 if a partition is one replica short of refusing acks=all writes.",
        by_topic="sum",
        **_EACH,
    ),
    gauge(_PARTITION.format("InSyncReplicasCount"), "In-sync replicas, as the leader counts them; 0 on followers.", **_EACH),
    gauge(_PARTITION.format("ReplicasCount"), "Replicas, as the leader counts them; 0 on followers.", **_EACH),
    gauge(
        _PARTITION.format("LastStableOffsetLag"),
        "Records that open transactions keep from readers.",
        by_topic="max",
        **_EACH,
    ),
)
