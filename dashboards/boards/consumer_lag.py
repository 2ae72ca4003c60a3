"""Consumer groups: how far behind, in records and in seconds, and what the judge makes of it."""

from dashboards.board import Board, Query, Row, Step, Variable, Word
from dashboards.boards.names import GROUPS, LAG
from dashboards.expressions import CLUSTER, each
from dashboards.panels import ORANGE, RED, level, lines, rates, states, table

GROUP = 'group=~"$group"'
GRAVITY = (Word(0, "OK", "green"), Word(1, "note", "blue"), Word(2, "warning", ORANGE), Word(3, "error", RED))
BURROW = "burrow_kafka_consumer_status"
# What each verdict says, in words. The lag monitor's own page has the reason with its figures.
MEANINGS = {
    "OK": "reads as fast as is written",
    "EMPTY_GROUP": "has no members, and nothing to do",
    "ABANDONED_TOPIC": "has commits for a topic that nobody reads any more",
    "WARMING_UP": "is behind, and not watched for long enough to say more",
    "UNKNOWN": "could not be seen",
    "NEVER_COMMITTED": "has something to read and never committed",
    "REWOUND": "went back, and has not come again to where it was",
    "SLOW": "falls further behind",
    "BEHIND_SLO": "is further behind, in seconds, than was promised",
    "STUCK_TRANSACTION": "waits for a transaction that is not ended",
    "STALLED": "has a member that does not get on",
    "STOPPED": "commits no more",
    "TOPIC_RECREATED": "has a commit in a topic that is no more",
    "DATA_LOSS": "lost records: they were deleted before it came to them",
}
NO_GROUP = "No group has committed anything."


def _status() -> str:
    """The verdict on every group, with its meaning as a label."""
    expression = f"max by (cluster, group, status) ({LAG}group_status{{{CLUSTER}, {GROUP}}}) == 1"
    for status, meaning in MEANINGS.items():
        expression = f'label_replace({expression}, "meaning", "{meaning}", "status", "{status}")'
    return expression


VERDICTS = Row(
    "Verdicts",
    (
        states("Groups", f"{LAG}group_gravity", GRAVITY, GROUP, by="group", width=12, height=8, empty=NO_GROUP),
        lines(
            "Groups by verdict",
            Query(f"max by (cluster, status) ({LAG}groups{{{CLUSTER}}}) > 0", "{{cluster}} {{status}}"),
            of=(f"{LAG}groups",),
            stacked=True,
            width=12,
            height=8,
            empty=NO_GROUP,
        ),
        table(
            "Every group",
            Query(_status(), column="so"),
            Query(each(f"{LAG}group_seconds", GROUP, "group"), column="behind", unit="s"),
            Query(each(f"{LAG}group_records", GROUP, "group"), column="records"),
            Query(each(f"{LAG}group_members", GROUP, "group"), column="members"),
            of=(f"{LAG}group_status", f"{LAG}group_seconds", f"{LAG}group_records", f"{LAG}group_members"),
            hidden=("so",),
            height=9,
            empty=NO_GROUP,
        ),
    ),
)

BEHIND = Row(
    "How far behind",
    (
        level("Seconds behind", f"{LAG}group_seconds", where=GROUP, by="group", width=12, height=8, empty=NO_GROUP),
        level("Records behind", f"{LAG}group_records", where=GROUP, by="group", width=12, height=8, empty=NO_GROUP),
        lines(
            "Of what was promised",
            Query(
                f"{each(f'{LAG}group_seconds', GROUP, 'group')} / {each(f'{LAG}group_slo_seconds', GROUP, 'group')}",
                "{{cluster}} {{group}}",
            ),
            of=(f"{LAG}group_slo_seconds",),
            unit="percentunit",
            steps=(Step(1, RED),),
            empty="No group has an SLO: give it one in the lag monitor's file.",
        ),
        lines(
            "Furthest partitions, in seconds",
            Query(
                f"topk by (cluster) (10, {each(f'{LAG}partition_seconds', GROUP, 'group, topic, partition')})",
                "{{cluster}} {{group}} {{topic}}-{{partition}}",
            ),
            of=(f"{LAG}partition_seconds",),
            unit="s",
            empty=NO_GROUP,
        ),
        lines(
            "Furthest partitions, in records",
            Query(
                f"topk by (cluster) (10, {each(f'{LAG}partition_records', GROUP, 'group, topic, partition')})",
                "{{cluster}} {{group}} {{topic}}-{{partition}}",
            ),
            of=(f"{LAG}partition_records",),
            empty=NO_GROUP,
        ),
    ),
)

COORDINATORS = Row(
    "Members and coordinators",
    (
        level("Members", f"{LAG}group_members", where=GROUP, by="group", empty=NO_GROUP),
        rates(
            "Rebalances",
            f"{GROUPS}group_completed_rebalance_count_total",
            f"{GROUPS}consumer_group_rebalance_count_total",
        ),
        rates("Commits", f"{GROUPS}offset_commit_count_total"),
        level("Coordinator threads idle", f"{GROUPS}thread_idle_ratio_avg", least=0, most=1),
        level(
            "Coordinator's events wait and take, all but one in a hundred",
            f"{GROUPS}event_queue_time_p99_seconds",
            f"{GROUPS}event_processing_time_p99_seconds",
        ),
        level("Coordinator's partitions", f"{GROUPS}num_partitions", by="state"),
    ),
)

BESIDE = Row(
    "Burrow's rules beside ours",
    (
        lines(
            "Burrow's status",
            Query(f"max by (cluster, consumer_group) ({BURROW}{{{CLUSTER}}})", "{{cluster}} {{consumer_group}}"),
            of=(BURROW,),
            unit="none",
            width=12,
            empty=NO_GROUP,
        ),
        level("Partitions on which the judges differ", f"{LAG}disagreements", width=12, empty="No lag monitor is scraped."),
    ),
)

BOARD = Board(
    uid="kafka-trial-lag",
    title="Kafka: consumer lag",
    description=__doc__,
    rows=(VERDICTS, BEHIND, COORDINATORS, BESIDE),
    variables=(Variable("cluster", "Cluster", "kafka_lag_up"), Variable("group", "Group", f"{LAG}group_gravity")),
)
