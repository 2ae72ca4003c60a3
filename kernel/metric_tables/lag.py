"""The lag monitor: what groups are doing, by our judge and by Burrow's rules, and how the monitor itself is doing."""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import Kind, Metric, Scope


def _lag(name: str, kind: Kind, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    return own(f"kafka_lag_{name}", kind, help, *labels, scope=Scope.GROUP, **more)


def _burrow(name: str, help: str, *labels: str) -> Metric:  # noqa: A002
    """Under Burrow's own names, of which one ends like a counter's and is none: that one has no type."""
    kind = Kind.UNTYPED if name.endswith("_total") else Kind.GAUGE
    return own(f"burrow_kafka_{name}", kind, help, *labels, scope=Scope.GROUP)


_GROUP = ("cluster", "group")
_PARTITION = (*_GROUP, "topic", "partition")
_BURROW_GROUP = ("cluster", "consumer_group")
_BURROW_PARTITION = (*_BURROW_GROUP, "topic", "partition")

ROWS = (
    _lag("up", Kind.GAUGE, "1 if the cluster answered when it was last looked at, else 0.", "cluster"),
    _lag("ready", Kind.GAUGE, "1 if the cluster was caught up with and judged, else 0.", "cluster"),
    _lag("judged_timestamp_seconds", Kind.GAUGE, "When the cluster's groups were last judged.", "cluster", unit="seconds"),
    _lag("look_seconds", Kind.GAUGE, "How long the last look at the cluster took.", "cluster", unit="seconds"),
    _lag("looks_total", Kind.COUNTER, "Looks at the cluster.", "cluster"),
    _lag("failed_looks_total", Kind.COUNTER, "Looks that the cluster did not answer.", "cluster"),
    _lag("errors_total", Kind.COUNTER, "Admin calls that failed, by the error's name.", "cluster", "error"),
    _lag("groups", Kind.GAUGE, "Groups by verdict.", "cluster", "status"),
    _lag("group_records", Kind.GAUGE, "Records that a group has not read yet, over all its partitions.", *_GROUP),
    _lag(
        "group_seconds",
        Kind.GAUGE,
        "Age of the oldest record that a group has not read yet.",
        *_GROUP,
        unit="seconds",
        note="0 if it has read everything; no series while it is not known.",
    ),
    _lag("group_status", Kind.GAUGE, "1 for the verdict on a group.", *_GROUP, "status"),
    _lag("group_gravity", Kind.GAUGE, "Gravity of the verdict on a group: 0 OK, 1 note, 2 warning, 3 error.", *_GROUP),
    _lag("group_members", Kind.GAUGE, "Members of a group.", *_GROUP),
    _lag("group_slo_seconds", Kind.GAUGE, "How far behind a group may be.", *_GROUP, unit="seconds"),
    _lag("partition_records", Kind.GAUGE, "Records that a group has not read yet in a partition.", *_PARTITION),
    _lag(
        "partition_seconds",
        Kind.GAUGE,
        "Age of the oldest record in a partition that a group has not read yet.",
        *_PARTITION,
        unit="seconds",
    ),
    _lag("partition_gravity", Kind.GAUGE, "Gravity of the verdict on a group's partition, if it is not 0.", *_PARTITION),
    _lag("partitions_left_out", Kind.GAUGE, "Group-partitions without series, as there are too many.", "cluster"),
    _lag("disagreements", Kind.GAUGE, "Group-partitions that one judge finds bad and the other well.", "cluster"),
    _lag("commits_total", Kind.COUNTER, "Commits that were read from __consumer_offsets.", "cluster"),
    _lag("malformed_total", Kind.COUNTER, "Records in __consumer_offsets that are none of Kafka's.", "cluster"),
    _lag("dropped_commits_total", Kind.COUNTER, "Commits that were read and not used, by reason.", "cluster", "reason"),
    _lag(
        "mismatches_total",
        Kind.COUNTER,
        "Commits that __consumer_offsets and the group's coordinator told differently, twice in a row.",
        "cluster",
    ),
    _lag("clock_jumps_total", Kind.COUNTER, "Times this machine's clock was set while the monitor ran.", "cluster"),
    _lag("saves_total", Kind.COUNTER, "Times the cluster's state was saved.", "cluster"),
    _lag("failed_saves_total", Kind.COUNTER, "Times it could not be saved.", "cluster"),
    _lag("saved_timestamp_seconds", Kind.GAUGE, "When it was last saved.", "cluster", unit="seconds"),
    _lag("active", Kind.GAUGE, "1 if this instance tells of what it finds, else 0."),
    _lag("shards", Kind.GAUGE, "Shards that this instance has."),
    _lag("incidents", Kind.GAUGE, "Open incidents by route.", "route"),
    _lag("notices_total", Kind.COUNTER, "Notices by what became of them.", "channel", "result"),
    _lag("notices_queued", Kind.GAUGE, "Notices on their way.", "channel"),
    _lag(
        "oldest_notice_timestamp_seconds",
        Kind.GAUGE,
        "Since when the oldest notice is on its way.",
        "channel",
        unit="seconds",
    ),
    _lag("outbox_errors_total", Kind.COUNTER, "Times the notices on their way could not be written to disk."),
    _burrow("consumer_lag_total", "Burrow's total lag of a group.", *_BURROW_GROUP),
    _burrow("consumer_status", "Burrow's code for a group: 1 OK, 2 WARN, 3 ERR.", *_BURROW_GROUP),
    _burrow("consumer_partition_lag", "Burrow's current lag of a group's partition.", *_BURROW_PARTITION),
    _burrow("consumer_current_offset", "The last commit, once the window is full.", *_BURROW_PARTITION),
    _burrow(
        "topic_partition_status",
        "Burrow's code for a group's partition, once the window is full: 1 OK, 2 WARN, 4 STOP, 5 STALL, 6 REWIND.",
        *_BURROW_PARTITION,
    ),
    _burrow("topic_partition_offset", "Where a partition's log ends.", "cluster", "topic", "partition"),
)
